/* session_start: from an adapter to a running debuggee. The order of steps is the one that every
 * adapter takes; where one asks for a second connection (startDebugging), the same steps again. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "debug/session_internal.h"

#define INITIALIZE_MS 15000 /* a Node or Java program on a busy machine */

/* --- initialize --- */

static void write_initialize(const struct wb_adapter_row *row, struct wb_text *out)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "clientID", "werkbank");
    wb_json_member_str(&w, "clientName", "Werkbank");
    if (wb_json_get(row->initialize, "adapterID") == NULL) {
        wb_json_member_str(&w, "adapterID", row->id);
    }
    wb_json_member_str(&w, "locale", "en-US");
    wb_json_member_str(&w, "pathFormat", "path");
    wb_json_member_bool(&w, "linesStartAt1", true);
    wb_json_member_bool(&w, "columnsStartAt1", true);
    wb_json_member_bool(&w, "supportsVariableType", true);
    wb_json_member_bool(&w, "supportsVariablePaging", true);
    wb_json_member_bool(&w, "supportsRunInTerminalRequest", false);
    wb_json_member_bool(&w, "supportsStartDebuggingRequest", row->child_sessions);
    for (struct wb_json_iter it = wb_json_iter(row->initialize); wb_json_next(&it);) {
        wb_json_key(&w, it.key);
        wb_json_put_value(&w, it.value);
    }
    wb_json_end_object(&w);
}

int wb_link_initialize(struct wb_debug_link *link, int64_t deadline_ms, struct wb_cancel *cancel,
                       struct wb_error *err)
{
    struct wb_debug_session *session = link->session;
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_dap_answer answer;
    wb_arena_init(&arena);
    write_initialize(session->row, &arguments);
    deadline_ms = WB_MIN(deadline_ms, wb_clock_deadline(INITIALIZE_MS));
    if (wb_dap_call(link->dap, "initialize", wb_text_span(&arguments), deadline_ms, cancel, &arena,
                    &answer, err) != 0) {
        return -1;
    }
    if (answer.failed) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "it refused `initialize`: %s", answer.error);
    }
    pthread_mutex_lock(&session->lock);
    wb_dap_capabilities_merge(&link->capabilities, answer.body);
    pthread_mutex_unlock(&session->lock);
    return 0;
}

/* --- breakpoints --- */

static bool may_condition(struct wb_debug_link *link, bool *ret_log, bool *ret_functions)
{
    pthread_mutex_lock(&link->session->lock);
    bool condition = link->capabilities.conditional_breakpoints;
    *ret_log = link->capabilities.log_points;
    *ret_functions = link->capabilities.function_breakpoints;
    pthread_mutex_unlock(&link->session->lock);
    return condition;
}

/* For an adapter that does not take away the condition of a breakpoint that stays on its line. While
 * the program runs a hit might be missed meanwhile: there the condition stays. */
static void clear_file(struct wb_debug_link *link, const char *path, int64_t deadline_ms,
                       struct wb_cancel *cancel)
{
    struct wb_debug_session *session = link->session;
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_dap_answer answer;
    struct wb_json_writer w;
    wb_arena_init(&arena);
    pthread_mutex_lock(&session->lock);
    bool rests = session->debuggee.state == WB_DEBUGGEE_STOPPED;
    pthread_mutex_unlock(&session->lock);
    if (!rests) {
        return;
    }
    wb_json_writer_init(&w, &arguments);
    wb_json_begin_object(&w);
    wb_json_key(&w, "source");
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "path", path);
    wb_json_end_object(&w);
    wb_json_key(&w, "breakpoints");
    wb_json_begin_array(&w);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    (void)!wb_dap_call(link->dap, "setBreakpoints", wb_text_span(&arguments),
                       WB_MIN(deadline_ms, wb_clock_deadline(session->answer_ms)), cancel, &arena,
                       &answer, NULL);
}

