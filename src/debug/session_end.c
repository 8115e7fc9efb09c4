/* session_end: the ladder by which a session ends, whoever ends it: the agent, the program, the lifetime,
 * the run, the host. Nothing is left at its end. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "debug/scratch.h"
#include "debug/session_internal.h"

#define DISCONNECT_MS 3000     /* for the answer to disconnect */
#define DISCONNECT_OVER_MS 700 /* where the adapter has said that all is over */
#define END_OF_INPUT_MS 2500   /* from the connection's end to SIGTERM, ... */
#define END_ANSWERED_MS 600    /* ... where the adapter has let the program go already */
#define TERMINATE_MS 1000      /* from SIGTERM to SIGKILL */

static void write_disconnect(struct wb_debug_session *session, struct wb_text *out)
{
    wb_text_add_str(out, "{\"restart\":false");
    if (session->links[0]->capabilities.terminate_debuggee || session->is_ours) {
        wb_text_printf(out, ",\"terminateDebuggee\":%s", session->is_ours ? "true" : "false");
    }
    wb_text_add_char(out, '}');
}

static bool say_goodbye(struct wb_debug_link *link, struct wb_span arguments, int64_t ms)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_dap_answer answer;
    wb_arena_init(&arena);
    return wb_dap_call(link->dap, "disconnect", arguments, wb_clock_deadline(ms), NULL, &arena,
                       &answer, NULL) == 0;
}

/* The adapter's own way out; child sessions first. True: it answered, and need not be waited for long
 * any more. One that told its end may still answer, and some tell the exit code only then. */
static bool disconnect(struct wb_debug_session *session)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    pthread_mutex_lock(&session->lock);
    bool can = session->n_links > 0 && session->links[0]->launched;
    /* js-debug does not answer on the first connection when its child sessions were let go. */
    bool has_children = session->n_links > 1;
    bool is_short = session->debuggee.terminated || has_children;
    int64_t ms = is_short ? DISCONNECT_OVER_MS : DISCONNECT_MS;
    if (can) {
        write_disconnect(session, &arguments);
    }
    pthread_mutex_unlock(&session->lock);
    for (unsigned i = session->n_links; can && i-- > 1;) {
        if (!session->links[i]->gone) {
            (void)!say_goodbye(session->links[i], wb_text_span(&arguments), DISCONNECT_OVER_MS);
        }
    }
    return can && (say_goodbye(session->links[0], wb_text_span(&arguments), ms) || has_children);
}

/* The end of our side of every connection. What the adapter still says is read until it goes. */
static void hang_up(struct wb_debug_session *session)
{
    for (unsigned i = session->n_links; i-- > 0;) {
        struct wb_debug_link *link = session->links[i];
        pthread_mutex_lock(&link->lock);
        if (link->stream != NULL) {
            wb_stream_close_write(link->stream);
        }
        pthread_mutex_unlock(&link->lock);
    }
}

/* Why it ended, where nobody ended it. */
static char *find_reason(struct wb_debug_session *session, struct wb_child *child)
{
    struct wb_child_status status;
    bool told = session->debuggee.terminated || session->debuggee.has_exit_code;
    bool has_status = child != NULL && wb_child_wait(child, wb_clock_now_ms(), NULL, &status);
    if (session->row->is_debuggee && has_status && status.exited && session->is_ours) {
        session->debuggee.has_exit_code = told = true;
        session->debuggee.exit_code = status.exit_code;
    }
    if (told) {
        return wb_strdup("the program ended");
    }
    if (session->broken != NULL) {
        return wb_sprintf("its adapter %s broke the protocol: %s", session->row->id,
                          session->broken);
    }
    if (!has_status) {
        return wb_sprintf("%s closed the connection", session->row->id);
    }
    WB_AUTO(wb_text_done) struct wb_text text = {0}, tail = {0};
    wb_text_printf(&text, "its adapter %s ", session->row->id);
    wb_child_describe(&status, &text);
    wb_child_stderr_tail(child, &tail);
    struct wb_span words = wb_span_trim(wb_text_span(&tail));
    size_t shown = WB_MIN(words.len, (size_t)600);
    if (shown > 0) {
        wb_text_add_str(&text, "; its last words: ");
        wb_text_add_utf8(&text, (struct wb_span){words.ptr + words.len - shown, shown});
    }
    return wb_text_steal(&text);
}

/* disconnect, end of the connection, SIGTERM, SIGKILL to the tree, and the look that nothing is left
 * (wb_child_stop). */
static void tear_down(struct wb_debug_session *session)
{
    struct wb_child *child = atomic_load(&session->child);
    int64_t end_ms = disconnect(session) ? END_ANSWERED_MS : END_OF_INPUT_MS;
    hang_up(session);
    if (child != NULL && !wb_child_stop(child, end_ms, TERMINATE_MS)) {
        wb_log(WB_LOG_WARNING, "something of the debug session of %s survives", session->title);
    }
    for (unsigned i = session->n_links; i-- > 0;) {
        wb_link_close_stream(session->links[i]);
        wb_dap_close(session->links[i]->dap, "the session is over");
    }
    wb_debug_scratch_remove(session->scratch);
}

/* True: the caller is the one who ends it. */
static bool begin_end(struct wb_debug_session *session, const char *why)
{
    pthread_mutex_lock(&session->lock);
    bool is_first = session->state < WB_SESSION_ENDING;
    if (is_first) {
        session->end_why = why != NULL ? wb_strdup(why) : NULL;
        wb_session_set_state(session, WB_SESSION_ENDING);
    }
    pthread_mutex_unlock(&session->lock);
    if (is_first) {
        wb_cancel_fire(&session->start_cancel);
        pthread_mutex_lock(&session->lock);
        pthread_cond_broadcast(&session->changed);
        while (!session->start_is_over) {
            wb_cond_wait(&session->changed, &session->lock, WB_NEVER);
        }
        pthread_mutex_unlock(&session->lock);
    }
    return is_first;
}

static void forget_answers(struct wb_debug_points *points)
{
    pthread_mutex_lock(&points->lock);
    free(wb_breakpoints_remove_temporary(&points->table));
    pthread_mutex_unlock(&points->lock);
}

void wb_debug_session_end(struct wb_debug_session *session, const char *why)
{
    if (begin_end(session, why)) {
        wb_timer_stop(WB_STEAL(session->timer));
        tear_down(session);
        forget_answers(session->points);
        pthread_mutex_lock(&session->lock);
        while (session->n_busy > 0) {
            wb_cond_wait(&session->changed, &session->lock, WB_NEVER);
        }
        WB_AUTO(wb_free_p)
        char *reason = session->end_why != NULL
                           ? wb_strdup(session->end_why)
                           : find_reason(session, atomic_load(&session->child));
        wb_debuggee_end(&session->debuggee, reason);
        wb_session_set_state(session, WB_SESSION_OVER);
        pthread_mutex_unlock(&session->lock);
        return;
    }
    pthread_mutex_lock(&session->lock);
    while (session->state != WB_SESSION_OVER) {
        wb_cond_wait(&session->changed, &session->lock, WB_NEVER);
    }
    pthread_mutex_unlock(&session->lock);
}

bool wb_debug_session_is_over(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool is_over = session->state == WB_SESSION_OVER;
    pthread_mutex_unlock(&session->lock);
    return is_over;
}
