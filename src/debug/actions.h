/* actions: the debug tool's operations, one function each; tool_debug.c has the table. */
#ifndef WB_DEBUG_ACTIONS_H
#define WB_DEBUG_ACTIONS_H

#include "debug/debug.h"
#include "debug/report.h"

enum wb_debug_operation {
    WB_DEBUG_ADAPTERS,
    WB_DEBUG_STATUS,
    WB_DEBUG_BREAKPOINTS,
    WB_DEBUG_LAUNCH,
    WB_DEBUG_ATTACH,
    WB_DEBUG_CONTINUE,
    WB_DEBUG_PAUSE,
    WB_DEBUG_STEP_OVER,
    WB_DEBUG_STEP_IN,
    WB_DEBUG_STEP_OUT,
    WB_DEBUG_THREADS,
    WB_DEBUG_STACK,
    WB_DEBUG_SCOPES,
    WB_DEBUG_VARIABLES,
    WB_DEBUG_EVALUATE,
    WB_DEBUG_OUTPUT,
    WB_DEBUG_TERMINATE,
};

enum wb_debug_mode { WB_DEBUG_MODE_PROGRAM, WB_DEBUG_MODE_MODULE, WB_DEBUG_MODE_TEST };

#define WB_DEBUG_NO_THREAD (-1)

struct wb_debug_args {
    int operation, mode, category; /* category: index into the choices */
    struct wb_span program, cwd, core, adapter, file, expression, name, value;
    struct wb_arg_list args, conditions, hit_counts, log_messages, functions,
        exceptions;           /* spans */
    struct wb_arg_list lines; /* int64_t */
    const struct wb_json *env;
    int64_t thread_id, frame_id, reference, start, line, port, pid, wait_seconds, since;
    bool stop_on_entry, restart;
};

/* Each fills the result, or returns -1 with a sentence. */
typedef int wb_debug_action_fn(struct wb_debug *debug, struct wb_call *call,
                               const struct wb_debug_args *args, struct wb_result *result,
                               struct wb_error *err);

wb_debug_action_fn wb_debug_do_adapters; /* action_status.c */
wb_debug_action_fn wb_debug_do_status;
wb_debug_action_fn wb_debug_do_output;
wb_debug_action_fn wb_debug_do_terminate;
wb_debug_action_fn wb_debug_do_breakpoints; /* action_breakpoints.c */
wb_debug_action_fn wb_debug_do_launch;      /* action_launch.c */
wb_debug_action_fn wb_debug_do_attach;
wb_debug_action_fn wb_debug_do_move; /* action_move.c: continue and the steps */
wb_debug_action_fn wb_debug_do_pause;
wb_debug_action_fn wb_debug_do_threads; /* action_inspect.c */
wb_debug_action_fn wb_debug_do_stack;
wb_debug_action_fn wb_debug_do_scopes;
wb_debug_action_fn wb_debug_do_variables;
wb_debug_action_fn wb_debug_do_evaluate;

/* What several of them need (action_common.c). */

/* The conversation's session; the caller unrefs. NULL with a sentence: none was started. */
struct wb_debug_session *wb_debug_need_session(struct wb_debug *debug, struct wb_error *err);
WB_DEFINE_AUTO(wb_debug_session_unref_p, struct wb_debug_session, wb_debug_session_unref);
/* Until when this call waits for a stop. */
int64_t wb_debug_wait_deadline(const struct wb_debug *debug, const struct wb_call *call,
                               const struct wb_debug_args *args);
/* Until when the adapter has time to answer a question of this call. */
int64_t wb_debug_answer_deadline(const struct wb_debug *debug, const struct wb_call *call);
struct wb_inspect wb_debug_inspect(const struct wb_debug *debug, struct wb_debug_session *session,
                                   struct wb_call *call);
/* NULL: not given. */
const int64_t *wb_debug_thread(const struct wb_debug_args *args);
/* A filter that the adapter does not have, or NULL; and those that it has, for the sentence. */
const char *wb_debug_unknown_filter(const struct wb_dap_capabilities *can,
                                    const char *const *filters);
void wb_debug_list_filters(const struct wb_dap_capabilities *can, struct wb_text *out);
/* Waits for a stop or the end, up to the deadline, and tells where the session stands. */
void wb_debug_wait_and_report(struct wb_debug *debug, struct wb_call *call,
                              struct wb_debug_session *session, int64_t deadline_ms, bool is_status,
                              struct wb_result *result);

#endif
