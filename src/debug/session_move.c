/* session_move: continue, steps, pause; and the handles of a stop, which die with the next move. */
#include "base/clock.h"
#include "debug/session_internal.h"

#define PAUSE_AGAIN_MS 400 /* without a stop */
#define THREAD_AGAIN_MS 20 /* until a thread is named */
#define PAUSES_MAX 2       /* after the first */

/* --- moving --- */

static int not_stopped(const struct wb_debug_session *session, struct wb_error *err)
{
    if (session->debuggee.state == WB_DEBUGGEE_ENDED) {
        return wb_error_set(err, WB_ERROR_CLOSED, "the session has ended: %s",
                            session->debuggee.end_reason);
    }
    return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                        "the program is %s; `pause` stops it, `status` with wait_seconds waits for "
                        "its next stop",
                        wb_debuggee_state_name(session->debuggee.state));
}

int wb_debug_session_move(struct wb_debug_session *session, const char *command,
                          const int64_t *thread, int64_t deadline_ms, struct wb_cancel *cancel,
                          struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    const struct wb_json *body;
    wb_arena_init(&arena);
    if (session->is_post_mortem) { /* lldb-dap 19 says yes to it, and never stops again */
        return wb_error_set(err, WB_ERROR_INVALID,
                            "this is a core file: it can be looked at (stack, scopes, variables, "
                            "evaluate), and does not run");
    }
    pthread_mutex_lock(&session->lock);
    if (session->debuggee.state != WB_DEBUGGEE_STOPPED) {
        int status = not_stopped(session, err);
        pthread_mutex_unlock(&session->lock);
        return status;
    }
    int64_t thread_id = thread != NULL ? *thread : session->debuggee.stop.thread_id;
    unsigned link = session->debuggee.stop.link;
    /* Running before it is sent: the stop may come before the answer. */
    uint64_t move = wb_debuggee_move(&session->debuggee);
    session->n_moving++;
    pthread_mutex_unlock(&session->lock);
    wb_text_printf(&arguments, "{\"threadId\":%lld}", (long long)thread_id);
    struct wb_error own;
    int status = wb_debug_session_ask(session, link, command, wb_text_span(&arguments), deadline_ms,
                                      cancel, &arena, &body, &own);
    wb_session_moved(session);
    if (status == 0) {
        return 0;
    }
    pthread_mutex_lock(&session->lock);
    /* No answer is no refusal: the program may run, be gone, or have stopped already. */
    bool refused = own.code == WB_ERROR_UNAVAILABLE;
    if (refused) {
        wb_debuggee_unmove(&session->debuggee, move);
    }
    bool ended = session->state >= WB_SESSION_ENDING || session->debuggee.terminated;
    bool moved = own.code == WB_ERROR_TIMEOUT && wb_session_is_at_rest(session);
    pthread_mutex_unlock(&session->lock);
    return ended || moved || own.code == WB_ERROR_CLOSED
               ? 0
               : wb_error_set(err, own.code, "%s", own.message);
}

