/* dap: see dap.h. A request of ours is a pending in a list until its answer comes, the connection
 * closes, or its waiter gives up.
 *
 *   waiting -> answered       feeding thread: the answer's arena is moved to the pending
 *          \-> lost           close
 *          \-> (taken out)    waiter: deadline, cancel, drop; what comes later finds no pending
 *
 * One lock guards the list and all pendings; it is never held while a handler, the write function or
 * a cancel token runs. Knows no command and no event by name. */
#include "debug/dap.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "wire/frame.h"

enum pending_state { PENDING_WAITING, PENDING_ANSWERED, PENDING_LOST };

struct wb_dap_pending {
    const char *command; /* borrowed */
    int64_t seq;
    struct wb_dap_pending *next;
    enum pending_state state;
    struct wb_arena arena; /* of the answer */
    const struct wb_json *answer;
};

struct wb_dap {
    struct wb_dap_options options;
    struct wb_frame_reader reader; /* feeding thread only */

    pthread_mutex_t lock; /* guards what follows, and every pending */
    pthread_cond_t settled;
    struct wb_dap_pending *waiting;
    size_t n_waiting;
    int64_t last_seq;
    char *close_reason; /* NULL while open; then it never changes */
};

struct wb_dap *wb_dap_new(const struct wb_dap_options *options)
{
    assert(options->write != NULL && options->on_event != NULL && options->on_request != NULL);
    struct wb_dap *dap = wb_alloc(sizeof(*dap));
    dap->options = *options;
    wb_frame_reader_init(&dap->reader, WB_FRAMING_HEADERS);
    pthread_mutex_init(&dap->lock, NULL);
    wb_cond_init(&dap->settled);
    return dap;
}

void wb_dap_free(struct wb_dap *dap)
{
    if (dap == NULL) {
        return;
    }
    assert(dap->waiting == NULL);
    pthread_cond_destroy(&dap->settled);
    pthread_mutex_destroy(&dap->lock);
    wb_frame_reader_done(&dap->reader);
    free(dap->close_reason);
    free(dap);
}

const char *wb_dap_close_reason(struct wb_dap *dap)
{
    pthread_mutex_lock(&dap->lock);
    const char *reason = dap->close_reason;
    pthread_mutex_unlock(&dap->lock);
    return reason;
}

bool wb_dap_is_closed(struct wb_dap *dap)
{
    return wb_dap_close_reason(dap) != NULL;
}

/* --- what comes in --- */

static void tell_garbage(struct wb_dap *dap, const char *what)
{
    if (dap->options.on_garbage != NULL) {
        dap->options.on_garbage(dap->options.ctx, what);
    }
}

/* With the lock. NULL: no request of ours waits under this number. */
static struct wb_dap_pending *take_pending(struct wb_dap *dap, int64_t seq)
{
    struct wb_dap_pending **link = &dap->waiting;
    while (*link != NULL && (*link)->seq != seq) {
        link = &(*link)->next;
    }
    struct wb_dap_pending *pending = *link;
    if (pending != NULL) {
        *link = pending->next;
        dap->n_waiting--;
    }
    return pending;
}

static void take_response(struct wb_dap *dap, const struct wb_json *message, struct wb_arena *arena)
{
    int64_t seq = wb_json_int_or(wb_json_get(message, "request_seq"), -1);
    pthread_mutex_lock(&dap->lock);
    struct wb_dap_pending *pending = take_pending(dap, seq);
    if (pending != NULL) {
        pending->state = PENDING_ANSWERED;
        pending->answer = message;
        wb_arena_adopt(&pending->arena, arena);
        pthread_cond_broadcast(&dap->settled);
    }
    pthread_mutex_unlock(&dap->lock);
    if (pending == NULL) {
        tell_garbage(dap, "a response that nobody waits for");
    } else if (dap->options.on_answer != NULL) {
        dap->options.on_answer(dap->options.ctx);
    }
}

static void take_message(struct wb_dap *dap, struct wb_span body)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const struct wb_json *message = wb_json_parse(&arena, body, NULL);
    const char *type = wb_json_str_or(wb_json_get(message, "type"), "");
    bool is_event = wb_str_equal(type, "event");
    bool is_request = wb_str_equal(type, "request");
    struct wb_dap_message given = {
        .seq = wb_json_int_or(wb_json_get(message, "seq"), 0),
        .name = wb_json_str_or(wb_json_get(message, is_event ? "event" : "command"), ""),
        .body = wb_json_get(message, is_event ? "body" : "arguments"),
        .arena = &arena,
    };
    if (is_event) {
        dap->options.on_event(dap->options.ctx, &given);
    } else if (is_request) {
        dap->options.on_request(dap->options.ctx, &given);
    } else if (wb_str_equal(type, "response")) {
        take_response(dap, message, &arena);
    } else {
        tell_garbage(dap, message == NULL ? "text that is no JSON" : "a message without a type");
    }
}

