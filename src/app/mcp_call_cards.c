/* mcp_call_cards: in the stateless era the cards of a call go out with the call, given back, and the
 * answers come in with the call, sent again. See mcp_calls.h.
 *
 * What goes to the queue of cards goes without the lock: the queue calls us back. */
#include <stdlib.h>

#include "app/mcp_calls_private.h"
#include "app/mcp_json.h"
#include "base/log.h"

static void put_input_required(struct wb_text *out, const struct mcp_call *call)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_mcp_put_modern_members(&w, "input_required");
    wb_json_key(&w, "inputRequests");
    wb_json_begin_object(&w);
    for (const struct ask *ask = call->asks; ask != NULL; ask = ask->next) {
        wb_json_key(&w, ask->form.card.id);
        wb_json_begin_object(&w);
        wb_json_member_str(&w, "method", "elicitation/create");
        wb_json_key(&w, "params");
        wb_mcp_form_put(&w, &ask->form);
        wb_json_end_object(&w);
    }
    wb_json_end_object(&w);
    wb_json_member_str(&w, "requestState", call->token);
    wb_json_end_object(&w);
}

void wb_mcp_call_give_back(struct mcp_call *call)
{
    struct wb_mcp_calls *calls = call->owner;
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    bool has_new = false;
    for (struct ask *ask = call->asks; ask != NULL; ask = ask->next) {
        has_new |= !ask->is_sent;
        ask->is_sent = true;
    }
    if (call->id == NULL || !has_new || call->is_cancelled) {
        return;
    }
    snprintf(call->token, sizeof(call->token), "%08x-%llu", calls->salt,
             (unsigned long long)++calls->last_token);
    put_input_required(&json, call);
    wb_mcp_calls_reply(calls, call->id, &json);
    free(call->id);
    call->id = NULL;
}

/* The call that the card belongs to, else the oldest that can carry it. Under the lock. */
static struct mcp_call *find_carrier(struct wb_mcp_calls *calls, const struct wb_card *card)
{
    struct mcp_call *oldest = NULL;
    for (struct mcp_call *call = calls->first; call != NULL; call = call->next) {
        if (call == card->caller) {
            return call->can_ask ? call : NULL;
        }
        if (call->can_ask) {
            oldest = call;
        }
    }
    return oldest;
}

/* A card that no call carries: it is given up from a thread on which that may be done. */
struct orphan {
    struct wb_mcp_calls *calls;
    char *id;
};

static void give_up(void *ctx)
{
    struct orphan *orphan = ctx;
    struct wb_mcp_calls *calls = orphan->calls;
    wb_cards_cannot_show(calls->cards, &calls->surface, orphan->id);
    free(orphan->id);
    free(orphan);
    pthread_mutex_lock(&calls->lock);
    calls->n_orphans--;
    pthread_cond_broadcast(&calls->orphans_gone);
    pthread_mutex_unlock(&calls->lock);
}

/* Under the lock. */
static void give_up_later(struct wb_mcp_calls *calls, const char *id)
{
    struct wb_error err;
    struct orphan *orphan = wb_alloc(sizeof(*orphan));
    *orphan = (struct orphan){calls, wb_strdup(id)};
    calls->n_orphans++;
    if (wb_pool_run(wb_host_pool(wb_run_host(calls->run)), give_up, orphan, &err) != 0) {
        wb_log(WB_LOG_WARNING, "a card is not shown: %s", err.message);
        calls->n_orphans--;
        free(orphan->id);
        free(orphan);
    }
}

static void on_card_added(void *ctx, const struct wb_card_view *card)
{
    struct wb_mcp_calls *calls = ctx;
    pthread_mutex_lock(&calls->lock);
    struct mcp_call *call = calls->has_ended ? NULL : find_carrier(calls, &card->card);
    if (call != NULL) {
        struct ask *ask = wb_alloc(sizeof(*ask));
        wb_arena_init(&ask->arena);
        wb_card_view_copy(&ask->arena, card, &ask->form.card);
        ask->form.has_arrays = true;
        ask->next = call->asks;
        call->asks = ask;
        wb_mcp_call_give_back(call);
    } else {
        give_up_later(calls, card->id);
    }
    pthread_mutex_unlock(&calls->lock);
}

