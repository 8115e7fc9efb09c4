/* mcp_calls: see the header. The lock is of the lists and of the calls in them. The cards that a call
 * waits for are in mcp_call_cards.c. */
#include <stdlib.h>
#include <unistd.h>

#include "app/mcp_calls_private.h"
#include "app/mcp_json.h"
#include "base/log.h"

#define DONE_MAX 64 /* results kept for a client that has not come back for them */

/* A line that cannot be sent: the peer is gone or reads nothing. Its end of file ends us. */
static void log_unsent(const struct wb_error *err)
{
    wb_log(WB_LOG_DEBUG, "an answer was not sent: %s", err->message);
}

void wb_mcp_calls_reply(struct wb_mcp_calls *calls, const char *id, const struct wb_text *result)
{
    struct wb_error err;
    if (wb_peer_reply(calls->peer, wb_span(id), wb_text_span(result), &err) != 0) {
        log_unsent(&err);
    }
}

static void reply_error(struct wb_mcp_calls *calls, struct wb_span id, const char *message)
{
    struct wb_error err;
    if (wb_peer_reply_error(calls->peer, id, WB_RPC_INVALID_PARAMS, message, &err) != 0) {
        log_unsent(&err);
    }
}

/* --- lists; under the lock --- */

static void link_call(struct mcp_call **list, struct mcp_call *call)
{
    call->prev = NULL;
    call->next = *list;
    if (call->next != NULL) {
        call->next->prev = call;
    }
    *list = call;
}

static void unlink_call(struct mcp_call **list, struct mcp_call *call)
{
    *(call->prev != NULL ? &call->prev->next : list) = call->next;
    if (call->next != NULL) {
        call->next->prev = call->prev;
    }
}

struct mcp_call *wb_mcp_calls_find_token(struct mcp_call *list, const char *token, const char *name)
{
    while (list != NULL && (list->id != NULL || !wb_str_equal(list->token, token) ||
                            !wb_str_equal(list->name, name))) {
        list = list->next;
    }
    return list;
}

static void free_call(struct mcp_call *call)
{
    wb_mcp_call_free_asks(call);
    wb_cancel_done(&call->cancel);
    free(call->progress_token);
    free(call->name);
    free(call->id);
    free(call);
}

/* --- answers --- */

static void answer(struct mcp_call *call, const char *id, struct wb_result *result)
{
    if (call->is_unknown) {
        reply_error(call->owner, wb_span(id), wb_text_cstr(&result->text));
    } else {
        WB_AUTO(wb_text_done) struct wb_text json = {0};
        wb_mcp_put_call_result(&json, result, call->is_modern);
        wb_mcp_calls_reply(call->owner, id, &json);
    }
}

/* The oldest results of clients that do not come back. */
static void drop_old(struct wb_mcp_calls *calls)
{
    struct mcp_call *call = calls->done;
    for (size_t n = 0; n < DONE_MAX && call != NULL; n++) {
        call = call->next;
    }
    while (call != NULL) {
        struct mcp_call *next = call->next;
        unlink_call(&calls->done, call);
        wb_result_done(&call->result);
        free_call(call);
        call = next;
    }
}

static void on_done(void *ctx, struct wb_result *result)
{
    struct mcp_call *call = ctx;
    struct wb_mcp_calls *calls = call->owner;
    pthread_mutex_lock(&calls->lock);
    unlink_call(&calls->first, call);
    bool is_parked = call->id == NULL, is_cancelled = call->is_cancelled;
    if (is_parked) {
        wb_mcp_call_free_asks(call);
        call->result = *result;
        link_call(&calls->done, call);
        drop_old(calls);
    }
    pthread_mutex_unlock(&calls->lock);
    if (is_parked) {
        return;
    }
    if (is_cancelled) {
        wb_peer_forget_request(calls->peer);
    } else {
        answer(call, call->id, result);
    }
    wb_result_done(result);
    free_call(call);
}

static void tell_progress(void *ctx, const char *message, int64_t done, int64_t total)
{
    struct mcp_call *call = ctx;
    struct wb_mcp_calls *calls = call->owner;
    WB_AUTO(wb_text_done) struct wb_text params = {0};
    struct wb_error err;
    /* Under the lock, so that growing numbers leave in their order. */
    pthread_mutex_lock(&calls->lock);
    if (call->progress_token != NULL && call->id != NULL && !call->is_cancelled) {
        call->progress = WB_MAX(done, call->progress + 1);
        wb_mcp_put_progress(&params, call->progress_token, call->progress, total, message);
        if (wb_peer_notify(calls->peer, "notifications/progress", wb_text_span(&params), &err) !=
            0) {
            log_unsent(&err);
        }
    }
    pthread_mutex_unlock(&calls->lock);
}

static char *progress_token_of(const struct wb_peer_message *message)
{
    const struct wb_json *token =
        wb_json_get(wb_json_get(message->params, "_meta"), "progressToken");
    enum wb_json_type type = wb_json_type(token);
    if (type != WB_JSON_STRING && type != WB_JSON_NUMBER) {
        return NULL;
    }
    struct wb_span json = wb_json_write(message->arena, token);
    return wb_strndup(json.ptr, json.len);
}