void wb_dap_feed(struct wb_dap *dap, const char *ptr, size_t len)
{
    struct wb_span body;
    struct wb_error err;
    int step;
    if (wb_dap_is_closed(dap)) {
        return;
    }
    wb_frame_feed(&dap->reader, ptr, len);
    while ((step = wb_frame_step(&dap->reader, &body, &err)) > 0) {
        take_message(dap, body);
    }
    if (step < 0) {
        wb_dap_close(dap, err.message);
    }
}

void wb_dap_close(struct wb_dap *dap, const char *reason)
{
    pthread_mutex_lock(&dap->lock);
    if (dap->close_reason == NULL) {
        dap->close_reason = wb_strdup(reason);
        while (dap->waiting != NULL) {
            take_pending(dap, dap->waiting->seq)->state = PENDING_LOST;
        }
        pthread_cond_broadcast(&dap->settled);
    }
    pthread_mutex_unlock(&dap->lock);
    if (dap->options.on_answer != NULL) {
        dap->options.on_answer(dap->options.ctx);
    }
}

/* --- what goes out --- */

/* head and body as one message; body is JSON that is not copied. */
static int send(struct wb_dap *dap, struct wb_span head, struct wb_span body, struct wb_error *err)
{
    char header[64];
    wb_frame_head(WB_FRAMING_HEADERS, head.len + body.len + 1, header);
    const struct wb_span spans[] = {wb_span(header), head, body, WB_SPAN("}")};
    return dap->options.write(dap->options.ctx, spans, WB_COUNT(spans), err);
}

static int register_pending(struct wb_dap *dap, struct wb_dap_pending *pending,
                            struct wb_error *err)
{
    int status = 0;
    pthread_mutex_lock(&dap->lock);
    if (dap->close_reason != NULL) {
        status = wb_error_set(err, WB_ERROR_CLOSED, "%s", dap->close_reason);
    } else if (dap->n_waiting >= WB_PEER_PENDING_MAX) {
        status = wb_error_set(err, WB_ERROR_LIMIT,
                              "%s was not sent: %d requests are waiting for an answer already",
                              pending->command, WB_PEER_PENDING_MAX);
    } else {
        pending->seq = ++dap->last_seq;
        pending->next = dap->waiting;
        dap->waiting = pending;
        dap->n_waiting++;
    }
    pthread_mutex_unlock(&dap->lock);
    return status;
}

static void free_pending(struct wb_dap_pending *pending)
{
    wb_arena_done(&pending->arena);
    free(pending);
}

struct wb_dap_pending *wb_dap_start(struct wb_dap *dap, const char *command,
                                    struct wb_span arguments_json, struct wb_error *err)
{
    struct wb_dap_pending *pending = wb_alloc(sizeof(*pending));
    pending->command = command;
    wb_arena_init(&pending->arena);
    if (register_pending(dap, pending, err) != 0) {
        free_pending(pending);
        return NULL;
    }
    WB_AUTO(wb_text_done) struct wb_text head = {0};
    wb_text_printf(&head, "{\"seq\":%" PRId64 ",\"type\":\"request\",\"command\":\"%s\"%s",
                   pending->seq, command, arguments_json.len > 0 ? ",\"arguments\":" : "");
    /* In the list before it is sent: the answer may be faster than the return of the write. */
    if (send(dap, wb_text_span(&head), arguments_json, err) != 0) {
        wb_dap_drop(dap, pending);
        return NULL;
    }
    return pending;
}

void wb_dap_drop(struct wb_dap *dap, struct wb_dap_pending *pending)
{
    pthread_mutex_lock(&dap->lock);
    if (pending->state == PENDING_WAITING) {
        take_pending(dap, pending->seq);
    }
    pthread_mutex_unlock(&dap->lock);
    free_pending(pending);
}

bool wb_dap_is_answered(struct wb_dap *dap, struct wb_dap_pending *pending)
{
    pthread_mutex_lock(&dap->lock);
    bool answered = pending->state != PENDING_WAITING;
    pthread_mutex_unlock(&dap->lock);
    return answered;
}

bool wb_dap_is_failed(struct wb_dap *dap, struct wb_dap_pending *pending)
{
    pthread_mutex_lock(&dap->lock);
    bool failed = pending->state == PENDING_LOST ||
                  (pending->state == PENDING_ANSWERED &&
                   !wb_json_bool(wb_json_get(pending->answer, "success"), false));
    pthread_mutex_unlock(&dap->lock);
    return failed;
}

/* --- answers --- */

