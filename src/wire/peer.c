/* peer: see peer.h. A request of ours is a pending: it stands in a table by its id until its answer
 * comes, the connection closes, or its waiter gives up.
 *
 *   waiting -> answered       feeding thread: the answer's arena is moved to the pending
 *          \-> lost           close
 *          \-> (taken out)    waiter: deadline or cancel; what comes later finds no pending
 *
 * Each pending has a condition of its own, so that an answer wakes one thread. One lock guards the
 * table and all pendings; it is never held while a handler, the write function or a cancel token
 * runs. Knows JSON-RPC 2.0 and no method. */
#include "wire/peer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "wire/envelope.h"

#define BUCKETS 256 /* ids are consecutive: full tables have chains of WB_PEER_PENDING_MAX / 256 */
#define NULL_ID WB_SPAN("null")

enum pending_state { PENDING_WAITING, PENDING_ANSWERED, PENDING_LOST };

struct wb_peer_pending {
    struct wb_peer *peer;
    const char *method; /* borrowed */
    int64_t id;
    struct wb_peer_pending *next; /* in its bucket */
    pthread_cond_t settled;
    enum pending_state state;
    struct wb_arena arena; /* of the answer */
    const struct wb_json *answer;
};

struct wb_peer {
    struct wb_peer_options options;
    struct wb_envelope_sink sink;
    struct wb_frame_reader reader; /* feeding thread only */
    struct wb_arena arena;         /* feeding thread only: of the message being handled */

    pthread_mutex_t lock; /* guards what follows, and every pending */
    struct wb_peer_pending *buckets[BUCKETS];
    size_t n_pending;
    size_t n_unanswered; /* requests of the other side */
    int64_t last_id;
    char *close_reason; /* NULL while open; then it never changes */
};

struct wb_peer *wb_peer_new(const struct wb_peer_options *options)
{
    struct wb_peer *peer = wb_alloc(sizeof(*peer));

    assert(options->write != NULL && options->on_request != NULL &&
           options->on_notification != NULL);
    peer->options = *options;
    peer->sink = (struct wb_envelope_sink){options->framing, options->write, options->ctx};
    wb_frame_reader_init(&peer->reader, options->framing);
    wb_arena_init(&peer->arena);
    pthread_mutex_init(&peer->lock, NULL);
    return peer;
}

void wb_peer_free(struct wb_peer *peer)
{
    if (peer == NULL) {
        return;
    }
    assert(peer->n_pending == 0);
    pthread_mutex_destroy(&peer->lock);
    wb_arena_done(&peer->arena);
    wb_frame_reader_done(&peer->reader);
    free(peer->close_reason);
    free(peer);
}

bool wb_peer_is_closed(struct wb_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    bool closed = peer->close_reason != NULL;
    pthread_mutex_unlock(&peer->lock);
    return closed;
}

size_t wb_peer_pending_count(struct wb_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    size_t count = peer->n_pending;
    pthread_mutex_unlock(&peer->lock);
    return count;
}

static int check_open(struct wb_peer *peer, struct wb_error *err)
{
    return wb_peer_is_closed(peer) ? wb_error_set(err, WB_ERROR_CLOSED, "%s", peer->close_reason)
                                   : 0;
}

int wb_peer_notify(struct wb_peer *peer, const char *method, struct wb_span params_json,
                   struct wb_error *err)
{
    return check_open(peer, err) == 0
               ? wb_envelope_notification(&peer->sink, method, params_json, err)
               : -1;
}

/* --- answers of ours --- */

static void count_reply(struct wb_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    assert(peer->n_unanswered != 0);
    peer->n_unanswered--;
    pthread_mutex_unlock(&peer->lock);
}

int wb_peer_reply(struct wb_peer *peer, struct wb_span id, struct wb_span result_json,
                  struct wb_error *err)
{
    count_reply(peer);
    if (result_json.len == 0) {
        result_json = WB_SPAN("null");
    }
    return check_open(peer, err) == 0 ? wb_envelope_result(&peer->sink, id, result_json, err) : -1;
}

int wb_peer_reply_error_data(struct wb_peer *peer, struct wb_span id, int64_t code,
                             const char *message, struct wb_span data_json, struct wb_error *err)
{
    count_reply(peer);
    return check_open(peer, err) == 0
               ? wb_envelope_error(&peer->sink, id, code, message, data_json, err)
               : -1;
}

int wb_peer_reply_error(struct wb_peer *peer, struct wb_span id, int64_t code, const char *message,
                        struct wb_error *err)
{
    return wb_peer_reply_error_data(peer, id, code, message, (struct wb_span){0}, err);
}

