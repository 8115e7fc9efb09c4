/* server: process and requests. The handshake is in handshake.c, what the server sends in inbox.c,
 * its documents in document.c, its diagnostics in diagnose.c. Knows no tool. */
#include "lsp/server_internal.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define RETRIES_MAX 5        /* of ContentModified and ServerCancelled */
#define RETRY_PAUSE_MS 40    /* grows with each */
#define SHUTDOWN_MS 2000     /* for the answer to shutdown */
#define END_OF_INPUT_MS 1500 /* from end of stdin to SIGTERM */
#define OBITUARY_MS 1000     /* from a closed pipe to the end of the process */
#define TERMINATE_MS 1500    /* from SIGTERM to SIGKILL */

static int write_message(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    struct wb_server *server = ctx;
    struct wb_child *child = atomic_load(&server->writable);
    if (child == NULL) {
        return wb_error_set(err, WB_ERROR_CLOSED, "%s has not started yet", server->row->id);
    }
    return wb_child_write(child, spans, n, err);
}

static void on_data(void *ctx, const char *ptr, size_t len)
{
    struct wb_server *server = ctx;
    wb_peer_feed(server->peer, ptr, len);
}

/* A server without its output is of no use. One that is about to exit does so undisturbed. */
static void on_output_end(void *ctx)
{
    struct wb_server *server = ctx;
    pthread_mutex_lock(&server->lock);
    bool stopping = server->state == WB_SERVER_STOPPING;
    pthread_mutex_unlock(&server->lock);
    struct wb_child *child = atomic_load(&server->writable);
    if (!stopping && child != NULL) {
        wb_child_signal(child, SIGKILL, true);
    }
}

static char *describe_end(struct wb_server *server, const struct wb_child_status *status)
{
    struct wb_text text;
    wb_text_init(&text);
    wb_text_printf(&text, "%s ", server->row->id);
    wb_child_describe(status, &text);
    struct wb_child *child = atomic_load(&server->writable);
    struct wb_text tail;
    wb_text_init(&tail);
    if (child != NULL) {
        wb_child_stderr_tail(child, &tail);
    }
    struct wb_span last = wb_span_trim(wb_text_span(&tail));
    size_t shown = WB_MIN(last.len, (size_t)600);
    if (shown > 0) {
        wb_text_add_str(&text, "; its last words: ");
        wb_text_add_utf8(&text, (struct wb_span){last.ptr + last.len - shown, shown});
    }
    wb_text_done(&tail);
    return wb_text_steal(&text);
}

static void set_state(struct wb_server *server, enum wb_server_state state)
{
    static const char *const names[] = {"starting", "running", "stopping", "ended"};
    assert(state >= server->state);
    wb_log(WB_LOG_DEBUG, "%s in %s: %s -> %s", server->row->id, server->root, names[server->state],
           names[state]);
    server->state = state;
    pthread_cond_broadcast(&server->changed);
}

static void on_process_exit(void *ctx, const struct wb_child_status *status)
{
    struct wb_server *server = ctx;
    char *obituary = describe_end(server, status);
    /* Ended first: who is woken by the close must not find it alive. */
    pthread_mutex_lock(&server->lock);
    server->status = *status;
    server->obituary = obituary;
    set_state(server, WB_SERVER_ENDED);
    pthread_mutex_unlock(&server->lock);
    wb_peer_close(server->peer, obituary);
}

static struct wb_peer *make_peer(struct wb_server *server)
{
    return wb_peer_new(&(struct wb_peer_options){
        .framing = WB_FRAMING_HEADERS,
        .write = write_message,
        .on_request = wb_server_on_request,
        .on_notification = wb_server_on_notification,
        .cancel_method = "$/cancelRequest",
        .cancel_key = "id",
        .ctx = server,
    });
}

static struct wb_server *make_server(const struct wb_server_options *options)
{
    struct wb_server *server = wb_alloc(sizeof(*server));
    atomic_init(&server->refs, 1);
    server->host = options->host;
    server->row = options->row;
    server->root = wb_strdup(options->root);
    server->workspace = wb_strdup(options->workspace);
    server->info = wb_strdup(options->row->id);
    wb_arena_init(&server->arena);
    pthread_mutex_init(&server->sync, NULL);
    pthread_mutex_init(&server->lock, NULL);
    wb_cond_init(&server->changed);
    wb_map_init(&server->documents);
    wb_map_init(&server->news);
    wb_map_init(&server->progress);
    server->last_used_ms = wb_clock_now_ms();
    server->peer = make_peer(server);
    return server;
}

