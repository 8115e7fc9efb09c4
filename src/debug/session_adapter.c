/* session_adapter: from a row to an adapter that has answered `initialize`: its process, and the
 * connection by which the two sides meet. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "debug/session_internal.h"
#include "sys/tcp.h"

#define LISTEN_MS 15000 /* until an adapter listens on its port */
#define DIRECT_MS 3000  /* until a port that should be open is */
#define EXIT_MS 1000    /* from the connection's end to the adapter's */
#define WORDS_SHOWN_BYTES 1500

/* How the adapter ended says more than that its connection did. */
static void tell_exit(struct wb_debug_session *session, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text end = {0};
    struct wb_child *child = atomic_load(&session->child);
    struct wb_child_status status;
    if (err->code == WB_ERROR_CLOSED && child != NULL &&
        wb_child_wait(child, wb_clock_deadline(EXIT_MS), NULL, &status)) {
        wb_child_describe(&status, &end);
        wb_error_set(err, WB_ERROR_CLOSED, "%s %s", session->adapter, wb_text_cstr(&end));
    }
}

/* The adapter's last words say more than its refusal: a compiler's output, a Traceback. */
int wb_session_explain(struct wb_debug_session *session, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text words = {0};
    tell_exit(session, err);
    pthread_mutex_lock(&session->lock);
    wb_debug_output_read(&session->debuggee.output, 0, WB_DEBUG_STDERR | WB_DEBUG_CONSOLE, &words);
    pthread_mutex_unlock(&session->lock);
    struct wb_child *child = atomic_load(&session->child);
    if (wb_span_trim(wb_text_span(&words)).len == 0 && child != NULL) {
        wb_child_stderr_tail(child, &words);
    }
    struct wb_span said = wb_span_trim(wb_text_span(&words));
    if (said.len > 0) {
        size_t shown = WB_MIN(said.len, (size_t)WORDS_SHOWN_BYTES);
        enum wb_error_code code = err->code;
        WB_AUTO(wb_free_p) char *message = wb_strdup(err->message);
        wb_error_set(err, code, "%s\n" WB_SPAN_FMT, message, (int)shown,
                     said.ptr + said.len - shown);
    }
    return -1;
}

static void on_stdout(void *ctx, const char *ptr, size_t len)
{
    struct wb_debug_session *session = ctx;
    if (session->row->transport == WB_ADAPTER_STDIO) {
        wb_link_feed(session->links[0], ptr, len);
    } else if (session->row->output_by_pipe) {
        wb_session_on_pipe(session, WB_DEBUG_STDOUT, (struct wb_span){ptr, len});
    }
}

static void on_stdout_end(void *ctx)
{
    struct wb_debug_session *session = ctx;
    if (session->row->transport == WB_ADAPTER_STDIO) {
        wb_link_on_end(session->links[0]);
    }
}

static void on_stderr(void *ctx, const char *ptr, size_t len)
{
    struct wb_debug_session *session = ctx;
    if (session->row->output_by_pipe) {
        wb_session_on_pipe(session, WB_DEBUG_STDERR, (struct wb_span){ptr, len});
    }
}

/* The row's variables; of an adapter that is the debuggee itself, those of the launch too. */
static const char *const *make_env(struct wb_arena *arena, const struct wb_adapter_row *row,
                                   const struct wb_json *launch_env)
{
    const struct wb_json *const sources[] = {row->env, row->is_debuggee ? launch_env : NULL};
    const char **env = NULL;
    size_t n = 0, capacity = 0;
    for (size_t i = 0; i < WB_COUNT(sources); i++) {
        for (struct wb_json_iter it = wb_json_iter(sources[i]); wb_json_next(&it);) {
            *WB_ARENA_PUSH(arena, env, n, capacity) =
                wb_arena_printf(arena, "%s=%s", it.key, wb_json_str_or(it.value, ""));
        }
    }
    *WB_ARENA_PUSH(arena, env, n, capacity) = NULL;
    return env;
}

static const char *const *make_argv(struct wb_arena *arena, const struct wb_debug_options *options,
                                    const char *const *command,
                                    const struct wb_template_values *values)
{
    const char *const *words = wb_template_words(arena, command, values);
    const char **argv = NULL;
    size_t n = 0, capacity = 0;
    for (size_t i = 0; words[i] != NULL; i++) {
        *WB_ARENA_PUSH(arena, argv, n, capacity) = words[i];
    }
    for (const char **word = options->request->words; *word != NULL; word++) {
        *WB_ARENA_PUSH(arena, argv, n, capacity) = *word;
    }
    *WB_ARENA_PUSH(arena, argv, n, capacity) = NULL;
    return argv;
}