void wb_peer_forget_request(struct wb_peer *peer)
{
    count_reply(peer);
}

/* --- requests of ours --- */

/* Where the link to the pending of this id is, or would be. With the lock. */
static struct wb_peer_pending **find_link(struct wb_peer *peer, int64_t id)
{
    struct wb_peer_pending **link = &peer->buckets[(uint64_t)id % BUCKETS];

    while (*link != NULL && (*link)->id != id) {
        link = &(*link)->next;
    }
    return link;
}

/* With the lock. NULL: no request of ours waits under this id. */
static struct wb_peer_pending *take_pending(struct wb_peer *peer, int64_t id)
{
    struct wb_peer_pending **link = find_link(peer, id);
    struct wb_peer_pending *pending = *link;

    if (pending != NULL) {
        *link = pending->next;
        peer->n_pending--;
    }
    return pending;
}

/* With the lock; the pending is in no bucket any more. */
static void settle_pending(struct wb_peer_pending *pending, enum pending_state state)
{
    assert(pending->state == PENDING_WAITING && state != PENDING_WAITING);
    pending->state = state;
    pthread_cond_signal(&pending->settled);
}

static int register_pending(struct wb_peer *peer, struct wb_peer_pending *pending,
                            struct wb_error *err)
{
    int status = 0;

    pthread_mutex_lock(&peer->lock);
    if (peer->close_reason != NULL) {
        status = wb_error_set(err, WB_ERROR_CLOSED, "%s", peer->close_reason);
    } else if (peer->n_pending >= WB_PEER_PENDING_MAX) {
        status = wb_error_set(err, WB_ERROR_LIMIT,
                              "%s was not sent: %d requests are waiting for an answer already",
                              pending->method, WB_PEER_PENDING_MAX);
    } else {
        pending->id = ++peer->last_id;
        pending->next = NULL;
        *find_link(peer, pending->id) = pending;
        peer->n_pending++;
    }
    pthread_mutex_unlock(&peer->lock);
    return status;
}

/* Takes the pending out of the table. False: it was settled before. */
static bool abandon_pending(struct wb_peer *peer, struct wb_peer_pending *pending)
{
    pthread_mutex_lock(&peer->lock);
    bool waiting = pending->state == PENDING_WAITING;
    if (waiting) {
        take_pending(peer, pending->id);
    }
    pthread_mutex_unlock(&peer->lock);
    return waiting;
}

static void done_pending(struct wb_peer_pending *pending)
{
    pthread_cond_destroy(&pending->settled);
    wb_arena_done(&pending->arena);
}

static int start_request(struct wb_peer *peer, struct wb_peer_pending *pending, const char *method,
                         struct wb_span params_json, struct wb_error *err)
{
    *pending = (struct wb_peer_pending){.peer = peer, .method = method};
    wb_cond_init(&pending->settled);
    if (register_pending(peer, pending, err) != 0) {
        done_pending(pending);
        return -1;
    }
    /* In the table before it is sent: the answer may be faster than the return of the write. */
    if (wb_envelope_request(&peer->sink, pending->id, method, params_json, err) != 0) {
        abandon_pending(peer, pending);
        done_pending(pending);
        return -1;
    }
    return 0;
}

/* The other side may have gone, or have answered just now: nobody is waiting to hear of it. */
static void send_cancel(struct wb_peer *peer, const struct wb_peer_pending *pending)
{
    char params[96];

    if (peer->options.cancel_method == NULL || wb_peer_is_closed(peer)) {
        return;
    }
    snprintf(params, sizeof(params), "{\"%s\":%" PRId64 "}", peer->options.cancel_key, pending->id);
    (void)wb_envelope_notification(&peer->sink, peer->options.cancel_method, wb_span(params), NULL);
}

static void wake_waiter(void *ctx)
{
    struct wb_peer_pending *pending = ctx;

    pthread_mutex_lock(&pending->peer->lock);
    pthread_cond_signal(&pending->settled);
    pthread_mutex_unlock(&pending->peer->lock);
}

/* False: the waiter gave up, and the pending is out of the table. */
static bool wait_settled(struct wb_peer *peer, struct wb_peer_pending *pending, int64_t deadline_ms,
                         struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wake_waiter, .ctx = pending};
    bool in_time = true;

    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&peer->lock);
    while (pending->state == PENDING_WAITING && in_time && !wb_cancel_is_fired(cancel)) {
        in_time = wb_cond_wait(&pending->settled, &peer->lock, deadline_ms);
    }
    bool settled = pending->state != PENDING_WAITING;
    if (!settled) {
        take_pending(peer, pending->id);
    }
    pthread_mutex_unlock(&peer->lock);
    wb_cancel_hook_remove(cancel, &hook);
    return settled;
}

