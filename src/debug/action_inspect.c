/* action_inspect: threads, stack, scopes, variables, evaluate: as lines for the model, and as the
 * shapes of contract section 12. */
#include "debug/actions.h"

#include "sys/path.h"

#define EVALUATED_SHOWN_CHARACTERS 4000

int wb_debug_do_threads(struct wb_debug *debug, struct wb_call *call,
                        const struct wb_debug_args *args, struct wb_result *result,
                        struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    struct wb_thread_item *items;
    struct wb_json_writer w;
    size_t n;
    (void)args;
    if (session == NULL) {
        return -1;
    }
    struct wb_inspect inspect = wb_debug_inspect(debug, session, call);
    if (wb_inspect_threads(&inspect, &items, &n, err) != 0) {
        return -1;
    }
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "threads");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        wb_text_printf(&result->text, "thread_id %lld: %s\n", (long long)items[i].thread_id,
                       items[i].name);
        wb_json_begin_object(&w);
        wb_json_member_int(&w, "thread_id", items[i].thread_id);
        wb_json_member_str(&w, "name", items[i].name);
        wb_json_end_object(&w);
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    return 0;
}

static void put_frame(const struct wb_debug *debug, const struct wb_frame_item *it,
                      struct wb_json_writer *w, struct wb_text *out)
{
    const char *path = it->path != NULL ? wb_path_relative(it->path, debug->workspace) : NULL;
    wb_text_printf(out, "frame_id %lld: %s", (long long)it->frame_id, it->name);
    if (path != NULL) {
        wb_text_printf(out, " at %s:%lld", path, (long long)it->line);
    }
    wb_text_add_str(out, it->is_subtle ? " [runtime]\n" : "\n");
    wb_json_begin_object(w);
    wb_json_member_int(w, "frame_id", it->frame_id);
    wb_json_member_str(w, "name", it->name);
    wb_json_member_str(w, "path", path);
    wb_json_key(w, "line");
    if (it->line > 0) {
        wb_json_put_int(w, it->line);
    } else {
        wb_json_put_null(w);
    }
    wb_json_end_object(w);
}

int wb_debug_do_stack(struct wb_debug *debug, struct wb_call *call,
                      const struct wb_debug_args *args, struct wb_result *result,
                      struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    struct wb_frame_item *items;
    struct wb_json_writer w;
    size_t n, total;
    if (session == NULL) {
        return -1;
    }
    struct wb_inspect inspect = wb_debug_inspect(debug, session, call);
    /* One more than is shown tells whether there are more. */
    if (wb_inspect_stack(&inspect, wb_debug_thread(args), WB_DEBUG_FRAMES_MAX + 1, &items, &n,
                         &total, err) != 0) {
        return -1;
    }
    size_t shown = WB_MIN(n, (size_t)WB_DEBUG_FRAMES_MAX);
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "frames");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < shown; i++) {
        put_frame(debug, &items[i], &w, &result->text);
    }
    wb_json_end_array(&w);
    wb_json_member_int(&w, "total", (int64_t)total);
    wb_json_end_object(&w);
    if (total > shown) {
        wb_text_printf(&result->text, "(%zu of %s%zu frames shown)\n", shown,
                       total > n ? "" : "at least ", total);
    }
    if (n == 0) {
        wb_text_add_str(&result->text, "this thread has no frames now\n");
    }
    return 0;
}

int wb_debug_do_scopes(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_args *args, struct wb_result *result,
                       struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    struct wb_scope_item *items;
    struct wb_json_writer w;
    size_t n;
    if (session == NULL) {
        return -1;
    }
    struct wb_inspect inspect = wb_debug_inspect(debug, session, call);
    if (wb_inspect_scopes(&inspect, args->frame_id, &items, &n, err) != 0) {
        return -1;
    }
    wb_result_data(result, &w);
    wb_json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        wb_text_printf(&result->text, "%s: reference %lld%s\n", items[i].name,
                       (long long)items[i].reference,
                       items[i].is_expensive ? " (costly to read)" : "");
        wb_json_begin_object(&w);
        wb_json_member_str(&w, "name", items[i].name);
        wb_json_member_int(&w, "reference", items[i].reference);
        wb_json_end_object(&w);
    }
    wb_json_end_array(&w);
    if (n == 0) {
        wb_text_add_str(&result->text, "this frame has no scopes\n");
    }
    return 0;
}