static void free_server(struct wb_server *server)
{
    if (server->child != NULL) {
        wb_server_stop(server);
    }
    wb_child_free(server->child);
    wb_peer_close(server->peer, "stopped");
    wb_peer_free(server->peer);
    wb_server_documents_done(server);
    wb_server_news_done(server);
    wb_server_inbox_done(server);
    wb_arena_done(&server->arena);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    pthread_mutex_destroy(&server->sync);
    free(server->status_text);
    free(server->obituary);
    free(server->info);
    free(server->workspace);
    free(server->root);
    free(server);
}

/* The row's environment as NAME=value. */
static const char *const *environment(struct wb_arena *arena, const struct wb_json *env)
{
    const char **list = wb_arena_alloc_array(arena, wb_json_count(env) + 1, sizeof(*list));
    size_t n = 0;
    for (struct wb_json_iter it = wb_json_iter(env); wb_json_next(&it);) {
        list[n++] = wb_arena_printf(arena, "%s=%s", it.key, wb_json_str_or(it.value, ""));
    }
    return list;
}

static int start_child(struct wb_server *server, const struct wb_server_options *options,
                       struct wb_error *err)
{
    struct wb_child_options child = {
        .argv = options->command,
        .env = environment(&server->arena, server->row->env),
        .cwd = server->root,
        .prefix = options->prefix,
        .memory_bytes = server->row->memory_bytes,
        .guard = wb_host_guard(options->host),
        .out = {.on_data = on_data, .on_end = on_output_end, .ctx = server},
        .on_exit = on_process_exit,
        .ctx = server,
    };
    server->child = wb_child_start(wb_host_loop(options->host), &child, err);
    if (server->child == NULL) {
        return -1;
    }
    atomic_store(&server->writable, server->child);
    return 0;
}

struct wb_server *wb_server_start(const struct wb_server_options *options, int64_t deadline_ms,
                                  struct wb_error *err)
{
    struct wb_server *server = make_server(options);
    if (start_child(server, options, err) < 0 ||
        wb_server_shake_hands(server, deadline_ms, options->cancel, err) < 0) {
        wb_server_unref(server);
        return NULL;
    }
    pthread_mutex_lock(&server->lock);
    server->running_since_ms = wb_clock_now_ms();
    if (server->state == WB_SERVER_STARTING) {
        set_state(server, WB_SERVER_RUNNING);
    }
    pthread_mutex_unlock(&server->lock);
    return server;
}

struct wb_server *wb_server_ref(struct wb_server *server)
{
    atomic_fetch_add(&server->refs, 1);
    return server;
}

void wb_server_unref(struct wb_server *server)
{
    if (server != NULL && atomic_fetch_sub(&server->refs, 1) == 1) {
        free_server(server);
    }
}

/* The polite part of the ladder. A server that never finished its handshake is not asked. */
static void say_goodbye(struct wb_server *server)
{
    struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_peer_answer answer;
    int64_t deadline = wb_clock_deadline(SHUTDOWN_MS);
    struct wb_span none = {0};
    if (wb_peer_call(server->peer, "shutdown", none, deadline, NULL, &arena, &answer, NULL) == 0) {
        (void)wb_peer_notify(server->peer, "exit", none, NULL); /* it may have gone already */
    }
    wb_arena_done(&arena);
}

void wb_server_stop(struct wb_server *server)
{
    pthread_mutex_lock(&server->lock);
    enum wb_server_state before = server->state;
    if (before < WB_SERVER_STOPPING) {
        set_state(server, WB_SERVER_STOPPING);
    }
    pthread_mutex_unlock(&server->lock);
    if (before == WB_SERVER_RUNNING) {
        say_goodbye(server);
    }
    if (!wb_child_stop(server->child, before == WB_SERVER_RUNNING ? END_OF_INPUT_MS : 0,
                       TERMINATE_MS)) {
        wb_log(WB_LOG_WARNING, "%s in %s could not be stopped", server->row->id, server->root);
    }
}

const struct wb_server_row *wb_server_row(const struct wb_server *server)
{
    return server->row;
}

const char *wb_server_root(const struct wb_server *server)
{
    return server->root;
}

const char *wb_server_info(const struct wb_server *server)
{
    return server->info;
}

enum wb_position_encoding wb_server_encoding(const struct wb_server *server)
{
    return server->encoding;
}

int wb_server_pid(const struct wb_server *server)
{
    return wb_child_pid(server->child);
}

bool wb_server_alive(struct wb_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool alive = server->state <= WB_SERVER_RUNNING;
    pthread_mutex_unlock(&server->lock);
    return alive;
}

void wb_server_obituary(struct wb_server *server, struct wb_text *out)
{
    pthread_mutex_lock(&server->lock);
    if (server->obituary != NULL) {
        wb_text_add_str(out, server->obituary);
    } else if (server->state == WB_SERVER_STOPPING) {
        wb_text_printf(out, "%s is being stopped", server->row->id);
    } else {
        wb_text_printf(out, "%s is running", server->row->id);
    }
    pthread_mutex_unlock(&server->lock);
}