static void read_error(const struct wb_json *error, struct wb_arena *arena,
                       struct wb_peer_answer *ret)
{
    const char *message = wb_json_str(wb_json_get(error, "message"));

    if (message == NULL) {
        message = wb_json_str(error); /* a bare string for an error */
    }
    *ret = (struct wb_peer_answer){
        .failed = true,
        .error_code = wb_json_int_or(wb_json_get(error, "code"), WB_RPC_INTERNAL_ERROR),
        .error_message = message != NULL ? message : wb_json_write(arena, error).ptr,
        .error_data = wb_json_get(error, "data"),
    };
}

/* Moves the answer's memory to the caller's arena and reads it there. */
static void take_answer(struct wb_peer_pending *pending, struct wb_arena *arena,
                        struct wb_peer_answer *ret)
{
    const struct wb_json *error = wb_json_get(pending->answer, "error");
    const struct wb_json *result = wb_json_get(pending->answer, "result");

    wb_arena_adopt(arena, &pending->arena);
    if (!wb_json_is_null(error)) {
        read_error(error, arena, ret);
        return;
    }
    if (result == NULL) {
        result = wb_json_parse(arena, WB_SPAN("null"), NULL);
    }
    *ret = (struct wb_peer_answer){.result = result};
}

static int finish_request(struct wb_peer *peer, struct wb_peer_pending *pending,
                          int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                          struct wb_peer_answer *ret, struct wb_error *err)
{
    if (!wait_settled(peer, pending, deadline_ms, cancel)) {
        send_cancel(peer, pending);
        if (wb_cancel_is_fired(cancel)) {
            return wb_error_set(err, WB_ERROR_CANCELLED, "%s was cancelled", pending->method);
        }
        return wb_error_set(err, WB_ERROR_TIMEOUT, "%s got no answer in time", pending->method);
    }
    if (pending->state == PENDING_LOST) {
        return wb_error_set(err, WB_ERROR_CLOSED, "%s", peer->close_reason);
    }
    take_answer(pending, arena, ret);
    return 0;
}

int wb_peer_call(struct wb_peer *peer, const char *method, struct wb_span params_json,
                 int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                 struct wb_peer_answer *ret, struct wb_error *err)
{
    struct wb_peer_pending pending;

    if (start_request(peer, &pending, method, params_json, err) != 0) {
        return -1;
    }
    int status = finish_request(peer, &pending, deadline_ms, cancel, arena, ret, err);
    done_pending(&pending);
    return status;
}

struct wb_peer_pending *wb_peer_start(struct wb_peer *peer, const char *method,
                                      struct wb_span params_json, struct wb_error *err)
{
    WB_AUTO(wb_free_p) struct wb_peer_pending *pending = wb_alloc(sizeof(*pending));

    return start_request(peer, pending, method, params_json, err) == 0 ? WB_STEAL(pending) : NULL;
}

int wb_peer_wait(struct wb_peer *peer, struct wb_peer_pending *pending, int64_t deadline_ms,
                 struct wb_cancel *cancel, struct wb_arena *arena, struct wb_peer_answer *ret,
                 struct wb_error *err)
{
    int status = finish_request(peer, pending, deadline_ms, cancel, arena, ret, err);

    done_pending(pending);
    free(pending);
    return status;
}

void wb_peer_drop(struct wb_peer *peer, struct wb_peer_pending *pending)
{
    if (abandon_pending(peer, pending)) {
        send_cancel(peer, pending);
    }
    done_pending(pending);
    free(pending);
}

/* --- receiving: the feeding thread --- */

static void report_garbage(struct wb_peer *peer, const char *what)
{
    if (peer->options.on_garbage != NULL) {
        peer->options.on_garbage(peer->options.ctx, what);
    }
}

/* An error answer that cannot be sent is nobody's loss: the connection is gone or full. */
static void refuse_message(struct wb_peer *peer, struct wb_span id, int64_t code, const char *what)
{
    report_garbage(peer, what);
    (void)wb_envelope_error(&peer->sink, id, code, what, (struct wb_span){0}, NULL);
}

/* The id as JSON text, or null where it is none that could be answered. */
static struct wb_span id_text(struct wb_peer *peer, const struct wb_json *message)
{
    const struct wb_json *id = wb_json_get(message, "id");
    enum wb_json_type type = wb_json_type(id);
    bool usable = type == WB_JSON_NUMBER || type == WB_JSON_STRING;