/* The parked call has a request again: it may have more to ask, all that was not answered. */
static void resume(struct mcp_call *call, const struct wb_peer_message *message)
{
    call->id = wb_strndup(message->id.ptr, message->id.len);
    free(call->progress_token);
    call->progress_token = progress_token_of(message);
    for (struct ask *ask = call->asks; ask != NULL; ask = ask->next) {
        ask->is_sent = false;
    }
    wb_mcp_call_give_back(call);
}

static void take_again(struct wb_mcp_calls *calls, const struct wb_peer_message *message,
                       const char *token)
{
    const char *name = wb_json_str_or(wb_json_get(message->params, "name"), "");
    wb_mcp_call_take_responses(calls, token, name, wb_json_get(message->params, "inputResponses"));
    pthread_mutex_lock(&calls->lock);
    struct mcp_call *done = wb_mcp_calls_find_token(calls->done, token, name);
    struct mcp_call *call = wb_mcp_calls_find_token(calls->first, token, name);
    if (done != NULL) {
        unlink_call(&calls->done, done);
    } else if (call != NULL) {
        resume(call, message);
    }
    pthread_mutex_unlock(&calls->lock);
    if (done != NULL) {
        WB_AUTO(wb_free_p) char *id = wb_strndup(message->id.ptr, message->id.len);
        answer(done, id, &done->result);
        wb_result_done(&done->result);
        free_call(done);
    } else if (call == NULL) {
        reply_error(calls, message->id, "requestState is not that of a call which waits for input");
    }
}

/* --- calls --- */

static void take_new(struct wb_mcp_calls *calls, const struct wb_peer_message *message,
                     const char *name, bool is_modern, bool can_ask)
{
    const struct wb_json *arguments = wb_json_get(message->params, "arguments");
    struct mcp_call *call = wb_alloc(sizeof(*call));
    call->owner = calls;
    call->id = wb_strndup(message->id.ptr, message->id.len);
    call->name = wb_strdup(name);
    call->is_modern = is_modern;
    call->can_ask = can_ask;
    call->is_unknown = wb_run_find_tool(calls->run, name) == NULL;
    call->progress_token = progress_token_of(message);
    wb_cancel_init(&call->cancel);
    pthread_mutex_lock(&calls->lock);
    link_call(&calls->first, call);
    pthread_mutex_unlock(&calls->lock);
    const struct wb_call_options options = {
        .cancel = &call->cancel,
        .on_progress = call->progress_token != NULL || can_ask ? tell_progress : NULL,
        .ctx = call,
        .origin = "harness",
    };
    struct wb_span json =
        wb_json_is_null(arguments) ? WB_SPAN("{}") : wb_json_write(message->arena, arguments);
    wb_run_submit(calls->run, name, json, &options, on_done, call);
}

void wb_mcp_calls_take(struct wb_mcp_calls *calls, const struct wb_peer_message *message,
                       bool is_modern, bool can_ask)
{
    const char *name = wb_json_str(wb_json_get(message->params, "name"));
    const char *token = wb_json_str(wb_json_get(message->params, "requestState"));
    const struct wb_json *arguments = wb_json_get(message->params, "arguments");
    if (name == NULL) {
        reply_error(calls, message->id, "tools/call needs `name`, the name of a tool");
    } else if (!wb_json_is_null(arguments) && wb_json_type(arguments) != WB_JSON_OBJECT) {
        reply_error(calls, message->id, "`arguments` of tools/call must be an object");
    } else if (is_modern && token != NULL) {
        take_again(calls, message, token);
    } else {
        take_new(calls, message, name, is_modern, can_ask);
    }
}

void wb_mcp_calls_cancel(struct wb_mcp_calls *calls, struct wb_span id)
{
    pthread_mutex_lock(&calls->lock);
    for (struct mcp_call *call = calls->first; call != NULL; call = call->next) {
        if (call->id != NULL && wb_span_is(id, call->id)) {
            call->is_cancelled = true;
            wb_cancel_fire(&call->cancel); /* its hooks never come back for our lock */
        }
    }
    pthread_mutex_unlock(&calls->lock);
}

bool wb_mcp_calls_are_busy(struct wb_mcp_calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    struct mcp_call *call = calls->first;
    while (call != NULL && call->id == NULL) {
        call = call->next;
    }
    pthread_mutex_unlock(&calls->lock);
    return call != NULL;
}

struct wb_mcp_calls *wb_mcp_calls_new(struct wb_run *run, struct wb_peer *peer,
                                      struct wb_cards *cards)
{
    struct wb_mcp_calls *calls = wb_alloc(sizeof(*calls));
    calls->run = run;
    calls->peer = peer;
    calls->cards = cards;
    if (getentropy(&calls->salt, sizeof(calls->salt)) != 0) {
        wb_log(WB_LOG_DEBUG, "no random bytes for tokens");
    }
    pthread_mutex_init(&calls->lock, NULL);
    wb_mcp_call_cards_init(calls);
    return calls;
}

void wb_mcp_calls_free(struct wb_mcp_calls *calls)
{
    if (calls == NULL) {
        return;
    }
    wb_mcp_call_cards_done(calls);
    while (calls->done != NULL) {
        struct mcp_call *call = calls->done;
        unlink_call(&calls->done, call);
        wb_result_done(&call->result);
        free_call(call);
    }
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}
