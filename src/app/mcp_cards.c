/* mcp_cards: see the header. A card waits for its answer on a thread of the pool. */
#include "app/mcp_cards.h"

#include <stdlib.h>

#include "app/mcp_form.h"
#include "base/log.h"

/* An elicitation under way. */
struct asked {
    struct wb_mcp_cards *owner;
    struct wb_mcp_form form;
    struct wb_arena arena;
    struct wb_cancel cancel;
    struct asked *next;
};

struct wb_mcp_cards {
    struct wb_cards *cards;
    struct wb_peer *peer;
    struct wb_pool *pool;
    bool has_arrays;
    struct wb_card_surface surface;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t emptied;
    struct asked *under_way;
    bool is_gone; /* the client */
};

static bool is_gone(struct wb_mcp_cards *owner)
{
    pthread_mutex_lock(&owner->lock);
    bool gone = owner->is_gone;
    pthread_mutex_unlock(&owner->lock);
    return gone;
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

/* One request and its answer. 1: once more; 0: done with; -1: the client cannot show it. */
static int elicit_once(struct asked *asked, struct wb_error *err)
{
    struct wb_mcp_cards *owner = asked->owner;
    struct wb_peer_answer answer;
    WB_AUTO(wb_text_done) struct wb_text params = {0};
    struct wb_json_writer w;
    if (is_gone(owner)) {
        return wb_error_set(err, WB_ERROR_CLOSED, "it is gone");
    }
    wb_json_writer_init(&w, &params);
    wb_mcp_form_put(&w, &asked->form);
    if (wb_peer_call(owner->peer, "elicitation/create", wb_text_span(&params),
                     asked->form.card.deadline_ms, &asked->cancel, &asked->arena, &answer,
                     err) != 0) {
        bool has_ended = err->code == WB_ERROR_TIMEOUT || err->code == WB_ERROR_CANCELLED;
        return has_ended && !is_gone(owner) ? 0 : -1;
    }
    if (answer.failed) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "%s", answer.error_message);
    }
    return wb_mcp_form_take(&asked->form, owner->cards, answer.result, &asked->arena) != 0;
}

static void elicit(void *ctx)
{
    struct asked *asked = ctx;
    struct wb_mcp_cards *owner = asked->owner;
    struct wb_error err;
    int status;
    do {
        status = elicit_once(asked, &err);
    } while (status > 0);
    if (status < 0) {
        wb_log(WB_LOG_INFO, "the client cannot show card %llu: %s",
               (unsigned long long)asked->form.card.number, err.message);
        wb_cards_cannot_show(owner->cards, &owner->surface, asked->form.card.id);
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
    asked->form.has_arrays = owner->has_arrays;
    wb_arena_init(&asked->arena);
    wb_card_view_copy(&asked->arena, card, &asked->form.card);
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
        if (asked->form.card.number == card->number) {
            wb_cancel_fire(&asked->cancel);
        }
    }
    pthread_mutex_unlock(&owner->lock);
}

struct wb_mcp_cards *wb_mcp_cards_new(struct wb_cards *cards, struct wb_peer *peer,
                                      struct wb_pool *pool, bool has_arrays)
{
    struct wb_mcp_cards *mcp_cards = wb_alloc(sizeof(*mcp_cards));
    mcp_cards->cards = cards;
    mcp_cards->peer = peer;
    mcp_cards->pool = pool;
    mcp_cards->has_arrays = has_arrays;
    mcp_cards->surface =
        (struct wb_card_surface){.added = on_added, .ended = on_ended, .ctx = mcp_cards};
    pthread_mutex_init(&mcp_cards->lock, NULL);
    pthread_cond_init(&mcp_cards->emptied, NULL);
    wb_cards_attach(cards, &mcp_cards->surface);
    return mcp_cards;
}

static void give_up(struct wb_mcp_cards *mcp_cards)
{
    for (struct asked *asked = mcp_cards->under_way; asked != NULL; asked = asked->next) {
        wb_cancel_fire(&asked->cancel);
    }
}

void wb_mcp_cards_end(struct wb_mcp_cards *mcp_cards)
{
    pthread_mutex_lock(&mcp_cards->lock);
    mcp_cards->is_gone = true;
    give_up(mcp_cards);
    pthread_mutex_unlock(&mcp_cards->lock);
}

void wb_mcp_cards_free(struct wb_mcp_cards *mcp_cards)
{
    if (mcp_cards == NULL) {
        return;
    }
    wb_cards_detach(mcp_cards->cards, &mcp_cards->surface);
    pthread_mutex_lock(&mcp_cards->lock);
    give_up(mcp_cards);
    while (mcp_cards->under_way != NULL) {
        pthread_cond_wait(&mcp_cards->emptied, &mcp_cards->lock);
    }
    pthread_mutex_unlock(&mcp_cards->lock);
    pthread_cond_destroy(&mcp_cards->emptied);
    pthread_mutex_destroy(&mcp_cards->lock);
    free(mcp_cards);
}
