/* report: see report.h. */
#include "debug/report.h"

#include "base/limits.h"
#include "sys/file.h"
#include "sys/path.h"

#define LOCALS_SHOWN_MAX 20
#define OUTPUT_SHOWN_BYTES 1500 /* of what was printed since the last look */
#define SOURCE_BYTES_MAX (16 * WB_MIB)
#define LINES_AROUND 2
#define TRIES_MAX 3

/* --- pieces --- */

void wb_report_source(struct wb_arena *arena, const char *path, int64_t line, struct wb_text *out)
{
    struct wb_span content, text;
    if (wb_file_read(arena, path, SOURCE_BYTES_MAX, &content, NULL, NULL) != 0) {
        return;
    }
    for (int64_t number = 1; wb_span_next_line(&content, &text) && number <= line + LINES_AROUND;
         number++) {
        if (number >= line - LINES_AROUND) {
            wb_text_printf(out, "%s %5lld | ", number == line ? ">" : " ", (long long)number);
            wb_text_add_utf8(out, text);
            wb_text_add_char(out, '\n');
        }
    }
}

static const char *shown_path(const struct wb_report *it, const char *path)
{
    return wb_path_relative(path, it->workspace);
}

/* Some names carry a signature, or the module in front. */
static void add_function(struct wb_text *out, const char *name)
{
    wb_text_add_str(out, name);
    if (strchr(name, '(') == NULL) {
        wb_text_add_str(out, "()");
    }
}

static void add_output(struct wb_report *it, struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text printed = {0};
    uint64_t dropped;
    wb_debug_session_read_output(it->inspect.session, it->since, WB_DEBUG_STDOUT | WB_DEBUG_STDERR,
                                 &printed, &dropped);
    struct wb_span text = wb_text_span(&printed);
    if (wb_span_trim(text).len == 0) {
        return;
    }
    size_t cut = 0;
    if (text.len > OUTPUT_SHOWN_BYTES) {
        cut = text.len - OUTPUT_SHOWN_BYTES;
        const char *line = memchr(text.ptr + cut, '\n', text.len - cut);
        cut = line != NULL && line + 1 < text.ptr + text.len ? (size_t)(line + 1 - text.ptr) : cut;
    }
    wb_text_add_str(out, "printed meanwhile:");
    if (cut + dropped > 0) {
        wb_text_printf(out, " (%llu bytes before are left out; `output` has more)",
                       (unsigned long long)(cut + dropped));
    }
    wb_text_add_char(out, '\n');
    wb_text_add_utf8(out, (struct wb_span){text.ptr + cut, text.len - cut});
    if (text.ptr[text.len - 1] != '\n') {
        wb_text_add_char(out, '\n');
    }
}

/* --- a stop --- */

static void add_place(struct wb_report *it, const struct wb_frame_item *frame, struct wb_text *out)
{
    if (frame->path != NULL) {
        wb_text_printf(out, " at %s:%lld", shown_path(it, frame->path), (long long)frame->line);
    }
    wb_text_add_str(out, " in ");
    add_function(out, frame->name);
}

/* What an exception says of itself. */
static void add_exception(struct wb_report *it, const struct wb_debug_view *view,
                          struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    struct wb_dap_capabilities can;
    const struct wb_json *body = NULL;
    wb_debug_session_capabilities(it->inspect.session, it->inspect.arena, &can);
    if (can.exception_info && wb_str_equal(view->stop.reason, "exception")) {
        wb_text_printf(&arguments, "{\"threadId\":%lld}", (long long)view->stop.thread_id);
        (void)!wb_debug_session_ask(it->inspect.session, view->stop.link, "exceptionInfo",
                                    wb_text_span(&arguments), it->inspect.deadline_ms,
                                    it->inspect.cancel, it->inspect.arena, &body, NULL);
    }
    const char *id = wb_json_str_or(wb_json_get(body, "exceptionId"), "");
    const char *words = wb_json_str(wb_json_get(body, "description"));
    words = words != NULL             ? words
            : view->stop.text != NULL ? view->stop.text
                                      : view->stop.description;
    bool is_plain = words == NULL || wb_str_equal(words, view->stop.reason) ||
                    !(wb_str_equal(view->stop.reason, "exception"));
    if (!is_plain) {
        bool names_it = *id == '\0' || strstr(words, id) != NULL;
        wb_text_printf(out, "  %s%s", names_it ? "" : id, names_it ? "" : ": ");
        wb_inspect_add_value(out, words);
        wb_text_add_char(out, '\n');
    }
}