static struct ask **find_ask(struct mcp_call *call, const char *id)
{
    struct ask **place = &call->asks;
    while (*place != NULL && !wb_str_equal((*place)->form.card.id, id)) {
        place = &(*place)->next;
    }
    return place;
}

/* Under the lock. NULL: the call has no such card. */
static struct ask *take_ask(struct mcp_call *call, const char *id)
{
    struct ask **place = find_ask(call, id);
    struct ask *ask = *place;
    if (ask != NULL) {
        *place = ask->next;
    }
    return ask;
}

static void free_ask(struct ask *ask)
{
    if (ask != NULL) {
        wb_arena_done(&ask->arena);
        free(ask);
    }
}

static void on_card_ended(void *ctx, const struct wb_card_view *card,
                          const struct wb_card_answer *given)
{
    struct wb_mcp_calls *calls = ctx;
    struct ask *ask = NULL;
    (void)given;
    pthread_mutex_lock(&calls->lock);
    for (struct mcp_call *call = calls->first; call != NULL && ask == NULL; call = call->next) {
        ask = take_ask(call, card->id);
    }
    pthread_mutex_unlock(&calls->lock);
    free_ask(ask);
}

void wb_mcp_calls_attach(struct wb_mcp_calls *calls)
{
    if (calls->cards != NULL && !calls->is_attached) {
        calls->is_attached = true;
        wb_cards_attach(calls->cards, &calls->surface);
    }
}

/* The asks are ours while their answers are with the queue. */
void wb_mcp_call_take_responses(struct wb_mcp_calls *calls, const char *token, const char *name,
                                const struct wb_json *responses)
{
    for (struct wb_json_iter it = wb_json_iter(responses); wb_json_next(&it);) {
        pthread_mutex_lock(&calls->lock);
        struct mcp_call *call = wb_mcp_calls_find_token(calls->first, token, name);
        struct ask *ask = call != NULL ? take_ask(call, it.key) : NULL;
        pthread_mutex_unlock(&calls->lock);
        if (ask == NULL || wb_mcp_form_take(&ask->form, calls->cards, it.value, &ask->arena) == 0) {
            free_ask(ask);
            continue;
        }
        pthread_mutex_lock(&calls->lock);
        call = wb_mcp_calls_find_token(calls->first, token, name);
        if (call != NULL) {
            ask->next = call->asks;
            call->asks = ask;
        }
        pthread_mutex_unlock(&calls->lock);
        if (call == NULL) {
            free_ask(ask);
        }
    }
}

void wb_mcp_calls_end(struct wb_mcp_calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    calls->has_ended = true;
    for (struct mcp_call *call = calls->first; call != NULL; call = call->next) {
        for (struct ask *ask = call->asks; ask != NULL; ask = ask->next) {
            give_up_later(calls, ask->form.card.id);
        }
    }
    pthread_mutex_unlock(&calls->lock);
}

void wb_mcp_call_free_asks(struct mcp_call *call)
{
    while (call->asks != NULL) {
        struct ask *ask = call->asks;
        call->asks = ask->next;
        wb_arena_done(&ask->arena);
        free(ask);
    }
}

void wb_mcp_call_cards_init(struct wb_mcp_calls *calls)
{
    calls->surface =
        (struct wb_card_surface){.added = on_card_added, .ended = on_card_ended, .ctx = calls};
    pthread_cond_init(&calls->orphans_gone, NULL);
}

void wb_mcp_call_cards_done(struct wb_mcp_calls *calls)
{
    if (calls->is_attached) {
        wb_cards_detach(calls->cards, &calls->surface);
    }
    pthread_mutex_lock(&calls->lock);
    while (calls->n_orphans > 0) {
        pthread_cond_wait(&calls->orphans_gone, &calls->lock);
    }
    pthread_mutex_unlock(&calls->lock);
    pthread_cond_destroy(&calls->orphans_gone);
}