    return usable ? wb_json_write(&peer->arena, id) : NULL_ID;
}

static void receive_answer(struct wb_peer *peer, const struct wb_json *message)
{
    int64_t id;

    if (!wb_json_int(wb_json_get(message, "id"), &id)) {
        report_garbage(peer, wb_json_write(&peer->arena, message).ptr);
        return;
    }
    pthread_mutex_lock(&peer->lock);
    struct wb_peer_pending *pending = take_pending(peer, id);
    if (pending != NULL) {
        pending->arena = peer->arena;
        pending->answer = message;
        wb_arena_init(&peer->arena);
        settle_pending(pending, PENDING_ANSWERED);
    }
    pthread_mutex_unlock(&peer->lock);
}

static bool count_request(struct wb_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    bool below_limit = peer->n_unanswered < WB_PEER_PENDING_MAX;
    peer->n_unanswered += below_limit ? 1 : 0;
    pthread_mutex_unlock(&peer->lock);
    return below_limit;
}

static void receive_request(struct wb_peer *peer, const struct wb_peer_message *request)
{
    if (wb_span_equal(request->id, NULL_ID)) {
        refuse_message(peer, NULL_ID, WB_RPC_INVALID_REQUEST,
                       "The id of a request must be a number or a string");
    } else if (!count_request(peer)) {
        refuse_message(peer, request->id, WB_RPC_INTERNAL_ERROR,
                       "Too many requests are waiting for an answer");
    } else {
        peer->options.on_request(peer->options.ctx, request);
    }
}

static void receive_method(struct wb_peer *peer, const struct wb_json *message, const char *method)
{
    const struct wb_json *params = wb_json_get(message, "params");
    struct wb_peer_message incoming = {
        .method = method,
        .params = wb_json_is_null(params) ? NULL : params,
        .arena = &peer->arena,
    };

    if (wb_json_is_null(wb_json_get(message, "id"))) {
        peer->options.on_notification(peer->options.ctx, &incoming);
    } else {
        incoming.id = id_text(peer, message);
        receive_request(peer, &incoming);
    }
}

static void receive_message(struct wb_peer *peer, const struct wb_json *message)
{
    const struct wb_json *method = wb_json_get(message, "method");

    if (wb_json_type(method) == WB_JSON_STRING) {
        receive_method(peer, message, wb_json_str(method));
    } else if (wb_json_type(message) != WB_JSON_OBJECT) {
        refuse_message(peer, NULL_ID, WB_RPC_INVALID_REQUEST,
                       "A message must be one JSON object; batches are not supported");
    } else if (method != NULL) {
        refuse_message(peer, id_text(peer, message), WB_RPC_INVALID_REQUEST,
                       "The method must be a string");
    } else if (wb_json_get(message, "id") != NULL || wb_json_get(message, "error") != NULL) {
        receive_answer(peer, message);
    } else {
        refuse_message(peer, NULL_ID, WB_RPC_INVALID_REQUEST,
                       "A message must have a method or the id that it answers");
    }
}

static void receive_body(struct wb_peer *peer, struct wb_span body)
{
    struct wb_error err;
    const struct wb_json *message = wb_json_parse(&peer->arena, body, &err);

    if (message != NULL) {
        receive_message(peer, message);
    } else {
        refuse_message(peer, NULL_ID, WB_RPC_PARSE_ERROR, err.message);
    }
    wb_arena_clear(&peer->arena);
}

void wb_peer_feed(struct wb_peer *peer, const char *ptr, size_t len)
{
    struct wb_error err;
    struct wb_span body;
    int step = 1;

    wb_frame_feed(&peer->reader, ptr, len);
    while (step == 1 && !wb_peer_is_closed(peer)) {
        step = wb_frame_step(&peer->reader, &body, &err);
        if (step == 1) {
            receive_body(peer, body);
        } else if (step < 0) {
            report_garbage(peer, err.message);
            wb_peer_close(peer, err.message);
        }
    }
}

void wb_peer_close(struct wb_peer *peer, const char *reason)
{
    pthread_mutex_lock(&peer->lock);
    if (peer->close_reason == NULL) {
        peer->close_reason = wb_strdup(reason);
        for (size_t i = 0; i < BUCKETS; i++) {
            while (peer->buckets[i] != NULL) {
                settle_pending(take_pending(peer, peer->buckets[i]->id), PENDING_LOST);
            }
        }
    }
    pthread_mutex_unlock(&peer->lock);
}