static void add_condition_error(struct wb_report *it, const struct wb_debug_view *view,
                                const struct wb_frame_item *frame, struct wb_text *out)
{
    pthread_mutex_lock(&it->points->lock);
    const struct wb_breakpoint *hit =
        wb_breakpoints_hit(&it->points->table, view->stop.link, view->stop.hits, view->stop.n_hits,
                           frame->path, frame->line);
    if (hit != NULL && hit->condition_error != NULL) {
        wb_text_printf(out,
                       "  the breakpoint's condition `%s` cannot be evaluated, so it stops every "
                       "time: %s\n",
                       hit->condition, hit->condition_error);
    }
    pthread_mutex_unlock(&it->points->lock);
}

static bool is_local(const struct wb_scope_item *scope)
{
    return !scope->is_expensive && scope->reference != 0 &&
           (wb_str_starts(scope->name, "Local") || wb_str_starts(scope->name, "Block"));
}

/* The first scope that is cheap, and those that hold the rest of the locals (blocks of JavaScript). */
static int find_locals(struct wb_report *it, int64_t frame_id, struct wb_variable_item *ret,
                       size_t *ret_n, size_t *ret_total)
{
    struct wb_scope_item *scopes;
    struct wb_variable_item *items;
    size_t n, n_items, total;
    bool found = false;
    *ret_n = *ret_total = 0;
    if (wb_inspect_scopes(&it->inspect, frame_id, &scopes, &n, NULL) != 0) {
        return -1;
    }
    for (size_t i = 0; i < n && *ret_n < LOCALS_SHOWN_MAX; i++) {
        bool is_first = !found && !scopes[i].is_expensive && scopes[i].reference != 0;
        if ((is_first || is_local(&scopes[i])) &&
            wb_inspect_variables(&it->inspect, scopes[i].reference, 0, LOCALS_SHOWN_MAX - *ret_n,
                                 &items, &n_items, &total, NULL) == 0) {
            memcpy(ret + *ret_n, items, n_items * sizeof(*items));
            *ret_n += n_items;
            *ret_total += total;
            found = true;
        }
    }
    return found ? 0 : -1;
}

void wb_report_variable(const struct wb_variable_item *item, struct wb_text *out)
{
    wb_text_printf(out, "  %s = ", item->name);
    wb_inspect_add_value(out, item->value);
    if (item->type != NULL && strstr(item->value, item->type) == NULL) {
        wb_text_printf(out, " (%s)", item->type);
    }
    if (item->reference != 0) {
        wb_text_printf(out, " [reference %lld]", (long long)item->reference);
    }
    wb_text_add_char(out, '\n');
}

void wb_report_put_variable(const struct wb_variable_item *item, struct wb_json_writer *w)
{
    WB_AUTO(wb_text_done) struct wb_text value = {0};
    wb_inspect_add_value(&value, item->value);
    wb_json_begin_object(w);
    wb_json_member_str(w, "name", item->name);
    wb_json_member_span(w, "value", wb_text_span(&value));
    wb_json_member_str(w, "type", item->type);
    wb_json_member_int(w, "reference", item->reference);
    wb_json_end_object(w);
}

/* "special variables": a drawer of the adapter's, and no variable. */
static bool is_group(const struct wb_variable_item *item)
{
    return *item->value == '\0' && item->type == NULL && item->reference != 0;
}

