/* mcp_cards: see the header. A card waits for its answer on a thread of the pool. */
#include "app/mcp_cards.h"

#include <stdlib.h>

#include "base/log.h"

/* An elicitation under way. */
struct asked {
    struct wb_mcp_cards *owner;
    struct wb_card_view view;
    struct wb_arena arena;
    struct wb_cancel cancel;
    struct asked *next;
};

struct wb_mcp_cards {
    struct wb_cards *cards;
    struct wb_peer *peer;
    struct wb_pool *pool;
    struct wb_card_surface surface;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t emptied;
    struct asked *under_way;
};

/* --- the form --- */

static void put_enum(struct wb_json_writer *w, const struct wb_card *card)
{
    wb_json_member_str(w, "type", "string");
    wb_json_key(w, "enum");
    wb_json_begin_array(w);
    for (size_t i = 0; i < card->n_options; i++) {
        wb_json_put_str(w, card->options[i].label);
    }
    wb_json_end_array(w);
}

static void put_choice(struct wb_json_writer *w, const struct wb_card *card)
{
    wb_json_key(w, "choice");
    wb_json_begin_object(w);
    wb_json_member_str(w, "title", card->multi_select ? "Choices" : "Choice");
    if (card->multi_select) {
        wb_json_member_str(w, "type", "array");
        wb_json_key(w, "items");
        wb_json_begin_object(w);
        put_enum(w, card);
        wb_json_end_object(w);
    } else {
        put_enum(w, card);
    }
    wb_json_end_object(w);
}

static void put_schema(struct wb_json_writer *w, const struct wb_card *card)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "type", "object");
    wb_json_key(w, "properties");
    wb_json_begin_object(w);
    if (card->n_options > 0) {
        put_choice(w, card);
    }
    if (card->allow_free_text) {
        wb_json_key(w, "text");
        wb_json_begin_object(w);
        wb_json_member_str(w, "type", "string");
        wb_json_member_str(w, "title", "Answer");
        wb_json_end_object(w);
    }
    wb_json_end_object(w);
    if (card->n_options == 0 || !card->allow_free_text) {
        wb_json_key(w, "required");
        wb_json_begin_array(w);
        wb_json_put_str(w, card->n_options > 0 ? "choice" : "text");
        wb_json_end_array(w);
    }
    wb_json_end_object(w);
}

/* The question, why it is asked, and what the options mean. */
static void put_message(struct wb_text *out, const struct wb_card *card)
{
    wb_text_add_str(out, card->question);
    if (card->origin != NULL && !wb_str_equal(card->origin, "harness")) {
        wb_text_printf(out, "\n(asked by: %s)", card->origin);
    }
    if (card->context != NULL) {
        wb_text_printf(out, "\n%s", card->context);
    }
    for (size_t i = 0; i < card->n_options; i++) {
        if (card->options[i].description != NULL) {
            wb_text_printf(out, "\n%s: %s", card->options[i].label, card->options[i].description);
        }
    }
}

static struct wb_span make_params(struct wb_arena *arena, const struct wb_card *card)
{
    WB_AUTO(wb_text_done) struct wb_text params = {0};
    WB_AUTO(wb_text_done) struct wb_text message = {0};
    struct wb_json_writer w;
    put_message(&message, card);
    wb_json_writer_init(&w, &params);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "mode", "form");
    wb_json_member_span(&w, "message", wb_text_span(&message));
    wb_json_key(&w, "requestedSchema");
    put_schema(&w, card);
    wb_json_end_object(&w);
    return wb_arena_span(arena, wb_text_span(&params));
}

/* --- the answer --- */

static void add_choice(const struct wb_card *card, const char *label, size_t *choices, size_t *n)
{
    for (size_t i = 0; label != NULL && i < card->n_options; i++) {
        if (wb_str_equal(card->options[i].label, label)) {
            choices[(*n)++] = i;
            return;
        }
    }
}

static int take_content(struct asked *asked, const struct wb_json *content, struct wb_error *err)
{
    const struct wb_card *card = &asked->view.card;
    const struct wb_json *choice = wb_json_get(content, "choice");
    size_t *choices =
        wb_arena_alloc_array(&asked->arena, card->n_options + wb_json_count(choice) + 1,
                             sizeof(*choices));
    size_t n = 0;
    add_choice(card, wb_json_str(choice), choices, &n);
    if (wb_json_type(choice) == WB_JSON_ARRAY) {
        for (struct wb_json_iter it = wb_json_iter(choice); wb_json_next(&it);) {
            add_choice(card, wb_json_str(it.value), choices, &n);
        }
    }
    return wb_cards_answer(asked->owner->cards, asked->view.id, choices, n,
                           wb_json_str(wb_json_get(content, "text")), err);
}