int wb_link_send_breakpoints(struct wb_debug_link *link, const char *path, int64_t deadline_ms,
                             struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_debug_points *points = link->session->points;
    const char *command = path != NULL ? "setBreakpoints" : "setFunctionBreakpoints";
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_dap_answer answer;
    bool log, functions;
    bool condition = may_condition(link, &log, &functions);
    wb_arena_init(&arena);
    pthread_mutex_lock(&points->lock);
    if (path == NULL && !functions) {
        wb_breakpoints_refuse(&points->table, NULL,
                              "this adapter has no function breakpoints; set one on the "
                              "function's first line");
    }
    wb_breakpoints_request(&points->table, path, condition, log, &arguments);
    pthread_mutex_unlock(&points->lock);
    if (path == NULL && !functions) {
        return 0;
    }
    if (path != NULL && link->session->row->keeps_conditions) {
        clear_file(link, path, deadline_ms, cancel);
    }
    if (wb_dap_call(link->dap, command, wb_text_span(&arguments),
                    WB_MIN(deadline_ms, wb_clock_deadline(link->session->answer_ms)), cancel,
                    &arena, &answer, err) != 0) {
        return -1;
    }
    pthread_mutex_lock(&points->lock);
    if (answer.failed) {
        wb_breakpoints_refuse(&points->table, path, answer.error);
    } else {
        wb_breakpoints_answer(&points->table, path, link->index, answer.body);
    }
    pthread_mutex_unlock(&points->lock);
    return 0;
}

static bool is_on(const struct wb_adapter_row *row, const struct wb_dap_filter *filter)
{
    for (const char **id = row->exceptions; *id != NULL; id++) {
        if (wb_str_equal(*id, filter->id)) {
            return true;
        }
    }
    return filter->is_default;
}

/* The filters that were asked for, else those that are on by default. False: the adapter has none. */
static bool write_filters(struct wb_debug_link *link, struct wb_text *out)
{
    struct wb_debug_session *session = link->session;
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_key(&w, "filters");
    wb_json_begin_array(&w);
    pthread_mutex_lock(&session->lock);
    pthread_mutex_lock(&session->points->lock);
    char **wanted = session->points->table.exceptions;
    for (char **id = wanted; id != NULL && *id != NULL; id++) {
        wb_json_put_str(&w, *id);
    }
    bool any = link->capabilities.n_filters > 0;
    for (size_t i = 0; wanted == NULL && i < link->capabilities.n_filters; i++) {
        if (is_on(session->row, &link->capabilities.filters[i])) {
            wb_json_put_str(&w, link->capabilities.filters[i].id);
        }
    }
    pthread_mutex_unlock(&session->points->lock);
    pthread_mutex_unlock(&session->lock);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    return any;
}

int wb_link_send_exceptions(struct wb_debug_link *link, int64_t deadline_ms,
                            struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_dap_answer answer;
    wb_arena_init(&arena);
    if (!write_filters(link, &arguments)) {
        return 0;
    }
    return wb_dap_call(link->dap, "setExceptionBreakpoints", wb_text_span(&arguments),
                       WB_MIN(deadline_ms, wb_clock_deadline(link->session->answer_ms)), cancel,
                       &arena, &answer, err);
}

static int send_all_breakpoints(struct wb_debug_link *link, int64_t deadline_ms,
                                struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_debug_points *points = link->session->points;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    const char **paths = NULL, *path;
    size_t n = 0, capacity = 0;
    wb_arena_init(&arena);
    pthread_mutex_lock(&points->lock);
    for (size_t cursor = 0; (path = wb_breakpoints_next_path(&points->table, &cursor)) != NULL;) {
        *WB_ARENA_PUSH(&arena, paths, n, capacity) = wb_arena_strdup(&arena, path);
    }
    bool functions = wb_breakpoints_has_functions(&points->table);
    pthread_mutex_unlock(&points->lock);
    for (size_t i = 0; i < n; i++) {
        if (wb_link_send_breakpoints(link, paths[i], deadline_ms, cancel, err) != 0) {
            return -1;
        }
    }
    return functions ? wb_link_send_breakpoints(link, NULL, deadline_ms, cancel, err) : 0;
}

/* --- the client order --- */

