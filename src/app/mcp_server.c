/* mcp_server: the methods. The calls under way are in mcp_calls.c, the JSON of what goes out in
 * mcp_json.c. */
#include "app/mcp_server.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "app/mcp_calls.h"
#include "app/mcp_cards.h"
#include "app/mcp_form.h"
#include "app/mcp_json.h"
#include "base/log.h"
#include "wire/peer.h"

#define UNSUPPORTED_VERSION (-32022) /* MCP 2026-07-28, UnsupportedProtocolVersionError */

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char capabilities_key[] = "io.modelcontextprotocol/clientCapabilities";

/* What `initialize` may agree on, newest first. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                              "2024-11-05"};

struct wb_mcp_server {
    struct wb_run *run;
    struct wb_peer *peer;
    int (*write)(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err);
    void *ctx; /* of write */
    atomic_bool initialized;
    struct wb_cards *cards;
    struct wb_mcp_cards *mcp_cards; /* NULL: the client shows no cards */
    struct wb_mcp_calls *calls;
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

/* --- methods --- */

/* Does a request of the stateless era say that its client shows forms? Cards are asked for then. */
static bool offers_forms(struct wb_mcp_server *server, const struct wb_peer_message *message,
                         bool is_modern)
{
    const struct wb_json *meta = wb_json_get(message->params, "_meta");
    bool offered = is_modern && wb_mcp_form_offered(wb_json_get(meta, capabilities_key));
    if (offered) {
        wb_mcp_calls_attach(server->calls);
    }
    return offered;
}

static void handle_call(struct wb_mcp_server *server, const struct wb_peer_message *message,
                        bool is_modern)
{
    bool can_ask = offers_forms(server, message, is_modern);
    wb_mcp_calls_take(server->calls, message, is_modern, can_ask);
}

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
    if (server->cards != NULL && server->mcp_cards == NULL &&
        wb_mcp_form_offered(wb_json_get(message->params, "capabilities"))) {
        bool has_arrays = wb_str_equal(agreed, legacy_versions[0]);
        server->mcp_cards = wb_mcp_cards_new(server->cards, server->peer,
                                             wb_host_pool(wb_run_host(server->run)), has_arrays);
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
    offers_forms(server, message, is_modern);
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
    struct wb_mcp_server *server = ctx;
    const struct wb_json *id = wb_json_get(message->params, "requestId");
    if (wb_str_equal(message->method, "notifications/cancelled") && !wb_json_is_null(id)) {
        wb_mcp_calls_cancel(server->calls, wb_json_write(message->arena, id));
    }
}

static void on_garbage(void *ctx, const char *what)
{
    (void)ctx;
    wb_log(WB_LOG_INFO, "a line that was not understood: %s", what);
}

/* The operator has begun or left plan mode. */
static void tell_surface_changed(void *ctx)
{
    struct wb_mcp_server *server = ctx;
    struct wb_error err;
    if (server->initialized &&
        wb_peer_notify(server->peer, "notifications/tools/list_changed", WB_SPAN(""), &err) != 0) {
        log_unsent(&err);
    }
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
    server->calls = wb_mcp_calls_new(run, server->peer, cards);
    wb_run_on_surface_changed(run, tell_surface_changed, server);
    return server;
}

void wb_mcp_server_feed(struct wb_mcp_server *server, const char *ptr, size_t len)
{
    wb_peer_feed(server->peer, ptr, len);
}

bool wb_mcp_server_is_busy(struct wb_mcp_server *server)
{
    return wb_mcp_calls_are_busy(server->calls);
}

void wb_mcp_server_end_input(struct wb_mcp_server *server)
{
    wb_mcp_calls_end(server->calls);
    if (server->mcp_cards != NULL) {
        wb_mcp_cards_end(server->mcp_cards);
    }
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
        wb_mcp_calls_free(server->calls);
        wb_peer_free(server->peer);
        free(server);
    }
}
