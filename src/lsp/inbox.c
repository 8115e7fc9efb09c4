/* inbox: what a server sends: requests, each of which is answered, and notifications. Runs on the
 * loop thread and never blocks.
 *
 * Unanswered requests hang servers, so an unknown one gets "method not found". */
#include "lsp/server_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "sys/path.h"

#define YOUNG_PAUSE_MS 200
#define LOG_MOST_MS 15000 /* after the handshake, for the message that says that all is read */

static void reply(struct wb_server *server, const struct wb_peer_message *message,
                  struct wb_span result)
{
    (void)wb_peer_reply(server->peer, message->id, result, NULL); /* a dead server needs none */
}

static void reply_null(struct wb_server *server, const struct wb_peer_message *message)
{
    reply(server, message, (struct wb_span){0});
}

const struct wb_json *wb_server_setting(const struct wb_server *server, const char *section)
{
    if (section == NULL || *section == '\0') {
        return server->row->settings;
    }
    return wb_json_path(server->row->settings, section);
}

/* One value an item; an object where nothing is set: null stops some servers from starting work. */
static void answer_configuration(struct wb_server *server, const struct wb_peer_message *message)
{
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    struct wb_json_writer w;
    wb_json_writer_init(&w, &text);
    wb_json_begin_array(&w);
    const struct wb_json *items = wb_json_get(message->params, "items");
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        const char *section = wb_json_str(wb_json_get(it.value, "section"));
        const struct wb_json *value = wb_server_setting(server, section);
        if (value != NULL) {
            wb_json_put_value(&w, value);
        } else {
            wb_json_put_raw(&w, WB_SPAN("{}"));
        }
    }
    wb_json_end_array(&w);
    reply(server, message, wb_text_span(&text));
}

static void answer_folders(struct wb_server *server, const struct wb_peer_message *message)
{
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    struct wb_json_writer w;
    wb_json_writer_init(&w, &text);
    wb_json_begin_array(&w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "uri", wb_path_to_uri(message->arena, server->root));
    wb_json_member_str(&w, "name", wb_path_base(server->root));
    wb_json_end_object(&w);
    wb_json_end_array(&w);
    reply(server, message, wb_text_span(&text));
}

static void free_registration(struct wb_registration *registration)
{
    wb_arena_done(&registration->arena);
    free(registration->id);
    free(registration->method);
    free(registration);
}

static void add_registration(struct wb_server *server, const struct wb_json *item)
{
    const char *id = wb_json_str(wb_json_get(item, "id"));
    const char *method = wb_json_str(wb_json_get(item, "method"));
    if (id == NULL || method == NULL) {
        return;
    }
    struct wb_registration *registration = wb_alloc(sizeof(*registration));
    wb_arena_init(&registration->arena);
    registration->id = wb_strdup(id);
    registration->method = wb_strdup(method);
    struct wb_span options =
        wb_json_write(&registration->arena, wb_json_get(item, "registerOptions"));
    registration->options = wb_json_parse(&registration->arena, options, NULL);
    registration->next = server->registrations;
    server->registrations = registration;
}

static void take_registrations(struct wb_server *server, const struct wb_peer_message *message)
{
    const struct wb_json *items = wb_json_get(message->params, "registrations");
    pthread_mutex_lock(&server->lock);
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        add_registration(server, it.value);
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    reply_null(server, message);
}

static void remove_registration(struct wb_server *server, const char *id)
{
    for (struct wb_registration **at = &server->registrations; *at != NULL; at = &(*at)->next) {
        if (id != NULL && wb_str_equal((*at)->id, id)) {
            struct wb_registration *gone = *at;
            *at = gone->next;
            free_registration(gone);
            return;
        }
    }
}

static void drop_registrations(struct wb_server *server, const struct wb_peer_message *message)
{
    /* The protocol spells it "unregisterations"; some servers spell it right. */
    const struct wb_json *items = wb_json_get(message->params, "unregisterations");
    if (items == NULL) {
        items = wb_json_get(message->params, "unregistrations");
    }
    pthread_mutex_lock(&server->lock);
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        remove_registration(server, wb_json_str(wb_json_get(it.value, "id")));
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    reply_null(server, message);
}