static int set_variable(struct wb_inspect *inspect, const struct wb_debug_args *args,
                        struct wb_result *result, struct wb_error *err)
{
    struct wb_variable_item item;
    struct wb_json_writer w;
    if (args->name.ptr == NULL || args->value.ptr == NULL) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "to set a variable, `variables` needs `reference`, `name` and `value`");
    }
    if (wb_inspect_set(inspect, args->reference, args->name.ptr, args->value.ptr, &item, err) !=
        0) {
        return -1;
    }
    wb_text_add_str(&result->text, "set:\n");
    wb_report_variable(&item, &result->text);
    wb_result_data(result, &w);
    wb_json_begin_array(&w);
    wb_report_put_variable(&item, &w);
    wb_json_end_array(&w);
    return 0;
}

int wb_debug_do_variables(struct wb_debug *debug, struct wb_call *call,
                          const struct wb_debug_args *args, struct wb_result *result,
                          struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    struct wb_variable_item *items;
    struct wb_json_writer w;
    size_t n, total;
    if (session == NULL) {
        return -1;
    }
    struct wb_inspect inspect = wb_debug_inspect(debug, session, call);
    if (args->name.ptr != NULL || args->value.ptr != NULL) {
        return set_variable(&inspect, args, result, err);
    }
    if (wb_inspect_variables(&inspect, args->reference, args->start, WB_DEBUG_VARIABLES_MAX, &items,
                             &n, &total, err) != 0) {
        return -1;
    }
    wb_result_data(result, &w);
    wb_json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        wb_report_variable(&items[i], &result->text);
        wb_report_put_variable(&items[i], &w);
    }
    wb_json_end_array(&w);
    size_t next = (size_t)args->start + n;
    if (total == next + 1) { /* the one more that was asked for */
        wb_text_printf(&result->text, "(%zu shown, and there are more: `start` %zu)\n", n, next);
    } else if (total > next) {
        wb_text_printf(&result->text, "(%zu of %zu shown; `start` %zu has the next ones)\n", n,
                       total, next);
    }
    if (n == 0) {
        wb_text_add_str(&result->text, "the adapter names no variables in it\n");
    }
    return 0;
}

static void show_value(const char *value, struct wb_text *out)
{
    size_t characters = wb_utf8_count(wb_span(value));
    if (characters <= EVALUATED_SHOWN_CHARACTERS) {
        wb_text_add_str(out, value);
        return;
    }
    wb_text_add(out, value, wb_utf8_cut(wb_span(value), EVALUATED_SHOWN_CHARACTERS));
    wb_text_printf(out, " ... (%zu characters in all; `data` has them)", characters);
}

int wb_debug_do_evaluate(struct wb_debug *debug, struct wb_call *call,
                         const struct wb_debug_args *args, struct wb_result *result,
                         struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_need_session(debug, err);
    struct wb_variable_item item;
    struct wb_json_writer w;
    if (session == NULL) {
        return -1;
    }
    struct wb_inspect inspect = wb_debug_inspect(debug, session, call);
    if (wb_inspect_evaluate(&inspect, args->expression.ptr, args->frame_id, &item, err) != 0) {
        return -1;
    }
    show_value(item.value, &result->text);
    if (item.type != NULL) {
        wb_text_printf(&result->text, " (%s)", item.type);
    }
    if (item.reference != 0) {
        wb_text_printf(&result->text, " [reference %lld]", (long long)item.reference);
    }
    wb_text_add_char(&result->text, '\n');
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "value", item.value);
    wb_json_member_str(&w, "type", item.type);
    wb_json_member_int(&w, "reference", item.reference);
    wb_json_end_object(&w);
    return 0;
}