static int take_answer(struct asked *asked, const struct wb_json *result, struct wb_error *err)
{
    const char *action = wb_json_str_or(wb_json_get(result, "action"), "");
    if (wb_str_equal(action, "accept")) {
        return take_content(asked, wb_json_get(result, "content"), err);
    }
    return wb_cards_skip(asked->owner->cards, asked->view.id, err);
}

static void finish(struct asked *asked)
{
    struct wb_mcp_cards *owner = asked->owner;
    pthread_mutex_lock(&owner->lock);
    struct asked **place = &owner->under_way;
    while (*place != asked) {
        place = &(*place)->next;
    }
    *place = asked->next;
    pthread_cond_broadcast(&owner->emptied);
    pthread_mutex_unlock(&owner->lock);
    wb_cancel_done(&asked->cancel);
    wb_arena_done(&asked->arena);
    free(asked);
}

static void elicit(void *ctx)
{
    struct asked *asked = ctx;
    struct wb_mcp_cards *owner = asked->owner;
    struct wb_peer_answer answer;
    struct wb_error err;
    struct wb_span params = make_params(&asked->arena, &asked->view.card);
    int status = wb_peer_call(owner->peer, "elicitation/create", params, asked->view.deadline_ms,
                              &asked->cancel, &asked->arena, &answer, &err);
    if (status == 0 && answer.failed) {
        status = wb_error_set(&err, WB_ERROR_PROTOCOL, "the client cannot show a card: %s",
                              answer.error_message);
    } else if (status == 0) {
        status = take_answer(asked, answer.result, &err);
    }
    if (status != 0) {
        wb_log(WB_LOG_INFO, "card %llu: %s", (unsigned long long)asked->view.number, err.message);
    }
    finish(asked);
}

/* --- the queue changes --- */

static void on_added(void *ctx, const struct wb_card_view *card)
{
    struct wb_mcp_cards *owner = ctx;
    struct asked *asked = wb_alloc(sizeof(*asked));
    struct wb_error err;
    asked->owner = owner;
    wb_arena_init(&asked->arena);
    if (!wb_cards_next(owner->cards, card->number - 1, &asked->arena, &asked->view) ||
        asked->view.number != card->number) {
        wb_arena_done(&asked->arena); /* it has ended already */
        free(asked);
        return;
    }
    wb_cancel_init(&asked->cancel);
    pthread_mutex_lock(&owner->lock);
    asked->next = owner->under_way;
    owner->under_way = asked;
    pthread_mutex_unlock(&owner->lock);
    if (wb_pool_run(owner->pool, elicit, asked, &err) != 0) {
        wb_log(WB_LOG_WARNING, "a card is not shown: %s", err.message);
        finish(asked);
    }
}

static void on_ended(void *ctx, const struct wb_card_view *card,
                     const struct wb_card_answer *answer)
{
    struct wb_mcp_cards *owner = ctx;
    (void)answer;
    pthread_mutex_lock(&owner->lock);
    for (struct asked *asked = owner->under_way; asked != NULL; asked = asked->next) {
        if (asked->view.number == card->number) {
            wb_cancel_fire(&asked->cancel);
        }
    }
    pthread_mutex_unlock(&owner->lock);
}

struct wb_mcp_cards *wb_mcp_cards_new(struct wb_cards *cards, struct wb_peer *peer,
                                      struct wb_pool *pool)
{
    struct wb_mcp_cards *mcp_cards = wb_alloc(sizeof(*mcp_cards));
    mcp_cards->cards = cards;
    mcp_cards->peer = peer;
    mcp_cards->pool = pool;
    mcp_cards->surface =
        (struct wb_card_surface){.added = on_added, .ended = on_ended, .ctx = mcp_cards};
    pthread_mutex_init(&mcp_cards->lock, NULL);
    pthread_cond_init(&mcp_cards->emptied, NULL);
    wb_cards_attach(cards, &mcp_cards->surface);
    return mcp_cards;
}

void wb_mcp_cards_free(struct wb_mcp_cards *mcp_cards)
{
    if (mcp_cards == NULL) {
        return;
    }
    wb_cards_detach(mcp_cards->cards, &mcp_cards->surface);
    pthread_mutex_lock(&mcp_cards->lock);
    for (struct asked *asked = mcp_cards->under_way; asked != NULL; asked = asked->next) {
        wb_cancel_fire(&asked->cancel);
    }
    while (mcp_cards->under_way != NULL) {
        pthread_cond_wait(&mcp_cards->emptied, &mcp_cards->lock);
    }
    pthread_mutex_unlock(&mcp_cards->lock);
    pthread_cond_destroy(&mcp_cards->emptied);
    pthread_mutex_destroy(&mcp_cards->lock);
    free(mcp_cards);
}
