/* action_breakpoints: sets, clears and lists breakpoints, before a launch, while the program runs, or
 * stopped. */
#include "base/limits.h"
#include "debug/actions.h"
#include "sys/file.h"

/* The i-th text of a list that runs beside the lines; NULL: none. */
static const char *text_at(const struct wb_arg_list *list, size_t i)
{
    return i < list->count ? ((const struct wb_span *)list->items)[i].ptr : NULL;
}

static int check_lengths(const struct wb_debug_args *args, struct wb_error *err)
{
    size_t n = args->file.ptr != NULL ? args->lines.count : args->functions.count;
    if (args->conditions.count > n || args->hit_counts.count > n || args->log_messages.count > n) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "conditions, hit_counts and log_messages stand beside %s, item by item "
                            "(\"\" for none): they may not be longer",
                            args->file.ptr != NULL ? "lines" : "functions");
    }
    return 0;
}

static struct wb_breakpoint_wish *make_wishes(struct wb_arena *arena,
                                              const struct wb_debug_args *args, size_t n)
{
    struct wb_breakpoint_wish *wishes = wb_arena_alloc_array(arena, n + 1, sizeof(*wishes));
    for (size_t i = 0; i < n; i++) {
        wishes[i] = (struct wb_breakpoint_wish){
            .line = args->file.ptr != NULL ? ((const int64_t *)args->lines.items)[i] : 0,
            .function = args->file.ptr != NULL ? NULL : text_at(&args->functions, i),
            .condition = text_at(&args->conditions, i),
            .hit = text_at(&args->hit_counts, i),
            .log_message = text_at(&args->log_messages, i),
        };
    }
    return wishes;
}

/* The session that must be told, or NULL. */
static struct wb_debug_session *live_session(struct wb_debug *debug, struct wb_call *call)
{
    struct wb_debug_view view;
    struct wb_debug_session *session = wb_debug_place_session(debug->place);
    if (session == NULL) {
        return NULL;
    }
    wb_debug_session_view(session, call->arena, &view);
    if (view.state == WB_DEBUGGEE_ENDED) {
        wb_debug_session_unref(session);
        return NULL;
    }
    return session;
}

static int set_places(struct wb_debug *debug, struct wb_call *call,
                      const struct wb_debug_args *args, struct wb_debug_session *session,
                      struct wb_error *err)
{
    struct wb_debug_points *points = wb_debug_place_points(debug->place);
    bool is_file = args->file.ptr != NULL;
    const char *path = is_file ? wb_call_path(call, args->file, err) : NULL;
    size_t n = is_file ? args->lines.count : args->functions.count;
    if ((is_file && path == NULL) || check_lengths(args, err) != 0) {
        return -1;
    }
    if (is_file && wb_file_kind(path, NULL) != WB_FILE_REGULAR && n > 0) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no file %s",
                            wb_call_relative(call, path));
    }
    pthread_mutex_lock(&points->lock);
    int status =
        wb_breakpoints_replace(&points->table, path, make_wishes(call->arena, args, n), n, err);
    pthread_mutex_unlock(&points->lock);
    if (status != 0 || session == NULL) {
        return status;
    }
    return wb_debug_session_send_breakpoints(session, path, wb_debug_answer_deadline(debug, call),
                                             call->cancel, err);
}

static int set_exceptions(struct wb_debug *debug, struct wb_call *call,
                          const struct wb_debug_args *args, struct wb_debug_session *session,
                          struct wb_error *err)
{
    struct wb_debug_points *points = wb_debug_place_points(debug->place);
    const char **filters =
        wb_arena_alloc_array(call->arena, args->exceptions.count + 1, sizeof(*filters));
    for (size_t i = 0; i < args->exceptions.count; i++) {
        filters[i] = text_at(&args->exceptions, i);
    }
    if (session != NULL) {
        WB_AUTO(wb_text_done) struct wb_text known = {0};
        struct wb_dap_capabilities can;
        wb_debug_session_capabilities(session, call->arena, &can);
        const char *unknown = wb_debug_unknown_filter(&can, filters);
        wb_debug_list_filters(&can, &known);
        if (unknown != NULL) {
            return wb_error_set(err, WB_ERROR_NOT_FOUND,
                                "this adapter has no exception filter `%s`; it has %s", unknown,
                                known.len > 0 ? wb_text_cstr(&known) : "none");
        }
    }
    pthread_mutex_lock(&points->lock);
    wb_breakpoints_set_exceptions(&points->table, filters);
    pthread_mutex_unlock(&points->lock);
    return session == NULL
               ? 0
               : wb_debug_session_send_exceptions(session, wb_debug_answer_deadline(debug, call),
                                                  call->cancel, err);
}

/* Those of the file that was set, or all. */
static void list(struct wb_debug *debug, const char *path, bool in_session,
                 struct wb_result *result)
{
    struct wb_debug_points *points = wb_debug_place_points(debug->place);
    struct wb_json_writer w;
    size_t n = 0;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "breakpoints");
    wb_json_begin_array(&w);
    pthread_mutex_lock(&points->lock);
    for (size_t i = 0; i < points->table.count; i++) {
        const struct wb_breakpoint *it = &points->table.items[i];
        if (path == NULL || (it->path != NULL && wb_str_equal(it->path, path))) {
            wb_breakpoint_describe(it, debug->workspace, in_session, &result->text);
            wb_breakpoint_put(it, debug->workspace, &w);
            n++;
        }
    }
    pthread_mutex_unlock(&points->lock);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    if (n == 0) {
        wb_text_add_str(&result->text,
                        path != NULL ? "no breakpoints in this file\n" : "no breakpoints\n");
    }
}

/* The exception filters, for who wants to choose some. */
static void tell_filters(struct wb_call *call, struct wb_debug_session *session,
                         struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text known = {0};
    struct wb_dap_capabilities can;
    wb_debug_session_capabilities(session, call->arena, &can);
    wb_debug_list_filters(&can, &known);
    if (known.len > 0) {
        wb_text_printf(out, "exception filters: %s\n", wb_text_cstr(&known));
    }
}

int wb_debug_do_breakpoints(struct wb_debug *debug, struct wb_call *call,
                            const struct wb_debug_args *args, struct wb_result *result,
                            struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = live_session(debug, call);
    bool is_file = args->file.ptr != NULL;
    if (is_file && args->lines.items == NULL) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "breakpoints with `file` needs `lines` ([] clears the file)");
    }
    if (!is_file && args->lines.items != NULL) {
        return wb_error_set(err, WB_ERROR_INVALID, "`lines` are of a `file`: name it");
    }
    if (((is_file || args->functions.items != NULL) &&
         set_places(debug, call, args, session, err) != 0) ||
        (args->exceptions.items != NULL && set_exceptions(debug, call, args, session, err) != 0)) {
        return -1;
    }
    list(debug, is_file ? wb_call_path(call, args->file, NULL) : NULL, session != NULL, result);
    if (session != NULL && !is_file) {
        tell_filters(call, session, &result->text);
    }
    return 0;
}