static void add_locals(struct wb_report *it, int64_t frame_id, struct wb_text *out,
                       struct wb_json_writer *w)
{
    struct wb_variable_item items[LOCALS_SHOWN_MAX];
    size_t n, total;
    wb_json_key(w, "locals");
    if (find_locals(it, frame_id, items, &n, &total) != 0) {
        wb_json_put_null(w);
        return;
    }
    wb_text_add_str(out, n > 0 ? "locals:\n" : "no locals\n");
    wb_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        if (is_group(&items[i])) {
            continue;
        }
        wb_report_variable(&items[i], out);
        wb_report_put_variable(&items[i], w);
    }
    wb_json_end_array(w);
    if (total > n) {
        wb_text_printf(out,
                       "  (%zu shown, and there are more: `scopes` and `variables` have all)\n", n);
    }
}

static void put_state(struct wb_json_writer *w, const struct wb_debug_view *view, const char *path,
                      int64_t line, const char *function)
{
    bool has_stop = view->stop.epoch > 0 && view->state == WB_DEBUGGEE_STOPPED;
    wb_json_member_str(w, "state", wb_debuggee_state_name(view->state));
    wb_json_member_str(w, "reason",
                       view->state == WB_DEBUGGEE_ENDED ? view->end_reason
                       : has_stop                       ? view->stop.reason
                                                        : NULL);
    wb_json_member_str(w, "path", path);
    wb_json_key(w, "line");
    line > 0 ? wb_json_put_int(w, line) : wb_json_put_null(w);
    wb_json_member_str(w, "function", function);
    wb_json_key(w, "thread_id");
    has_stop && view->stop.has_thread ? wb_json_put_int(w, view->stop.thread_id)
                                      : wb_json_put_null(w);
    wb_json_key(w, "exit_code");
    view->has_exit_code ? wb_json_put_int(w, view->exit_code) : wb_json_put_null(w);
}

static void report_stop(struct wb_report *it, const struct wb_debug_view *view,
                        struct wb_result *result, struct wb_json_writer *w)
{
    struct wb_text *out = &result->text;
    struct wb_frame_item *frames;
    struct wb_error err;
    size_t n = 0, total;
    wb_text_printf(out, "stopped: %s", view->stop.reason);
    int status =
        wb_inspect_stack(&it->inspect, NULL, WB_DEBUG_FRAMES_SEARCHED, &frames, &n, &total, &err);
    if (status != 0 || n == 0) {
        wb_text_printf(out, " (%s)\n", status != 0 ? err.message : "no frame is known");
        put_state(w, view, NULL, 0, NULL);
        add_exception(it, view, out);
        add_output(it, out);
        return;
    }
    const struct wb_frame_item *shown = wb_inspect_shown_frame(frames, n);
    add_place(it, &frames[0], out);
    wb_text_add_char(out, '\n');
    add_exception(it, view, out);
    add_condition_error(it, view, &frames[0], out);
    if (shown != &frames[0]) {
        wb_text_add_str(out, "first frame with source: frame_id ");
        wb_text_printf(out, "%lld", (long long)shown->frame_id);
        add_place(it, shown, out);
        wb_text_add_char(out, '\n');
    }
    if (shown->path != NULL) {
        wb_report_source(it->inspect.arena, shown->path, shown->line, out);
    }
    put_state(w, view, frames[0].path != NULL ? shown_path(it, frames[0].path) : NULL,
              frames[0].line, frames[0].name);
    wb_json_member_int(w, "frame_id", shown->frame_id);
    add_locals(it, shown->frame_id, out, w);
    add_output(it, out);
}

/* --- an end --- */

/* Breakpoints that never bound, and what that says of the program. */
static void add_unbound(struct wb_report *it, struct wb_text *out)
{
    size_t n_bound = 0, n = 0;
    pthread_mutex_lock(&it->points->lock);
    for (size_t i = 0; i < it->points->table.count; i++) {
        const struct wb_breakpoint *point = &it->points->table.items[i];
        n++;
        n_bound += point->state == WB_BREAKPOINT_BOUND;
        if (point->state != WB_BREAKPOINT_BOUND) {
            wb_text_add_str(out, "never reached: ");
            wb_breakpoint_describe(point, it->workspace, true, out);
        }
    }
    pthread_mutex_unlock(&it->points->lock);
    if (n > 0 && n_bound == 0) {
        wb_text_add_str(out, "No breakpoint was bound: the program may lack debug information (-g) "
                             "for these files, or was built from others.\n");
    }
}