int64_t wb_server_last_used_ms(struct wb_server *server)
{
    pthread_mutex_lock(&server->lock);
    int64_t last = server->last_used_ms;
    pthread_mutex_unlock(&server->lock);
    return last;
}

size_t wb_server_pending(struct wb_server *server)
{
    return wb_peer_pending_count(server->peer);
}

static const struct wb_registration *find_registration(const struct wb_server *server,
                                                       const char *method)
{
    const struct wb_registration *it = server->registrations;
    while (it != NULL && !wb_str_equal(it->method, method)) {
        it = it->next;
    }
    return it;
}

bool wb_server_offers_locked(const struct wb_server *server, const char *provider,
                             const char *method)
{
    const struct wb_json *value = wb_json_path(server->capabilities, provider);
    if (wb_json_type(value) == WB_JSON_BOOL ? wb_json_bool(value, false)
                                            : !wb_json_is_null(value)) {
        return true;
    }
    return find_registration(server, method) != NULL;
}

bool wb_server_offers(struct wb_server *server, const char *provider, const char *method)
{
    pthread_mutex_lock(&server->lock);
    bool offered = wb_server_offers_locked(server, provider, method);
    pthread_mutex_unlock(&server->lock);
    return offered;
}

const struct wb_json *wb_server_capability(struct wb_server *server, const char *dotted)
{
    return wb_json_path(server->capabilities, dotted);
}

void wb_server_notify(struct wb_server *server, const char *method, struct wb_span params)
{
    struct wb_error err;
    if (wb_peer_notify(server->peer, method, params, &err) < 0) {
        wb_log(WB_LOG_DEBUG, "%s: %s not sent: %s", server->row->id, method, err.message);
    }
}

static void touch(struct wb_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->last_used_ms = wb_clock_now_ms();
    pthread_mutex_unlock(&server->lock);
}

static void pause_for(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static bool means_ask_again(const struct wb_peer_answer *answer)
{
    return answer->failed &&
           (answer->error_code == WB_RPC_CONTENT_MODIFIED ||
            (answer->error_code == WB_RPC_SERVER_CANCELLED &&
             wb_json_bool(wb_json_get(answer->error_data, "retriggerRequest"), true)));
}

static int answer_error(struct wb_server *server, const char *method,
                        const struct wb_peer_answer *answer, struct wb_error *err)
{
    bool absent = answer->error_code == WB_RPC_METHOD_NOT_FOUND;
    return wb_error_set(err, absent ? WB_ERROR_UNAVAILABLE : WB_ERROR_PROTOCOL,
                        absent ? "%s does not offer %s (%s)" : "%s refused %s: %s", server->row->id,
                        method, answer->error_message);
}

/* A pipe closes a moment before the process is known to be gone; its end is the better sentence. */
void wb_server_explain_closed(struct wb_server *server, struct wb_error *err)
{
    int64_t deadline = wb_clock_deadline(OBITUARY_MS);
    pthread_mutex_lock(&server->lock);
    while (server->state < WB_SERVER_ENDED &&
           wb_cond_wait(&server->changed, &server->lock, deadline)) {
    }
    if (server->obituary != NULL) {
        wb_error_set(err, WB_ERROR_CLOSED, "%s", server->obituary);
    }
    pthread_mutex_unlock(&server->lock);
}

int wb_server_request(struct wb_server *server, const char *method, struct wb_span params,
                      int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                      const struct wb_json **ret, struct wb_error *err)
{
    touch(server);
    struct wb_peer_answer answer;
    for (int attempt = 0;; attempt++) {
        if (wb_peer_call(server->peer, method, params, deadline_ms, cancel, arena, &answer, err) <
            0) {
            if (err != NULL && err->code == WB_ERROR_CLOSED) {
                wb_server_explain_closed(server, err);
            }
            bool named = err != NULL && wb_str_starts(err->message, server->row->id);
            return named ? -1 : wb_error_context(err, "%s", server->row->id);
        }
        if (!means_ask_again(&answer) || attempt == RETRIES_MAX) {
            break;
        }
        pause_for(RETRY_PAUSE_MS * (attempt + 1));
    }
    if (answer.failed) {
        return answer_error(server, method, &answer, err);
    }
    *ret = answer.result;
    return 0;
}

void wb_server_set_edit_taker(struct wb_server *server, const struct wb_edit_taker *taker)
{
    pthread_mutex_lock(&server->lock);
    server->edit_taker = taker;
    pthread_mutex_unlock(&server->lock);
}
