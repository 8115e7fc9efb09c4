/* mcp_server: the methods, and the calls under way. The JSON of what goes out is in mcp_json.c. */
#include "app/mcp_server.h"

#include <stdlib.h>

#include "app/mcp_cards.h"
#include "app/mcp_json.h"
#include "base/log.h"
#include "wire/peer.h"

#define UNSUPPORTED_VERSION (-32022) /* MCP 2026-07-28, UnsupportedProtocolVersionError */

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";

/* What `initialize` may agree on, newest first. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                              "2024-11-05"};

struct wb_mcp_server {
    struct wb_run *run;
    struct wb_peer *peer;
    int (*write)(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err);
    void *ctx;        /* of write */
    bool initialized; /* reading thread */
    struct wb_cards *cards;
    struct wb_mcp_cards *mcp_cards; /* NULL: the client shows no cards */
    pthread_mutex_t lock;
    struct mcp_call *calls; /* under way */
};

struct mcp_call {
    struct wb_mcp_server *server;
    char *id;
    bool is_modern;
    bool is_unknown; /* the surface has no such tool: a protocol error */
    struct wb_cancel cancel;
    char *progress_token; /* JSON, or NULL */
    int64_t progress;     /* told last; it must grow */
    bool is_cancelled;    /* by the peer: it gets no answer */
    struct mcp_call *prev, *next;
};

/* A line that cannot be sent: the peer is gone or reads nothing. Its end of file ends us. */
static void log_unsent(const struct wb_error *err)
{
    wb_log(WB_LOG_DEBUG, "an answer was not sent: %s", err->message);
}

static void reply(struct wb_mcp_server *server, struct wb_span id, const struct wb_text *result)
{
    struct wb_error err;
    if (wb_peer_reply(server->peer, id, wb_text_span(result), &err) != 0) {
        log_unsent(&err);
    }
}

static void reply_error(struct wb_mcp_server *server, struct wb_span id, int64_t code,
                        const char *message)
{
    struct wb_error err;
    if (wb_peer_reply_error(server->peer, id, code, message, &err) != 0) {
        log_unsent(&err);
    }
}

/* --- calls --- */

static void link_call(struct mcp_call *call)
{
    struct wb_mcp_server *server = call->server;
    pthread_mutex_lock(&server->lock);
    call->next = server->calls;
    if (call->next != NULL) {
        call->next->prev = call;
    }
    server->calls = call;
    pthread_mutex_unlock(&server->lock);
}

/* Returns whether the peer has cancelled it. */
static bool unlink_call(struct mcp_call *call)
{
    struct wb_mcp_server *server = call->server;
    pthread_mutex_lock(&server->lock);
    *(call->prev != NULL ? &call->prev->next : &server->calls) = call->next;
    if (call->next != NULL) {
        call->next->prev = call->prev;
    }
    bool is_cancelled = call->is_cancelled;
    pthread_mutex_unlock(&server->lock);
    return is_cancelled;
}

static void free_call(struct mcp_call *call)
{
    wb_cancel_done(&call->cancel);
    free(call->progress_token);
    free(call->id);
    free(call);
}

static void answer_call(void *ctx, struct wb_result *result)
{
    struct mcp_call *call = ctx;
    struct wb_mcp_server *server = call->server;
    struct wb_span id = wb_span(call->id);
    if (unlink_call(call)) {
        wb_peer_forget_request(server->peer);
    } else if (call->is_unknown) {
        reply_error(server, id, WB_RPC_INVALID_PARAMS, wb_text_cstr(&result->text));
    } else {
        WB_AUTO(wb_text_done) struct wb_text json = {0};
        wb_mcp_put_call_result(&json, result, call->is_modern);
        reply(server, id, &json);
    }
    wb_result_done(result);
    free_call(call);
}

