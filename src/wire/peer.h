/* peer: one end of a JSON-RPC 2.0 connection, with deadlines, cancellation and both directions.
 *
 * Works on memory: bytes come in by wb_peer_feed, bytes go out by the write function, so that a
 * child's pipe, our own stdio and a fuzzer drive the same code. Ids of the two directions may
 * overlap and may be numbers or strings: a message with a method is never taken for a response.
 *
 * Threads: feed and close on the thread that reads (the loop thread); everything else from any
 * thread. Handlers run on the feeding thread, in the order of arrival, without the peer's lock, and
 * must not block; a request may be answered later, from any thread, by wb_peer_reply.
 * State: open -> closed (once; all pending calls fail with the reason). */
#ifndef WB_WIRE_PEER_H
#define WB_WIRE_PEER_H

#include "base/cancel.h"
#include "base/json.h"
#include "wire/frame.h"

/* Error codes of JSON-RPC 2.0 and LSP 3.17 that the program names. */
enum {
    WB_RPC_PARSE_ERROR = -32700,
    WB_RPC_INVALID_REQUEST = -32600,
    WB_RPC_METHOD_NOT_FOUND = -32601,
    WB_RPC_INVALID_PARAMS = -32602,
    WB_RPC_INTERNAL_ERROR = -32603,
    WB_RPC_SERVER_NOT_INITIALIZED = -32002,
    WB_RPC_REQUEST_CANCELLED = -32800,
    WB_RPC_CONTENT_MODIFIED = -32801,
    WB_RPC_SERVER_CANCELLED = -32802,
    WB_RPC_REQUEST_FAILED = -32803,
};

struct wb_peer;

/* An incoming message; everything in it is valid during the handler only. The id may be copied for
 * a later wb_peer_reply. */
struct wb_peer_message {
    const char *method;
    const struct wb_json *params; /* NULL: absent or null */
    struct wb_span id;            /* requests: the id as JSON text; notifications: empty */
    struct wb_arena *arena;       /* holds the message; dropped after the handler */
};

struct wb_peer_options {
    enum wb_framing framing;
    /* Sends one whole message: head, body, tail as one unit; some spans may be empty. Called from
     * several threads at once, without the peer's lock. -1: it cannot be sent. */
    int (*write)(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err);
    void (*on_request)(void *ctx, const struct wb_peer_message *message);
    void (*on_notification)(void *ctx, const struct wb_peer_message *message);
    /* What is no JSON-RPC message, or an error answer without an id, for logs. The peer itself
     * answers text that does not parse with -32700, and what is no message (batches too: MCP
     * removed them) with -32600, with the id where there is one, else null. May be NULL. */
    void (*on_garbage)(void *ctx, const char *what);
    /* Name of the notification that cancels a request of ours: "$/cancelRequest" with {id} (LSP),
     * "notifications/cancelled" with {requestId} (MCP); NULL: none. */
    const char *cancel_method;
    const char *cancel_key; /* "id" or "requestId" */
    void *ctx;
};

/* The options are copied, the strings in them borrowed. */
struct wb_peer *wb_peer_new(const struct wb_peer_options *options);
/* After close, when no thread is in a function of this peer and every started request has been
 * waited for or dropped. NULL is allowed. */
void wb_peer_free(struct wb_peer *peer);

/* A stream that cannot be understood any more closes the peer with that reason. After close what is
 * fed is ignored. A notification is a message with a method and no id, or a null one. */
void wb_peer_feed(struct wb_peer *peer, const char *ptr, size_t len);
/* The connection is gone: pending calls fail with this sentence ("clangd exited with status 1").
 * Idempotent: the first reason stays. */
void wb_peer_close(struct wb_peer *peer, const char *reason);
bool wb_peer_is_closed(struct wb_peer *peer);

/* What a call gave: a result, or the other side's error. Sloppy answers are taken: one without a
 * result means null, an error without a code is an internal error, its message may be missing. */
struct wb_peer_answer {
    const struct wb_json *result; /* NULL when failed; JSON null is a value of type null */
    bool failed;                  /* the other side answered an error: */
    int64_t error_code;
    const char *error_message; /* never NULL when failed */
    const struct wb_json *error_data;
};

/* Sends a request and waits for its answer. method: a plain name that outlives the call, params_json:
 * a JSON value on one line, or empty: none; neither is copied. 0: *ret written (also when the other
 * side answered an error); what it points to is moved into the arena. -1: no answer:
 * WB_ERROR_TIMEOUT or WB_ERROR_CANCELLED (the cancel notification was sent, a late answer is
 * dropped), WB_ERROR_CLOSED with the reason, WB_ERROR_LIMIT. */
WB_MUST_CHECK int wb_peer_call(struct wb_peer *peer, const char *method, struct wb_span params_json,
                               int64_t deadline_ms, struct wb_cancel *cancel,
                               struct wb_arena *arena, struct wb_peer_answer *ret,
                               struct wb_error *err);
/* The same in two steps, so that a caller waits for several at once: start, then wait or drop (which
 * cancels). The pending is freed by wait and drop. One thread waits for a pending. */
struct wb_peer_pending;
struct wb_peer_pending *wb_peer_start(struct wb_peer *peer, const char *method,
                                      struct wb_span params_json, struct wb_error *err);
WB_MUST_CHECK int wb_peer_wait(struct wb_peer *peer, struct wb_peer_pending *pending,
                               int64_t deadline_ms, struct wb_cancel *cancel,
                               struct wb_arena *arena, struct wb_peer_answer *ret,
                               struct wb_error *err);
void wb_peer_drop(struct wb_peer *peer, struct wb_peer_pending *pending);
/* Requests outstanding in our direction (idle tests: a server with one is not idle). */
size_t wb_peer_pending_count(struct wb_peer *peer);

int wb_peer_notify(struct wb_peer *peer, const char *method, struct wb_span params_json,
                   struct wb_error *err);
/* Answers a request, once. result_json empty: null. */
int wb_peer_reply(struct wb_peer *peer, struct wb_span id, struct wb_span result_json,
                  struct wb_error *err);
int wb_peer_reply_error(struct wb_peer *peer, struct wb_span id, int64_t code, const char *message,
                        struct wb_error *err);
/* The same with the error's data, a JSON value. */
WB_MUST_CHECK int wb_peer_reply_error_data(struct wb_peer *peer, struct wb_span id, int64_t code,
                                           const char *message, struct wb_span data_json,
                                           struct wb_error *err);
/* One request of the other side will get no answer: it was cancelled, and MCP wants none then. */
void wb_peer_forget_request(struct wb_peer *peer);

#endif