/* body.error.format with each {name} replaced by its variable; names with "_" too. */
static void add_format(struct wb_text *out, const char *format, const struct wb_json *variables)
{
    const char *end;
    for (; *format != '\0'; format++) {
        if (*format != '{' || (end = strchr(format, '}')) == NULL || end - format > 100) {
            wb_text_add_char(out, *format);
            continue;
        }
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)(end - format - 1), format + 1);
        const char *value = wb_json_str(wb_json_get(variables, name));
        if (value != NULL) {
            wb_text_add_str(out, value);
        } else {
            wb_text_add(out, format, (size_t)(end - format) + 1);
        }
        format = end;
    }
}

/* Adapters keep their text in `message`, in body.error, or say half of it in each. */
static const char *error_text(const struct wb_json *answer, struct wb_arena *arena)
{
    const char *message = wb_json_str_or(wb_json_get(answer, "message"), "");
    const struct wb_json *error = wb_json_path(answer, "body.error");
    WB_AUTO(wb_text_done) struct wb_text format = {0};
    add_format(&format, wb_json_str_or(wb_json_get(error, "format"), ""),
               wb_json_get(error, "variables"));
    const char *more = wb_text_cstr(&format);
    if (*message == '\0' && *more == '\0') {
        return "it gave no reason";
    }
    if (*message == '\0' || strstr(more, message) != NULL) {
        return wb_arena_strdup(arena, more);
    }
    if (*more == '\0' || strstr(message, more) != NULL) {
        return message;
    }
    return wb_arena_printf(arena, "%s: %s", message, more);
}

static void wake_waiters(void *ctx)
{
    struct wb_dap *dap = ctx;
    pthread_mutex_lock(&dap->lock);
    pthread_cond_broadcast(&dap->settled);
    pthread_mutex_unlock(&dap->lock);
}

static enum pending_state wait_settled(struct wb_dap *dap, struct wb_dap_pending *pending,
                                       int64_t deadline_ms, struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wake_waiters, .ctx = dap};
    bool in_time = true;
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&dap->lock);
    while (pending->state == PENDING_WAITING && in_time && !wb_cancel_is_fired(cancel)) {
        in_time = wb_cond_wait(&dap->settled, &dap->lock, deadline_ms);
    }
    enum pending_state state = pending->state;
    pthread_mutex_unlock(&dap->lock);
    wb_cancel_hook_remove(cancel, &hook);
    return state;
}

int wb_dap_wait(struct wb_dap *dap, struct wb_dap_pending *pending, int64_t deadline_ms,
                struct wb_cancel *cancel, struct wb_arena *arena, struct wb_dap_answer *ret,
                struct wb_error *err)
{
    int status = 0;
    switch (wait_settled(dap, pending, deadline_ms, cancel)) {
    case PENDING_ANSWERED:
        wb_arena_adopt(arena, &pending->arena);
        *ret = (struct wb_dap_answer){
            .body = wb_json_get(pending->answer, "body"),
            .failed = !wb_json_bool(wb_json_get(pending->answer, "success"), false),
        };
        ret->error = ret->failed ? error_text(pending->answer, arena) : NULL;
        break;
    case PENDING_LOST:
        status = wb_error_set(err, WB_ERROR_CLOSED, "%s", dap->close_reason);
        break;
    case PENDING_WAITING:
        status =
            wb_cancel_is_fired(cancel)
                ? wb_error_set(err, WB_ERROR_CANCELLED, "%s was cancelled", pending->command)
                : wb_error_set(err, WB_ERROR_TIMEOUT, "%s got no answer in time", pending->command);
        break;
    }
    wb_dap_drop(dap, pending);
    return status;
}

int wb_dap_call(struct wb_dap *dap, const char *command, struct wb_span arguments_json,
                int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                struct wb_dap_answer *ret, struct wb_error *err)
{
    struct wb_dap_pending *pending = wb_dap_start(dap, command, arguments_json, err);
    return pending != NULL ? wb_dap_wait(dap, pending, deadline_ms, cancel, arena, ret, err) : -1;
}

int wb_dap_reply(struct wb_dap *dap, int64_t request_seq, const char *command, const char *error,
                 struct wb_span body_json, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text head = {0};
    struct wb_json_writer w;
    pthread_mutex_lock(&dap->lock);
    int64_t seq = ++dap->last_seq;
    pthread_mutex_unlock(&dap->lock);
    wb_json_writer_init(&w, &head);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "seq", seq);
    wb_json_member_str(&w, "type", "response");
    wb_json_member_int(&w, "request_seq", request_seq);
    wb_json_member_bool(&w, "success", error == NULL);
    wb_json_member_str(&w, "command", command);
    if (error != NULL) {
        wb_json_member_str(&w, "message", error);
    }
    if (body_json.len > 0) {
        wb_json_key(&w, "body");
        wb_json_put_raw(&w, body_json);
    }
    wb_json_end_object(&w);
    struct wb_span text = wb_text_span(&head);
    return send(dap, (struct wb_span){text.ptr, text.len - 1}, (struct wb_span){0}, err);
}