static void tell_progress(void *ctx, const char *message, int64_t done, int64_t total)
{
    struct mcp_call *call = ctx;
    struct wb_mcp_server *server = call->server;
    WB_AUTO(wb_text_done) struct wb_text params = {0};
    struct wb_error err;
    /* Under the lock, so that growing numbers leave in their order. */
    pthread_mutex_lock(&server->lock);
    call->progress = WB_MAX(done, call->progress + 1);
    wb_mcp_put_progress(&params, call->progress_token, call->progress, total, message);
    if (!call->is_cancelled &&
        wb_peer_notify(server->peer, "notifications/progress", wb_text_span(&params), &err) != 0) {
        log_unsent(&err);
    }
    pthread_mutex_unlock(&server->lock);
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

static void handle_call(struct wb_mcp_server *server, const struct wb_peer_message *message,
                        bool is_modern)
{
    const char *name = wb_json_str(wb_json_get(message->params, "name"));
    const struct wb_json *arguments = wb_json_get(message->params, "arguments");
    if (name == NULL) {
        reply_error(server, message->id, WB_RPC_INVALID_PARAMS,
                    "tools/call needs `name`, the name of a tool");
        return;
    }
    if (!wb_json_is_null(arguments) && wb_json_type(arguments) != WB_JSON_OBJECT) {
        reply_error(server, message->id, WB_RPC_INVALID_PARAMS,
                    "`arguments` of tools/call must be an object");
        return;
    }
    struct mcp_call *call = wb_alloc(sizeof(*call));
    call->server = server;
    call->id = wb_strndup(message->id.ptr, message->id.len);
    call->is_modern = is_modern;
    call->is_unknown = wb_run_find_tool(server->run, name) == NULL;
    call->progress_token = progress_token_of(message);
    wb_cancel_init(&call->cancel);
    link_call(call);
    const struct wb_call_options options = {
        .cancel = &call->cancel,
        .on_progress = call->progress_token != NULL ? tell_progress : NULL,
        .ctx = call,
        .origin = "harness",
    };
    struct wb_span json =
        wb_json_is_null(arguments) ? WB_SPAN("{}") : wb_json_write(message->arena, arguments);
    wb_run_submit(server->run, name, json, &options, answer_call, call);
}

static void handle_cancelled(struct wb_mcp_server *server, const struct wb_peer_message *message)
{
    const struct wb_json *id = wb_json_get(message->params, "requestId");
    if (wb_json_is_null(id)) {
        return;
    }
    struct wb_span json = wb_json_write(message->arena, id);
    pthread_mutex_lock(&server->lock);
    for (struct mcp_call *call = server->calls; call != NULL; call = call->next) {
        if (wb_span_is(json, call->id)) {
            call->is_cancelled = true;
            wb_cancel_fire(&call->cancel); /* its hooks never come back for our lock */
        }
    }
    pthread_mutex_unlock(&server->lock);
}

/* --- the other methods --- */

static void handle_initialize(struct wb_mcp_server *server, const struct wb_peer_message *message,
                              bool is_modern)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    const char *asked = wb_json_str_or(wb_json_get(message->params, "protocolVersion"), "");
    const char *agreed = legacy_versions[0];
    (void)is_modern;
    for (size_t i = 0; i < WB_COUNT(legacy_versions); i++) {
        if (wb_str_equal(asked, legacy_versions[i])) {
            agreed = legacy_versions[i];
        }
    }
    server->initialized = true;
    const struct wb_json *elicitation = wb_json_path(message->params, "capabilities.elicitation");
    if (elicitation != NULL && server->cards != NULL && server->mcp_cards == NULL) {
        server->mcp_cards =
            wb_mcp_cards_new(server->cards, server->peer, wb_host_pool(wb_run_host(server->run)));
    }
    wb_mcp_put_initialize_result(&json, server->run, agreed);
    reply(server, message->id, &json);
}

static void handle_discover(struct wb_mcp_server *server, const struct wb_peer_message *message,
                            bool is_modern)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    (void)is_modern;
    wb_mcp_put_discover_result(&json, server->run);
    reply(server, message->id, &json);
}

static void handle_list(struct wb_mcp_server *server, const struct wb_peer_message *message,
                        bool is_modern)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    wb_mcp_put_tools(&json, server->run, is_modern);
    reply(server, message->id, &json);
}

/* ping, and logging/setLevel: we send no log messages, whatever the level. */
static void handle_empty(struct wb_mcp_server *server, const struct wb_peer_message *message,
                         bool is_modern)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    (void)is_modern;
    wb_text_add_str(&json, "{}");
    reply(server, message->id, &json);
}

enum { LEGACY = 1, MODERN = 2, UNINITIALIZED = 4 };

