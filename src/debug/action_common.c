/* action_common: what several of the debug tool's operations need. */
#include "base/clock.h"
#include "debug/actions.h"

struct wb_debug_session *wb_debug_need_session(struct wb_debug *debug, struct wb_error *err)
{
    struct wb_debug_session *session = wb_debug_place_session(debug->place);
    if (session == NULL) {
        wb_error_set(err, WB_ERROR_NOT_FOUND,
                     "no debug session: `launch` starts a program, `attach` takes one that runs");
        return NULL;
    }
    (void)wb_debug_session_has_ended(session);
    return session;
}

int64_t wb_debug_wait_deadline(const struct wb_debug *debug, const struct wb_call *call,
                               const struct wb_debug_args *args)
{
    int64_t ms = args->wait_seconds >= 0 ? 1000 * args->wait_seconds : debug->wait_ms;
    return wb_call_deadline(call, ms);
}

int64_t wb_debug_answer_deadline(const struct wb_debug *debug, const struct wb_call *call)
{
    return wb_call_deadline(call, debug->answer_ms);
}

struct wb_inspect wb_debug_inspect(const struct wb_debug *debug, struct wb_debug_session *session,
                                   struct wb_call *call)
{
    return (struct wb_inspect){
        .session = session,
        .arena = call->arena,
        .deadline_ms = wb_debug_answer_deadline(debug, call),
        .cancel = call->cancel,
    };
}

const int64_t *wb_debug_thread(const struct wb_debug_args *args)
{
    return args->thread_id != WB_DEBUG_NO_THREAD ? &args->thread_id : NULL;
}

void wb_debug_wait_and_report(struct wb_debug *debug, struct wb_call *call,
                              struct wb_debug_session *session, int64_t deadline_ms, bool is_status,
                              struct wb_result *result)
{
    struct wb_debug_view view;
    struct wb_report report = {
        .workspace = debug->workspace,
        .points = wb_debug_place_points(debug->place),
        .since = wb_debug_place_seen(debug->place),
        .is_status = is_status,
    };
    (void)wb_debug_session_wait(session, deadline_ms, call->cancel);
    report.inspect = wb_debug_inspect(debug, session, call);
    wb_report_state(&report, result);
    wb_debug_session_view(session, call->arena, &view);
    wb_debug_place_set_seen(debug->place, view.output_end);
}

const char *wb_debug_unknown_filter(const struct wb_dap_capabilities *can,
                                    const char *const *filters)
{
    for (; *filters != NULL; filters++) {
        size_t i = 0;
        while (i < can->n_filters && !wb_str_equal(can->filters[i].id, *filters)) {
            i++;
        }
        if (i == can->n_filters) {
            return *filters;
        }
    }
    return NULL;
}

void wb_debug_list_filters(const struct wb_dap_capabilities *can, struct wb_text *out)
{
    for (size_t i = 0; i < can->n_filters; i++) {
        wb_text_printf(out, "%s%s (%s%s)", i > 0 ? ", " : "", can->filters[i].id,
                       can->filters[i].label, can->filters[i].is_default ? ", on by default" : "");
    }
}