static void answer_apply_edit(struct wb_server *server, const struct wb_peer_message *message)
{
    pthread_mutex_lock(&server->lock);
    const struct wb_edit_taker *taker = server->edit_taker;
    bool applied = taker != NULL && taker->take(taker->ctx, wb_json_get(message->params, "edit"));
    pthread_mutex_unlock(&server->lock);
    reply(server, message,
          applied ? WB_SPAN("{\"applied\":true}")
                  : WB_SPAN("{\"applied\":false,\"failureReason\":"
                            "\"no call that may write is waiting for an edit\"}"));
}

static struct wb_progress *find_progress(struct wb_server *server, const char *token)
{
    struct wb_progress *progress = wb_map_get(&server->progress, token);
    if (progress == NULL) {
        progress = wb_alloc(sizeof(*progress));
        wb_text_init(&progress->message);
        progress->percentage = -1;
        wb_map_set(&server->progress, token, progress);
    }
    return progress;
}

static void free_progress(struct wb_progress *progress)
{
    if (progress != NULL) {
        wb_text_done(&progress->message);
        free(progress->title);
        free(progress);
    }
}

static void create_progress(struct wb_server *server, const struct wb_peer_message *message)
{
    /* Nothing is under way until "begin". */
    reply_null(server, message);
}

static void note_refresh(struct wb_server *server, const struct wb_peer_message *message)
{
    pthread_mutex_lock(&server->lock);
    server->refreshes++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    reply_null(server, message);
}

static void answer_show_document(struct wb_server *server, const struct wb_peer_message *message)
{
    reply(server, message, WB_SPAN("{\"success\":false}"));
}

static const struct {
    const char *method;
    void (*answer)(struct wb_server *server, const struct wb_peer_message *message);
} requests[] = {
    {"client/registerCapability", take_registrations},
    {"client/unregisterCapability", drop_registrations},
    {"window/showDocument", answer_show_document},
    {"window/showMessageRequest", reply_null}, /* nobody chose an action */
    {"window/workDoneProgress/create", create_progress},
    {"workspace/applyEdit", answer_apply_edit},
    {"workspace/codeLens/refresh", reply_null},
    {"workspace/configuration", answer_configuration},
    {"workspace/diagnostic/refresh", note_refresh},
    {"workspace/foldingRange/refresh", reply_null},
    {"workspace/inlayHint/refresh", reply_null},
    {"workspace/inlineValue/refresh", reply_null},
    {"workspace/semanticTokens/refresh", reply_null},
    {"workspace/workspaceFolders", answer_folders},
};

void wb_server_on_request(void *ctx, const struct wb_peer_message *message)
{
    struct wb_server *server = ctx;
    for (size_t i = 0; i < WB_COUNT(requests); i++) {
        if (wb_str_equal(requests[i].method, message->method)) {
            requests[i].answer(server, message);
            return;
        }
    }
    (void)wb_peer_reply_error(server->peer, message->id, WB_RPC_METHOD_NOT_FOUND,
                              "this client does not offer it", NULL);
}