static const struct method {
    const char *name;
    unsigned when; /* in which eras, and whether also before `initialize` */
    void (*handle)(struct wb_mcp_server *server, const struct wb_peer_message *message,
                   bool is_modern);
} methods[] = {
    {"tools/call", LEGACY | MODERN, handle_call},
    {"tools/list", LEGACY | MODERN, handle_list},
    {"initialize", LEGACY | UNINITIALIZED, handle_initialize},
    {"ping", LEGACY | UNINITIALIZED, handle_empty},
    {"logging/setLevel", LEGACY, handle_empty},
    {"server/discover", LEGACY | MODERN | UNINITIALIZED, handle_discover},
};

static void refuse_version(struct wb_mcp_server *server, const struct wb_peer_message *message,
                           const char *version)
{
    WB_AUTO(wb_text_done) struct wb_text data = {0};
    struct wb_error err;
    wb_mcp_put_unsupported_version(&data, version);
    if (wb_peer_reply_error_data(server->peer, message->id, UNSUPPORTED_VERSION,
                                 "Unsupported protocol version", wb_text_span(&data), &err) != 0) {
        log_unsent(&err);
    }
}

static const struct method *find_method(const char *name, bool is_modern)
{
    for (size_t i = 0; i < WB_COUNT(methods); i++) {
        if (wb_str_equal(methods[i].name, name)) {
            return (methods[i].when & (is_modern ? MODERN : LEGACY)) != 0 ? &methods[i] : NULL;
        }
    }
    return NULL;
}

static void on_request(void *ctx, const struct wb_peer_message *message)
{
    struct wb_mcp_server *server = ctx;
    const char *version =
        wb_json_str(wb_json_get(wb_json_get(message->params, "_meta"), version_key));
    bool is_modern = version != NULL;
    const struct method *method = find_method(message->method, is_modern);
    if (is_modern && !wb_str_equal(version, WB_MCP_MODERN_VERSION)) {
        refuse_version(server, message, version);
    } else if (!is_modern && !server->initialized &&
               (method == NULL || (method->when & UNINITIALIZED) == 0)) {
        reply_error(server, message->id, WB_RPC_SERVER_NOT_INITIALIZED,
                    "send `initialize` first, or name the version in each request's _meta: "
                    "io.modelcontextprotocol/protocolVersion");
    } else if (method == NULL) {
        reply_error(server, message->id, WB_RPC_METHOD_NOT_FOUND, "Method not found");
    } else {
        method->handle(server, message, is_modern);
    }
}

static void on_notification(void *ctx, const struct wb_peer_message *message)
{
    if (wb_str_equal(message->method, "notifications/cancelled")) {
        handle_cancelled(ctx, message);
    }
}

static void on_garbage(void *ctx, const char *what)
{
    (void)ctx;
    wb_log(WB_LOG_INFO, "a line that was not understood: %s", what);
}

static int write_line(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    const struct wb_mcp_server *server = ctx;
    return server->write(server->ctx, spans, n, err);
}

struct wb_mcp_server *wb_mcp_server_new(struct wb_run *run, struct wb_cards *cards,
                                        int (*write)(void *ctx, const struct wb_span *spans,
                                                     size_t n, struct wb_error *err),
                                        void *ctx)
{
    struct wb_mcp_server *server = wb_alloc(sizeof(*server));
    const struct wb_peer_options options = {
        .framing = WB_FRAMING_LINES,
        .write = write_line,
        .on_request = on_request,
        .on_notification = on_notification,
        .on_garbage = on_garbage,
        .cancel_method = "notifications/cancelled",
        .cancel_key = "requestId",
        .ctx = server,
    };
    server->run = run;
    server->cards = cards;
    server->write = write;
    server->ctx = ctx;
    server->peer = wb_peer_new(&options);
    pthread_mutex_init(&server->lock, NULL);
    return server;
}

void wb_mcp_server_feed(struct wb_mcp_server *server, const char *ptr, size_t len)
{
    wb_peer_feed(server->peer, ptr, len);
}

bool wb_mcp_server_is_busy(struct wb_mcp_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool busy = server->calls != NULL;
    pthread_mutex_unlock(&server->lock);
    return busy;
}

bool wb_mcp_server_is_broken(struct wb_mcp_server *server)
{
    return wb_peer_is_closed(server->peer);
}

void wb_mcp_server_free(struct wb_mcp_server *server)
{
    if (server != NULL) {
        wb_peer_close(server->peer, "the run is closed");
        wb_mcp_cards_free(server->mcp_cards);
        wb_peer_free(server->peer);
        pthread_mutex_destroy(&server->lock);
        free(server);
    }
}
