/* action_move: continue, the steps, pause. Each waits for the stop, a while, and tells where it is. */
#include <stdlib.h>

#include "debug/actions.h"

static const char *command_of(int operation)
{
    switch (operation) {
    case WB_DEBUG_STEP_OVER:
        return "next";
    case WB_DEBUG_STEP_IN:
        return "stepIn";
    case WB_DEBUG_STEP_OUT:
        return "stepOut";
    default:
        return "continue";
    }
}

static int send_file(struct wb_debug *debug, struct wb_debug_session *session, struct wb_call *call,
                     const char *path, struct wb_error *err)
{
    return wb_debug_session_send_breakpoints(session, path, wb_debug_answer_deadline(debug, call),
                                             call->cancel, err);
}

/* Run to a line: a breakpoint that is there for this move only. */
static int add_target(struct wb_debug *debug, struct wb_call *call,
                      const struct wb_debug_args *args, struct wb_debug_session *session,
                      struct wb_error *err)
{
    struct wb_debug_points *points = wb_debug_place_points(debug->place);
    if ((args->file.ptr != NULL) != (args->line > 0)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "to run to a line, `continue` needs both `file` and `line`");
    }
    if (args->file.ptr == NULL) {
        return 0;
    }
    const char *path = wb_call_path(call, args->file, err);
    if (path == NULL) {
        return -1;
    }
    pthread_mutex_lock(&points->lock);
    bool added = wb_breakpoints_add_temporary(&points->table, path, args->line);
    pthread_mutex_unlock(&points->lock);
    return added ? send_file(debug, session, call, path, err) : 0;
}

static void remove_target(struct wb_debug *debug, struct wb_call *call,
                          struct wb_debug_session *session)
{
    struct wb_debug_points *points = wb_debug_place_points(debug->place);
    pthread_mutex_lock(&points->lock);
    WB_AUTO(wb_free_p) char *path = wb_breakpoints_remove_temporary(&points->table);
    pthread_mutex_unlock(&points->lock);
    if (path != NULL) {
        (void)!send_file(debug, session, call, path, NULL);
    }
}

int wb_debug_do_move(struct wb_debug *debug, struct wb_call *call, const struct wb_debug_args *args,
                     struct wb_result *result, struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    if (session == NULL) {
        return -1;
    }
    int64_t deadline_ms = wb_debug_wait_deadline(debug, call, args);
    if (add_target(debug, call, args, session, err) != 0 ||
        wb_debug_session_move(session, command_of(args->operation), wb_debug_thread(args),
                              wb_debug_answer_deadline(debug, call), call->cancel, err) != 0) {
        remove_target(debug, call, session);
        return -1;
    }
    (void)wb_debug_session_wait(session, deadline_ms, call->cancel);
    remove_target(debug, call, session);
    wb_debug_wait_and_report(debug, call, session, deadline_ms, false, result);
    return 0;
}

int wb_debug_do_pause(struct wb_debug *debug, struct wb_call *call,
                      const struct wb_debug_args *args, struct wb_result *result,
                      struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    if (session == NULL ||
        wb_debug_session_pause(session, wb_debug_thread(args),
                               wb_debug_answer_deadline(debug, call), call->cancel, err) != 0) {
        return -1;
    }
    wb_debug_wait_and_report(debug, call, session, wb_debug_wait_deadline(debug, call, args), false,
                             result);
    return 0;
}