void wb_session_moved(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->n_moving--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

/* A pause that overtakes a continue finds the program stopped, changes nothing, and is lost. */
static void wait_moved(struct wb_debug_session *session, int64_t deadline_ms)
{
    bool in_time = true;
    pthread_mutex_lock(&session->lock);
    while (session->n_moving > 0 && in_time) {
        in_time = wb_cond_wait(&session->changed, &session->lock, deadline_ms);
    }
    pthread_mutex_unlock(&session->lock);
}

/* A thread to pause: of the last stop, else the first that there is. */
static int find_thread(struct wb_debug_session *session, int64_t deadline_ms,
                       struct wb_cancel *cancel, unsigned *ret_link, int64_t *ret,
                       struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    const struct wb_json *body;
    wb_arena_init(&arena);
    *ret_link = wb_debug_session_link(session);
    pthread_mutex_lock(&session->lock);
    bool known = session->debuggee.stop.has_thread && session->debuggee.stop.epoch > 0;
    *ret = session->debuggee.stop.thread_id;
    pthread_mutex_unlock(&session->lock);
    if (known) {
        return 0;
    }
    /* The program of a child session is there a moment after the launch was answered. */
    do {
        *ret_link = wb_debug_session_link(session);
        if (wb_debug_session_ask(session, *ret_link, "threads", WB_SPAN("{}"), deadline_ms, cancel,
                                 &arena, &body, err) != 0) {
            return -1;
        }
        if (wb_json_int(wb_json_get(wb_json_at(wb_json_get(body, "threads"), 0), "id"), ret)) {
            return 0;
        }
    } while (session->row->child_sessions && wb_clock_now_ms() < deadline_ms &&
             !wb_debug_session_wait(session, wb_clock_deadline(THREAD_AGAIN_MS), cancel) &&
             !wb_cancel_is_fired(cancel));
    return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s names no thread to pause", session->row->id);
}

int wb_debug_session_pause(struct wb_debug_session *session, const int64_t *thread,
                           int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    const struct wb_json *body;
    wb_arena_init(&arena);
    pthread_mutex_lock(&session->lock);
    bool rests = wb_session_is_at_rest(session),
         starts = session->debuggee.state == WB_DEBUGGEE_STARTING;
    session->debuggee.pausing = !rests && !starts;
    pthread_mutex_unlock(&session->lock);
    if (rests) {
        return 0; /* many adapters say yes then, and send no stop to wait for */
    }
    if (starts) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "the program is starting; `terminate` gives it up");
    }
    wait_moved(session, deadline_ms);
    unsigned link = wb_debug_session_link(session);
    int64_t thread_id = thread != NULL ? *thread : 0;
    if (thread == NULL && find_thread(session, deadline_ms, cancel, &link, &thread_id, err) != 0) {
        return -1;
    }
    wb_text_printf(&arguments, "{\"threadId\":%lld}", (long long)thread_id);
    int status = wb_debug_session_ask(session, link, "pause", wb_text_span(&arguments), deadline_ms,
                                      cancel, &arena, &body, err);
    /* lldb-dap answers a continue before the program runs, and a pause in between does nothing. */
    for (int i = 0; i < PAUSES_MAX && status == 0 && !wb_cancel_is_fired(cancel); i++) {
        if (wb_debug_session_wait(session, wb_clock_deadline(PAUSE_AGAIN_MS), cancel)) {
            break;
        }
        (void)!wb_debug_session_ask(session, link, "pause", wb_text_span(&arguments), deadline_ms,
                                    cancel, &arena, &body, NULL);
    }
    /* The stop says more than the answer. */
    return status == 0 || wb_debug_session_wait(session, wb_clock_now_ms(), cancel) ? 0 : -1;
}

/* --- handles --- */

int64_t wb_debug_session_add_handle(struct wb_debug_session *session, uint64_t epoch,
                                    const struct wb_handle *handle)
{
    pthread_mutex_lock(&session->lock);
    bool is_current = session->debuggee.stop.epoch == epoch;
    int64_t id = is_current ? wb_handles_add(&session->handles, handle) : 0;
    pthread_mutex_unlock(&session->lock);
    return id;
}

int wb_debug_session_find_handle(struct wb_debug_session *session, int64_t id, bool is_frame,
                                 struct wb_arena *arena, struct wb_handle *ret, uint64_t *ret_epoch,
                                 struct wb_error *err)
{
    int status = 0;
    pthread_mutex_lock(&session->lock);
    if (session->debuggee.state != WB_DEBUGGEE_STOPPED) {
        status = not_stopped(session, err);
    } else {
        const struct wb_handle *found = wb_handles_find(&session->handles, id, is_frame, err);
        status = found != NULL ? 0 : -1;
        if (found != NULL) {
            *ret = *found;
            ret->name = found->name != NULL ? wb_arena_strdup(arena, found->name) : NULL;
            *ret_epoch = session->debuggee.stop.epoch;
        }
    }
    pthread_mutex_unlock(&session->lock);
    return status;
}

int64_t wb_debug_session_note_scopes(struct wb_debug_session *session, int64_t frame)
{
    pthread_mutex_lock(&session->lock);
    int64_t before = session->scoped_frame;
    session->scoped_frame = frame;
    pthread_mutex_unlock(&session->lock);
    return before;
}
