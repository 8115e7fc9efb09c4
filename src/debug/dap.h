/* dap: one end of a Debug Adapter Protocol connection: the client.
 *
 * Works on memory: bytes come in by wb_dap_feed, bytes go out by the write function, so that a
 * child's pipe, a socket and a fuzzer drive the same code. Source: Debug Adapter Protocol 1.68.
 *
 * What real adapters do and this survives: responses are matched by request_seq alone (some carry an
 * empty command); a late or repeated response is dropped; junk before a header is skipped up to a
 * bound; text that does not parse is dropped and told to on_garbage; a message without a known type
 * likewise.
 *
 * Threads: feed and close on the thread that reads (the loop thread); everything else from any
 * thread. Handlers run on the feeding thread, in the order of arrival, without the client's lock,
 * and must not block. An event that arrives before a response is handled before its waiter wakes.
 *
 *   open -> closed (once; all pending requests fail with the reason) */
#ifndef WB_DEBUG_DAP_H
#define WB_DEBUG_DAP_H

#include "base/cancel.h"
#include "base/json.h"

struct wb_dap;

/* An event or a reverse request; valid during the handler only. */
struct wb_dap_message {
    int64_t seq;                /* reverse requests: for wb_dap_reply */
    const char *name;           /* of the event or command */
    const struct wb_json *body; /* body or arguments; NULL: none */
    struct wb_arena *arena;     /* holds the message; a handler may adopt it */
};

struct wb_dap_options {
    /* Sends one whole message. Called from several threads at once, without the client's lock. */
    int (*write)(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err);
    void (*on_event)(void *ctx, const struct wb_dap_message *event);
    /* Reverse requests. Each must be answered, or the adapter may wait for ever. */
    void (*on_request)(void *ctx, const struct wb_dap_message *request);
    void (*on_answer)(void *ctx); /* some pending has been answered; may be NULL */
    void (*on_garbage)(void *ctx, const char *what); /* for logs; may be NULL */
    void *ctx;
};

struct wb_dap *wb_dap_new(const struct wb_dap_options *options); /* copied */
/* After close, when no thread is in a function of this client and every started request has been
 * waited for or dropped. NULL is allowed. */
void wb_dap_free(struct wb_dap *dap);

void wb_dap_feed(struct wb_dap *dap, const char *ptr, size_t len);
/* The connection is gone: pending requests fail with this sentence. The first reason stays. */
void wb_dap_close(struct wb_dap *dap, const char *reason);
bool wb_dap_is_closed(struct wb_dap *dap);
/* Why it is closed; NULL while it is open. Valid as long as the client. */
const char *wb_dap_close_reason(struct wb_dap *dap);

/* An answer. error is the adapter's own text, from wherever it keeps it: `message`,
 * `body.error.format` with its variables filled in, or both; never NULL when failed. */
struct wb_dap_answer {
    const struct wb_json *body; /* NULL: none */
    bool failed;
    const char *error;
};

/* Sends a request and waits for its answer. arguments_json: a JSON object on one line, or empty:
 * none. 0: *ret written, also when it failed; what it points to is moved into the arena. -1: no
 * answer: WB_ERROR_TIMEOUT, WB_ERROR_CANCELLED (a late answer is dropped), WB_ERROR_CLOSED with
 * the reason, WB_ERROR_LIMIT. */
WB_MUST_CHECK int wb_dap_call(struct wb_dap *dap, const char *command,
                              struct wb_span arguments_json, int64_t deadline_ms,
                              struct wb_cancel *cancel, struct wb_arena *arena,
                              struct wb_dap_answer *ret, struct wb_error *err);

/* The same in two steps. The pending is freed by wait and by drop; one thread waits for it. */
struct wb_dap_pending;
struct wb_dap_pending *wb_dap_start(struct wb_dap *dap, const char *command,
                                    struct wb_span arguments_json, struct wb_error *err);
WB_MUST_CHECK int wb_dap_wait(struct wb_dap *dap, struct wb_dap_pending *pending,
                              int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                              struct wb_dap_answer *ret, struct wb_error *err);
void wb_dap_drop(struct wb_dap *dap, struct wb_dap_pending *pending);
/* Its answer is there, or never comes because the client is closed. */
bool wb_dap_is_answered(struct wb_dap *dap, struct wb_dap_pending *pending);
/* Its answer is there and says no, or never comes. */
bool wb_dap_is_failed(struct wb_dap *dap, struct wb_dap_pending *pending);

/* Answers a reverse request. error NULL: success, with the body (may be empty). */
int wb_dap_reply(struct wb_dap *dap, int64_t request_seq, const char *command, const char *error,
                 struct wb_span body_json, struct wb_error *err);

/* What an adapter can do, as it said so far: the response to initialize, then `capabilities` events
 * laid over it. */
struct wb_dap_filter {
    char *id, *label; /* of an exception breakpoint filter */
    bool is_default;
};

struct wb_dap_capabilities {
    bool configuration_done, function_breakpoints, conditional_breakpoints, log_points;
    bool set_variable, exception_info, terminate_debuggee, exception_filter_options;
    struct wb_dap_filter *filters;
    size_t n_filters;
};

void wb_dap_capabilities_merge(struct wb_dap_capabilities *capabilities,
                               const struct wb_json *body);
void wb_dap_capabilities_done(struct wb_dap_capabilities *capabilities);

#endif