/* Waits for the `initialized` event, or for an answer to the launch that came before it. */
static int wait_initialized(struct wb_debug_link *link, struct wb_dap_pending *launch,
                            int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_debug_session *session = link->session;
    bool in_time = true;
    pthread_mutex_lock(&session->lock);
    while (!link->initialized && in_time && !wb_cancel_is_fired(cancel) && !link->gone &&
           !wb_dap_is_failed(link->dap, launch)) {
        in_time = wb_cond_wait(&session->changed, &session->lock, deadline_ms);
    }
    bool initialized = link->initialized, gone = link->gone;
    pthread_mutex_unlock(&session->lock);
    if (initialized || wb_dap_is_failed(link->dap, launch)) {
        return 0; /* a failure is told by the launch's answer */
    }
    if (gone) {
        return wb_error_set(err, WB_ERROR_CLOSED, "%s ended before it took breakpoints",
                            session->row->id);
    }
    return wb_cancel_is_fired(cancel)
               ? wb_error_set(err, WB_ERROR_CANCELLED, "the start was given up")
               : wb_error_set(err, WB_ERROR_TIMEOUT,
                              "%s did not get ready to take breakpoints in time", session->row->id);
}

static int configure(struct wb_debug_link *link, int64_t deadline_ms, struct wb_cancel *cancel,
                     struct wb_dap_pending **ret_done, struct wb_error *err)
{
    struct wb_debug_session *session = link->session;
    *ret_done = NULL;
    if (send_all_breakpoints(link, deadline_ms, cancel, err) != 0 ||
        wb_link_send_exceptions(link, deadline_ms, cancel, err) != 0) {
        return -1;
    }
    pthread_mutex_lock(&session->lock);
    bool wants_done = link->capabilities.configuration_done;
    pthread_mutex_unlock(&session->lock);
    if (wants_done) {
        *ret_done = wb_dap_start(link->dap, "configurationDone", WB_SPAN("{}"), err);
    }
    return !wants_done || *ret_done != NULL ? 0 : -1;
}

/* Breakpoints, configurationDone, and the answers of that and of the launch, in any order. */
static int finish(struct wb_debug_link *link, struct wb_dap_pending *launch, const char *command,
                  int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_dap_answer answer, done_answer;
    struct wb_dap_pending *done = NULL;
    wb_arena_init(&arena);
    if (wait_initialized(link, launch, deadline_ms, cancel, err) != 0 ||
        (!wb_dap_is_failed(link->dap, launch) &&
         configure(link, deadline_ms, cancel, &done, err) != 0)) {
        wb_dap_drop(link->dap, launch);
        return -1;
    }
    int status = wb_dap_wait(link->dap, launch, deadline_ms, cancel, &arena, &answer, err);
    if (done != NULL && (status != 0 || answer.failed)) {
        wb_dap_drop(link->dap, done);
    } else if (done != NULL) {
        status = wb_dap_wait(link->dap, done, deadline_ms, cancel, &arena, &done_answer, err);
    }
    if (status == 0 && answer.failed) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s refused the %s: %s",
                            link->session->row->id, command, answer.error);
    }
    return status;
}

int wb_link_shake_hands(struct wb_debug_link *link, const char *command, struct wb_span arguments,
                        int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    pthread_mutex_lock(&link->session->lock);
    link->launched = true;
    pthread_mutex_unlock(&link->session->lock);
    struct wb_dap_pending *launch = wb_dap_start(link->dap, command, arguments, err);
    return launch != NULL ? finish(link, launch, command, deadline_ms, cancel, err) : -1;
}

/* --- the start of a session --- */

static int start(struct wb_debug_session *session, const struct wb_debug_options *options,
                 int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    int connected = options->commands != NULL
                        ? wb_session_start_adapter(session, options, deadline_ms, cancel, err)
                        : wb_session_connect(session, options, deadline_ms, cancel, err);
    if (connected != 0) {
        return -1;
    }
    struct wb_span arguments = wb_template_fill(&arena, options->arguments, options->values);
    const char *command = options->request->is_attach ? "attach" : "launch";
    if (wb_link_shake_hands(session->links[0], command, arguments, deadline_ms, cancel, err) != 0) {
        return wb_session_explain(session, err);
    }
    return 0;
}