/* A program that never came to anything: the adapter may know why. */
static void add_console(struct wb_report *it, const struct wb_debug_view *view, struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text printed = {0};
    uint64_t dropped;
    if (view->stop.epoch > 0 || view->has_exit_code) {
        return;
    }
    wb_debug_session_read_output(it->inspect.session, it->since, WB_DEBUG_CONSOLE, &printed,
                                 &dropped);
    struct wb_span text = wb_span_trim(wb_text_span(&printed));
    size_t cut = text.len > OUTPUT_SHOWN_BYTES ? text.len - OUTPUT_SHOWN_BYTES : 0;
    if (text.len > 0) {
        wb_text_printf(out, "%s said: ", view->row->id);
        wb_text_add_utf8(out, (struct wb_span){text.ptr + cut, text.len - cut});
        wb_text_add_char(out, '\n');
    }
}

static void report_end(struct wb_report *it, const struct wb_debug_view *view,
                       struct wb_result *result, struct wb_json_writer *w)
{
    struct wb_text *out = &result->text;
    wb_text_printf(out, "ended: %s", view->end_reason);
    if (view->has_exit_code) {
        wb_text_printf(out, ", exit code %lld", (long long)view->exit_code);
    }
    wb_text_add_char(out, '\n');
    if (view->stop.epoch > 0 && it->is_status) {
        wb_text_printf(out, "last stop: %s%s%s\n", view->stop.reason,
                       view->stop.description != NULL ? ", " : "",
                       view->stop.description != NULL ? view->stop.description : "");
    }
    add_unbound(it, out);
    add_console(it, view, out);
    add_output(it, out);
    put_state(w, view, NULL, 0, NULL);
}

static void report_running(struct wb_report *it, const struct wb_debug_view *view,
                           struct wb_result *result, struct wb_json_writer *w)
{
    struct wb_text *out = &result->text;
    wb_text_printf(out,
                   "still %s; `status` with wait_seconds waits for the next stop, `pause` stops it "
                   "where it is\n",
                   wb_debuggee_state_name(view->state));
    add_output(it, out);
    put_state(w, view, NULL, 0, NULL);
}

static void report_view(struct wb_report *it, const struct wb_debug_view *view,
                        struct wb_result *result)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    switch (view->state) {
    case WB_DEBUGGEE_STOPPED:
        report_stop(it, view, result, &w);
        break;
    case WB_DEBUGGEE_ENDED:
        report_end(it, view, result, &w);
        break;
    case WB_DEBUGGEE_STARTING:
    case WB_DEBUGGEE_RUNNING:
    case WB_DEBUGGEE_JUDGING:
        report_running(it, view, result, &w);
        break;
    }
    wb_json_member_int(&w, "output_cursor", (int64_t)view->output_end);
    wb_json_end_object(&w);
}

/* What is told of a stop is of no use when the next one, of another thread, has come meanwhile, or the
 * end. */
void wb_report_state(struct wb_report *it, struct wb_result *result)
{
    size_t before = result->text.len;
    struct wb_debug_view view, now;
    wb_debug_session_view(it->inspect.session, it->inspect.arena, &view);
    for (int i = 0; i < TRIES_MAX; i++) {
        wb_text_cut(&result->text, before);
        report_view(it, &view, result);
        (void)wb_debug_session_has_ended(it->inspect.session);
        wb_debug_session_view(it->inspect.session, it->inspect.arena, &now);
        if (view.state != WB_DEBUGGEE_STOPPED ||
            (now.state == view.state && now.stop.epoch == view.stop.epoch)) {
            break;
        }
        view = now;
    }
}
