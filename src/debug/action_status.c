/* action_status: which adapters there are, where the session stands, what was printed, and the end. */
#include "debug/actions.h"

#include "base/limits.h"

#define OUTPUT_SHOWN_BYTES (16 * WB_KIB)

int wb_debug_do_adapters(struct wb_debug *debug, struct wb_call *call,
                         const struct wb_debug_args *args, struct wb_result *result,
                         struct wb_error *err)
{
    struct wb_json_writer w;
    (void)args;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "adapters");
    if (wb_debug_survey_text(debug, call->arena, call->cancel, &result->text, &w, err) != 0) {
        wb_text_clear(&result->data);
        return -1;
    }
    wb_json_end_object(&w);
    return 0;
}

static int report_none(struct wb_result *result)
{
    struct wb_json_writer w;
    wb_text_add_str(&result->text,
                    "No debug session. `launch` starts a program, `attach` takes one "
                    "that runs; breakpoints may be set before.\n");
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "state", "none");
    wb_json_end_object(&w);
    return 0;
}

int wb_debug_do_status(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_args *args, struct wb_result *result,
                       struct wb_error *err)
{
    struct wb_debug_view view;
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_place_session(debug->place);
    (void)err;
    if (session == NULL) {
        return report_none(result);
    }
    (void)wb_debug_session_has_ended(session);
    int64_t deadline_ms = args->wait_seconds > 0 ? wb_debug_wait_deadline(debug, call, args)
                                                 : wb_call_deadline(call, 0);
    (void)wb_debug_session_wait(session, deadline_ms, call->cancel);
    wb_debug_session_view(session, call->arena, &view);
    wb_text_printf(&result->text, "%s, by %s", view.title, view.row->name);
    if (view.pid > 0 && view.state != WB_DEBUGGEE_ENDED) {
        wb_text_printf(&result->text, ", process %lld", (long long)view.pid);
    }
    if (view.state != WB_DEBUGGEE_ENDED) {
        wb_text_printf(&result->text, "; the session may last %lld more minutes",
                       (long long)(view.lifetime_left_ms + 59999) / 60000);
    }
    wb_text_add_char(&result->text, '\n');
    wb_debug_wait_and_report(debug, call, session, deadline_ms, true, result);
    return 0;
}

int wb_debug_do_output(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_args *args, struct wb_result *result,
                       struct wb_error *err)
{
    static const unsigned categories[] = {WB_DEBUG_STDOUT | WB_DEBUG_STDERR, WB_DEBUG_STDOUT,
                                          WB_DEBUG_STDERR, WB_DEBUG_CONSOLE};
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_json_writer w;
    uint64_t dropped;
    (void)call;
    if (session == NULL) {
        return -1;
    }
    uint64_t cursor = wb_debug_session_read_output(session, (uint64_t)args->since,
                                                   categories[args->category], &text, &dropped);
    struct wb_span shown = wb_text_span(&text);
    size_t cut = shown.len > OUTPUT_SHOWN_BYTES ? shown.len - OUTPUT_SHOWN_BYTES : 0;
    if (cut + dropped > 0) {
        wb_text_printf(&result->text, "[%llu bytes before are left out]\n",
                       (unsigned long long)(cut + dropped));
    }
    wb_text_add_utf8(&result->text, (struct wb_span){shown.ptr + cut, shown.len - cut});
    if (shown.len == 0) {
        wb_text_add_str(&result->text, "nothing was printed\n");
    }
    wb_debug_place_set_seen(debug->place, cursor);
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_span(&w, "output", shown);
    wb_json_member_int(&w, "cursor", (int64_t)cursor);
    wb_json_member_int(&w, "dropped_bytes", (int64_t)dropped);
    wb_json_end_object(&w);
    return 0;
}

int wb_debug_do_terminate(struct wb_debug *debug, struct wb_call *call,
                          const struct wb_debug_args *args, struct wb_result *result,
                          struct wb_error *err)
{
    struct wb_debug_view view;
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    (void)args;
    if (session == NULL) {
        return -1;
    }
    wb_debug_session_view(session, call->arena, &view);
    wb_debug_session_end(session,
                         view.is_ours ? "it was terminated" : "the program was let go and runs on");
    wb_debug_wait_and_report(debug, call, session, call->deadline_ms, true, result);
    return 0;
}