static int spawn(struct wb_debug_session *session, const struct wb_debug_options *options,
                 const char *const *argv, struct wb_arena *arena, struct wb_error *err)
{
    const struct wb_child_options child_options = {
        .argv = argv,
        .env = make_env(arena, session->row, options->values->env),
        .cwd = session->row->is_debuggee ? options->values->cwd : options->root,
        .guard = wb_host_guard(session->host),
        .out = {on_stdout, on_stdout_end, session},
        .on_stderr = on_stderr,
        .ctx = session,
    };
    struct wb_child *child = wb_child_start(wb_host_loop(session->host), &child_options, err);
    if (child == NULL) {
        return -1;
    }
    atomic_store(&session->child, child);
    free(session->adapter);
    session->adapter = wb_strdup(argv[0]);
    return 0;
}

static bool has_ended(void *ctx)
{
    struct wb_debug_session *session = ctx;
    return wb_child_ended(atomic_load(&session->child));
}

/* The connection of the transports that need one. listener: of WB_ADAPTER_DIAL_IN. */
int wb_link_meet(struct wb_debug_link *link, int listener, int port, int64_t deadline_ms,
                 struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_debug_session *session = link->session;
    const struct wb_tcp_wait wait = {
        .deadline_ms = WB_MIN(deadline_ms, wb_clock_deadline(LISTEN_MS)),
        .cancel = cancel,
        .is_over = atomic_load(&session->child) != NULL ? has_ended : NULL,
        .ctx = session,
    };
    int fd = listener >= 0 ? wb_tcp_accept(listener, &wait, err) : wb_tcp_connect(port, &wait, err);
    if (fd < 0) {
        return -1;
    }
    wb_link_open_take(link, fd);
    return 0;
}

/* One candidate: its process, its connection, its answer to initialize. */
static int try_command(struct wb_debug_session *session, const struct wb_debug_options *options,
                       const char *const *command, int64_t deadline_ms, struct wb_cancel *cancel,
                       struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_template_values values = *options->values;
    int listener = -1, port = 0, status = 0;
    wb_arena_init(&arena);
    if (session->row->transport == WB_ADAPTER_DIAL_IN) {
        listener = wb_tcp_listen(&port, err);
        status = listener < 0 ? -1 : 0;
    } else if (session->row->transport == WB_ADAPTER_LISTEN) {
        port = session->port = wb_tcp_free_port(err);
        status = port < 0 ? -1 : 0;
    }
    values.port = port;
    struct wb_debug_link *link = wb_session_add_link(session);
    if (status == 0) {
        status = spawn(session, options, make_argv(&arena, options, command, &values), &arena, err);
    }
    if (status == 0 && session->row->transport != WB_ADAPTER_STDIO) {
        status = wb_link_meet(link, listener, port, deadline_ms, cancel, err);
    }
    if (listener >= 0) {
        close(listener);
    }
    return status == 0 ? wb_link_initialize(link, deadline_ms, cancel, err) : -1;
}

/* What a failed candidate left. Its words are kept in the error. */
static void clear_attempt(struct wb_debug_session *session, struct wb_error *err)
{
    struct wb_child *child = atomic_load(&session->child);
    wb_link_close_stream(session->links[0]);
    if (child != NULL) {
        wb_session_explain(session, err);
        atomic_store(&session->child, NULL);
        wb_child_free(child);
    }
    wb_session_drop_link(session);
}

int wb_session_start_adapter(struct wb_debug_session *session,
                             const struct wb_debug_options *options, int64_t deadline_ms,
                             struct wb_cancel *cancel, struct wb_error *err)
{
    wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s has no program to start", session->row->id);
    for (size_t i = 0; options->commands[i] != NULL; i++) {
        if (try_command(session, options, options->commands[i], deadline_ms, cancel, err) == 0) {
            return 0;
        }
        clear_attempt(session, err);
        if (wb_cancel_is_fired(cancel)) {
            return -1;
        }
        wb_log(WB_LOG_DEBUG, "%s: %s", options->commands[i][0], err->message);
    }
    return wb_error_context(err, "%s did not start", session->row->id);
}

int wb_session_connect(struct wb_debug_session *session, const struct wb_debug_options *options,
                       int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_debug_link *link = wb_session_add_link(session);
    int port = (int)options->direct_port;
    if (wb_link_meet(link, -1, port, WB_MIN(deadline_ms, wb_clock_deadline(DIRECT_MS)), cancel,
                     err) != 0) {
        return wb_error_set(err, err->code,
                            "nothing listens on 127.0.0.1:%d; start the program so that it does, "
                            "and check the port",
                            port);
    }
    if (wb_link_initialize(link, deadline_ms, cancel, err) != 0) {
        return wb_error_context(err, "what listens on port %d does not answer as %s", port,
                                session->row->id);
    }
    return 0;
}