static void give_up(void *ctx)
{
    struct wb_debug_session *session = ctx;
    wb_cancel_fire(&session->start_cancel);
    pthread_mutex_lock(&session->lock);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

int wb_debug_session_start(struct wb_debug_session *session, const struct wb_debug_options *options,
                           int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_cancel_hook hook = {.fire = give_up, .ctx = session};
    struct wb_error own;
    wb_cancel_hook_add(cancel, &hook);
    int status = start(session, options, deadline_ms, &session->start_cancel, &own);
    wb_cancel_hook_remove(cancel, &hook);
    pthread_mutex_lock(&session->lock);
    bool is_unwanted = session->state != WB_SESSION_STARTING;
    /* A program that was quick: its end is the answer, whatever the adapter still owes us. */
    bool has_run = session->debuggee.terminated || session->debuggee.has_exit_code;
    bool is_done = has_run && session->end_why == NULL &&
                   (status == 0 || own.code == WB_ERROR_CANCELLED || own.code == WB_ERROR_TIMEOUT);
    if (status == 0 && !is_unwanted) {
        wb_debuggee_started(&session->debuggee);
        wb_session_set_state(session, WB_SESSION_LIVE);
    } else if (!is_unwanted) {
        wb_session_set_state(session, WB_SESSION_LIVE); /* so that the end below is in order */
    }
    session->start_is_over = true;
    bool died = session->n_links > 0 && session->links[0]->gone;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    if (is_done) {
        wb_debug_session_end(session, NULL);
        return 0;
    }
    if (status != 0 || is_unwanted) {
        wb_debug_session_end(session, status != 0 ? own.message : NULL);
        return is_unwanted && (status == 0 || own.code == WB_ERROR_CANCELLED)
                   ? wb_error_set(err, WB_ERROR_CANCELLED, "the session was ended while it started")
                   : wb_error_set(err, own.code, "%s", own.message);
    }
    if (died) { /* while it started, nobody was there to end it */
        wb_debug_session_end(session, NULL);
    }
    return 0;
}

void wb_debug_session_abandon(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->start_is_over = true;
    pthread_mutex_unlock(&session->lock);
    wb_debug_session_end(session, "it was not started");
}

/* --- child sessions --- */

static void start_child(struct wb_debug_session *session, uint64_t number)
{
    const struct wb_child_wish *wish = &session->wishes[number];
    int64_t deadline_ms = wb_clock_deadline(session->row->start_ms);
    struct wb_cancel *cancel = &session->start_cancel;
    struct wb_error err = {.message = "there are too many"};
    struct wb_debug_link *link = wb_session_add_link(session);
    bool is_attach = wb_str_equal(wish->command, "attach");
    if (link == NULL || wb_link_meet(link, -1, session->port, deadline_ms, cancel, &err) != 0 ||
        wb_link_initialize(link, deadline_ms, cancel, &err) != 0 ||
        wb_link_shake_hands(link, is_attach ? "attach" : "launch",
                            wb_text_span(&wish->configuration), deadline_ms, cancel, &err) != 0) {
        wb_session_lose_child(session, link, err.message);
    }
}

void wb_session_take_child(struct wb_debug_session *session, const struct wb_json *body)
{
    struct wb_json_writer w;
    pthread_mutex_lock(&session->lock);
    if (session->n_wishes < WB_DEBUG_LINKS_MAX - 1 && session->state < WB_SESSION_ENDING) {
        struct wb_child_wish *wish = &session->wishes[session->n_wishes];
        wish->command = wb_strdup(wb_json_str_or(wb_json_get(body, "request"), "launch"));
        wb_json_writer_init(&w, &wish->configuration);
        wb_json_put_value(&w, wb_json_get(body, "configuration"));
        wb_session_job(session, start_child, session->n_wishes++, true);
    }
    pthread_mutex_unlock(&session->lock);
}