static void take_diagnostics(struct wb_server *server, const struct wb_peer_message *message)
{
    struct wb_span uri = wb_json_span(wb_json_get(message->params, "uri"));
    const char *path = wb_path_from_uri(message->arena, uri);
    if (path == NULL) {
        return; /* another scheme: not a file of anybody's workspace */
    }
    int64_t version = 0;
    bool has_version = wb_json_int(wb_json_get(message->params, "version"), &version);
    pthread_mutex_lock(&server->lock);
    wb_server_news_store(server, path, false, wb_json_get(message->params, "diagnostics"),
                         has_version, version, NULL);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void report_progress(struct wb_progress *progress, const struct wb_json *value)
{
    const char *title = wb_json_str(wb_json_get(value, "title"));
    if (title != NULL) {
        free(progress->title);
        progress->title = wb_strdup(title);
    }
    const struct wb_json *text = wb_json_get(value, "message");
    if (text != NULL) {
        wb_text_clear(&progress->message);
        wb_text_add_utf8(&progress->message, wb_json_span(text));
    }
    progress->percentage = wb_json_int_or(wb_json_get(value, "percentage"), progress->percentage);
}

static bool names(const char *part, const char *token)
{
    return part != NULL && strcasestr(token, part) != NULL;
}

/* Tokens are numbers or strings, and need not have been created by a request. */
static void take_progress(struct wb_server *server, const struct wb_peer_message *message)
{
    const struct wb_json *value = wb_json_get(message->params, "value");
    const char *kind = wb_json_str_or(wb_json_get(value, "kind"), "");
    struct wb_span token = wb_json_write(message->arena, wb_json_get(message->params, "token"));
    const char *key = wb_arena_strndup(message->arena, token.ptr, token.len);
    pthread_mutex_lock(&server->lock);
    bool ended = wb_str_equal(kind, "end"), begun = wb_str_equal(kind, "begin");
    if (names(server->row->check_progress, key)) {
        wb_server_check_told(server, ended, begun);
    } else if (begun && names(server->row->check_cause, key)) {
        wb_server_check_caused(server);
    }
    if (ended) {
        free_progress(wb_map_remove(&server->progress, key));
        server->progress_ended++;
    } else if (begun || wb_str_equal(kind, "report")) {
        report_progress(find_progress(server, key), value);
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void set_status_text(struct wb_server *server, const char *text)
{
    free(server->status_text);
    server->status_text = text != NULL ? wb_strdup(text) : NULL;
}

/* rust-analyzer's experimental/serverStatus. Its first "quiescent" comes before the first load. */
static void take_server_status(struct wb_server *server, const struct wb_peer_message *message)
{
    pthread_mutex_lock(&server->lock);
    server->status_quiet = wb_json_bool(wb_json_get(message->params, "quiescent"), true);
    server->status_seen_busy |= !server->status_quiet;
    set_status_text(server, wb_json_str(wb_json_get(message->params, "message")));
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* jdtls' language/status. */
static void take_language_status(struct wb_server *server, const struct wb_peer_message *message)
{
    const char *type = wb_json_str_or(wb_json_get(message->params, "type"), "");
    const char *text = wb_json_str_or(wb_json_get(message->params, "message"), "");
    pthread_mutex_lock(&server->lock);
    server->service_ready |= wb_str_equal(type, "ServiceReady") ||
                             (wb_str_equal(type, "Started") && wb_str_equal(text, "Ready"));
    set_status_text(server, text);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void take_message(struct wb_server *server, const struct wb_peer_message *message)
{
    const char *text = wb_json_str_or(wb_json_get(message->params, "message"), "");
    wb_log(WB_LOG_DEBUG, "%s says: %s", server->row->id, text);
    if (server->row->ready_log != NULL && strstr(text, server->row->ready_log) != NULL) {
        pthread_mutex_lock(&server->lock);
        server->log_ready = true;
        pthread_cond_broadcast(&server->changed);
        pthread_mutex_unlock(&server->lock);
    }
}

static const struct {
    const char *method;
    void (*take)(struct wb_server *server, const struct wb_peer_message *message);
} notifications[] = {
    {"$/progress", take_progress},
    {"experimental/serverStatus", take_server_status},
    {"language/status", take_language_status},
    {"textDocument/publishDiagnostics", take_diagnostics},
    {"window/logMessage", take_message},
    {"window/showMessage", take_message},
};

void wb_server_on_notification(void *ctx, const struct wb_peer_message *message)
{
    struct wb_server *server = ctx;
    for (size_t i = 0; i < WB_COUNT(notifications); i++) {
        if (wb_str_equal(notifications[i].method, message->method)) {
            notifications[i].take(server, message);
            return;
        }
    }
}

void wb_server_inbox_done(struct wb_server *server)
{
    while (server->registrations != NULL) {
        struct wb_registration *registration = server->registrations;
        server->registrations = registration->next;
        free_registration(registration);
    }
    void *progress;
    for (size_t cursor = 0; wb_map_next(&server->progress, &cursor, NULL, &progress);) {
        free_progress(progress);
    }
    wb_map_done(&server->progress);
}

/* Readiness, as the row says that this server tells it. */

static bool loading_locked(struct wb_server *server)
{
    switch (server->row->ready) {
    case WB_READY_AT_ONCE:
        return false;
    case WB_READY_PROGRESS:
        return server->progress.count > 0;
    case WB_READY_SERVER_STATUS:
        return !server->status_quiet || !server->status_seen_busy;
    case WB_READY_LANGUAGE_STATUS:
        return !server->service_ready;
    case WB_READY_LOG:
        return !server->log_ready && wb_clock_now_ms() < server->running_since_ms + LOG_MOST_MS;
    }
    return false;
}

/* A log may be switched off: such a server is believed when it is grown up. */
static int64_t loaded_by(const struct wb_server *server, int64_t deadline_ms)
{
    return server->row->ready == WB_READY_LOG
               ? WB_MIN(deadline_ms, server->running_since_ms + LOG_MOST_MS)
               : deadline_ms;
}

static void describe_loading(struct wb_server *server, struct wb_text *out)
{
    void *value;
    size_t cursor = 0;
    if (wb_map_next(&server->progress, &cursor, NULL, &value)) {
        const struct wb_progress *progress = value;
        wb_text_add_str(out, progress->title != NULL ? progress->title : "loading");
        if (progress->message.len > 0) {
            wb_text_printf(out, " %s", wb_text_cstr(&progress->message));
        }
        if (progress->percentage >= 0) {
            wb_text_printf(out, " (%d%%)", (int)WB_MIN(progress->percentage, 100));
        }
    } else {
        wb_text_add_str(out, server->status_text != NULL ? server->status_text : "loading");
    }
}

bool wb_server_loading(struct wb_server *server, struct wb_text *out)
{
    pthread_mutex_lock(&server->lock);
    bool loading = server->state <= WB_SERVER_RUNNING && loading_locked(server);
    if (loading && out != NULL) {
        describe_loading(server, out);
    }
    pthread_mutex_unlock(&server->lock);
    return loading;
}

static void wake(void *ctx)
{
    struct wb_server *server = ctx;
    pthread_mutex_lock(&server->lock);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* Waits on `changed` while the test holds. `lock` is held by this function only. */
static void wait_while(struct wb_server *server, bool (*test)(struct wb_server *server),
                       int64_t deadline_ms, struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wake, .ctx = server};
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&server->lock);
    while (server->state <= WB_SERVER_RUNNING && test(server) && !wb_cancel_is_fired(cancel) &&
           wb_cond_wait(&server->changed, &server->lock, deadline_ms)) {
    }
    pthread_mutex_unlock(&server->lock);
    wb_cancel_hook_remove(cancel, &hook);
}

static bool not_loading_locked(struct wb_server *server)
{
    return !loading_locked(server);
}

bool wb_server_wait_ready(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel)
{
    wait_while(server, loading_locked, loaded_by(server, deadline_ms), cancel);
    pthread_mutex_lock(&server->lock);
    bool ready = server->state <= WB_SERVER_RUNNING && !loading_locked(server);
    pthread_mutex_unlock(&server->lock);
    return ready;
}

/* A server without a word for its readiness is asked again while it is young. */
static bool pause_while_young(struct wb_server *server, int64_t grown_up_ms, int64_t deadline_ms)
{
    int64_t now = wb_clock_now_ms();
    if (now >= WB_MIN(grown_up_ms, deadline_ms)) {
        return false;
    }
    pthread_mutex_lock(&server->lock);
    bool alive = server->state <= WB_SERVER_RUNNING;
    int64_t until = WB_MIN(WB_MIN(grown_up_ms, deadline_ms), now + YOUNG_PAUSE_MS);
    while (alive && wb_cond_wait(&server->changed, &server->lock, until)) {
        alive = server->state <= WB_SERVER_RUNNING;
    }
    pthread_mutex_unlock(&server->lock);
    return alive;
}

bool wb_server_wait_settled(struct wb_server *server, int64_t young_ms, int64_t deadline_ms,
                            struct wb_cancel *cancel)
{
    pthread_mutex_lock(&server->lock);
    unsigned ended_before = server->progress_ended;
    int64_t grown_up = server->running_since_ms + young_ms;
    pthread_mutex_unlock(&server->lock);
    if (server->row->ready == WB_READY_AT_ONCE || server->row->ready == WB_READY_LOG) {
        return !wb_cancel_is_fired(cancel) && pause_while_young(server, grown_up, deadline_ms);
    }
    wait_while(server, not_loading_locked, WB_MIN(grown_up, deadline_ms), cancel);
    wait_while(server, loading_locked, loaded_by(server, deadline_ms), cancel);
    pthread_mutex_lock(&server->lock);
    bool happened = server->progress_ended != ended_before;
    pthread_mutex_unlock(&server->lock);
    return happened;
}
