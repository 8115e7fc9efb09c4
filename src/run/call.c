/* call: the spine. Finds, decodes, asks the gate, waits for the turn, runs the tool, lets the
 * observers speak, and records it all. Knows no tool and no caller.
 *
 *   submitted -> recorded -> decoded -> allowed -> running -> finished -> recorded
 *         \_________\___________\__________\___________> failed: the error is the result */
#include "run/call.h"

#include <stdlib.h>

#include "base/clock.h"
#include "run/call_record.h"
#include "run/gate.h"
#include "run/nearest.h"
#include "run/run_private.h"
#include "sys/path.h"

#define UNKNOWN_NAMES_MAX 64

static void fire_token(void *ctx)
{
    struct wb_active_call *active = ctx;
    wb_cancel_fire(&active->cancel);
}

static void link_call(struct wb_run *run, struct wb_active_call *active)
{
    active->older = run->newest;
    *(run->newest != NULL ? &run->newest->newer : &run->oldest) = active;
    run->newest = active;
    run->n_calls++;
}

static void unlink_call(struct wb_run *run, struct wb_active_call *active)
{
    *(active->older != NULL ? &active->older->newer : &run->oldest) = active->newer;
    *(active->newer != NULL ? &active->newer->older : &run->newest) = active->older;
    run->n_calls--;
}

static void begin_call(struct wb_run *run, struct wb_active_call *active, const char *tool_name,
                       const struct wb_call_options *options)
{
    *active = (struct wb_active_call){.options = *options, .begin_us = wb_clock_now_us()};
    active->call = (struct wb_call){
        .run = run,
        .tool = wb_run_find_tool(run, tool_name),
        .cancel = &active->cancel,
        .deadline_ms = options->deadline_ms != 0 ? options->deadline_ms : WB_NEVER,
        .options = &active->options,
    };
    wb_cancel_init(&active->cancel);
    pthread_mutex_lock(&run->lock);
    if (run->closing) {
        active->refusal = WB_ERROR_CLOSED;
    } else if (run->n_calls >= WB_RUN_CALLS_MAX) {
        active->refusal = WB_ERROR_LIMIT;
    }
    active->call.id = ++run->last_call_id;
    link_call(run, active);
    pthread_mutex_unlock(&run->lock);
    if (options->cancel != NULL) {
        active->caller_hook = (struct wb_cancel_hook){.fire = fire_token, .ctx = active};
        wb_cancel_hook_add(options->cancel, &active->caller_hook);
    }
}

/* The call is done: from here on the caller's token is the caller's alone. */
static void leave_token(struct wb_active_call *active)
{
    if (active->options.cancel != NULL) {
        wb_cancel_hook_remove(active->options.cancel, &active->caller_hook);
    }
}

static void end_call(struct wb_active_call *active)
{
    struct wb_run *run = active->call.run;
    pthread_mutex_lock(&run->lock);
    while (active->n_pins > 0) {
        wb_cond_wait(&run->changed, &run->lock, WB_NEVER);
    }
    unlink_call(run, active);
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    wb_cancel_done(&active->cancel);
}

static struct wb_active_call *find_untold(struct wb_run *run)
{
    struct wb_active_call *active = run->oldest;
    while (active != NULL && active->told) {
        active = active->newer;
    }
    return active;
}

void wb_run_end_calls(struct wb_run *run)
{
    struct wb_active_call *active;
    pthread_mutex_lock(&run->lock);
    run->closing = true;
    while ((active = find_untold(run)) != NULL) {
        /* The token's hooks take our lock; the pin keeps the call in place meanwhile. */
        active->told = true;
        active->n_pins++;
        pthread_mutex_unlock(&run->lock);
        wb_cancel_fire(&active->cancel);
        pthread_mutex_lock(&run->lock);
        active->n_pins--;
        pthread_cond_broadcast(&run->changed);
    }
    while (run->n_calls > 0) {
        wb_cond_wait(&run->changed, &run->lock, WB_NEVER);
    }
    pthread_mutex_unlock(&run->lock);
}

static int refuse_unknown(struct wb_call *call, const char *tool_name, struct wb_error *err)
{
    const char *names[UNKNOWN_NAMES_MAX];
    WB_AUTO(wb_text_done) struct wb_text list = {0};
    const struct wb_tool *tool;
    size_t n = 0;
    for (size_t cursor = 0;
         n < UNKNOWN_NAMES_MAX && (tool = wb_run_next_tool(call->run, &cursor)) != NULL;) {
        wb_text_printf(&list, "%s%s", n > 0 ? ", " : "", tool->name);
        names[n++] = tool->name;
    }
    const char *near = wb_nearest(wb_span(tool_name), names, n);
    if (near != NULL) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no tool `%.64s`; did you mean `%s`?",
                            tool_name, near);
    }
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no tool `%.64s`; the tools are: %s",
                        tool_name, n > 0 ? wb_text_cstr(&list) : "none");
}

static int refuse(const struct wb_active_call *active, struct wb_error *err)
{
    if (active->refusal == WB_ERROR_CLOSED) {
        return wb_error_set(err, WB_ERROR_CLOSED, "the run is closing: the call did not run");
    }
    return wb_error_set(err, WB_ERROR_LIMIT,
                        "too many calls are running at once; wait until one of them is done");
}

bool wb_call_may_reach(const struct wb_call *call, const char *real)
{
    bool is_inside = wb_path_is_inside(real, call->run->workspace);
    for (size_t i = 0; i < call->n_outside && !is_inside; i++) {
        is_inside = wb_path_is_inside(real, call->outside[i]);
    }
    return is_inside;
}

char *wb_call_path(struct wb_call *call, struct wb_span path, struct wb_error *err)
{
    const char *absolute = wb_path_join(call->arena, call->run->workspace, path.ptr);
    char *real = wb_path_real(call->arena, absolute, err);
    if (real != NULL && call->passed != NULL && !wb_call_may_reach(call, real)) {
        wb_error_set(err, WB_ERROR_DENIED,
                     "%s leads to %s now, which is outside the workspace and was not approved",
                     absolute, real);
        return NULL;
    }
    return real;
}

static int collect_paths(struct wb_call *call, const struct wb_arg *table, size_t n,
                         const char *args, struct wb_gate_subject *subject, struct wb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const void *field = args + table[i].offset;
        if (table[i].kind == WB_ARG_PATH && ((const struct wb_span *)field)->ptr != NULL) {
            const char *path = wb_call_path(call, *(const struct wb_span *)field, err);
            if (path == NULL) {
                return -1;
            }
            wb_gate_add_path(subject, path);
        } else if (table[i].kind == WB_ARG_OBJECTS) {
            const struct wb_arg_list *list = field;
            for (size_t j = 0; j < list->count; j++) {
                if (collect_paths(call, table[i].items, table[i].n_items,
                                  (const char *)list->items + j * table[i].item_bytes, subject,
                                  err) != 0) {
                    return -1;
                }
            }
        }
    }
    return 0;
}

/* The chosen operation of a tool that has several: the first ENUM of a table with rules. */
static const char *operation_of(const struct wb_args *table, const void *args)
{
    for (size_t i = 0; table->rules != NULL && i < table->n; i++) {
        if (table->table[i].kind == WB_ARG_ENUM) {
            int choice = *(const int *)((const char *)args + table->table[i].offset);
            return choice >= 0 ? table->table[i].choices[choice] : NULL;
        }
    }
    return NULL;
}

static int pass_gate(struct wb_call *call, const void *args, struct wb_span arguments_json,
                     struct wb_error *err)
{
    const struct wb_tool *tool = call->tool;
    struct wb_gate_subject *subject = WB_ARENA_NEW(call->arena, struct wb_gate_subject);
    subject->arena = call->arena;
    subject->operation = operation_of(&tool->args, args);
    if (collect_paths(call, tool->args.table, tool->args.n, args, subject, err) != 0) {
        return -1;
    }
    if (tool->subject != NULL && tool->subject(call, args, subject, err) != 0) {
        return -1;
    }
    return wb_gate_pass(call, subject, arguments_json, err);
}

static void wake_waiters(void *ctx)
{
    struct wb_run *run = ctx;
    pthread_mutex_lock(&run->lock);
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

/* An older call of the same tool is not at its end yet. */
static bool has_elder(const struct wb_active_call *active)
{
    const struct wb_active_call *elder = active->older;
    while (elder != NULL && elder->call.tool != active->call.tool) {
        elder = elder->older;
    }
    return elder != NULL;
}

static bool waits_for_turn(const struct wb_tool *tool, const void *args)
{
    return !tool->parallel_safe && (tool->interrupts == NULL || !tool->interrupts(args));
}

/* Waits until no older call of a tool that is not parallel-safe is left. */
static int take_turn(struct wb_active_call *active, struct wb_error *err)
{
    struct wb_run *run = active->call.run;
    bool in_time = true, waiting;
    active->turn_hook = (struct wb_cancel_hook){.fire = wake_waiters, .ctx = run};
    wb_cancel_hook_add(&active->cancel, &active->turn_hook);
    pthread_mutex_lock(&run->lock);
    while ((waiting = has_elder(active)) && in_time && !wb_cancel_is_fired(&active->cancel)) {
        in_time = wb_cond_wait(&run->changed, &run->lock, active->call.deadline_ms);
    }
    pthread_mutex_unlock(&run->lock);
    wb_cancel_hook_remove(&active->cancel, &active->turn_hook);
    if (waiting && !in_time) {
        return wb_error_set(err, WB_ERROR_TIMEOUT,
                            "`%s` does one thing at a time, and an earlier call of it was still "
                            "running at the deadline",
                            active->call.tool->name);
    }
    return 0;
}

static int perform(struct wb_active_call *active, const char *tool_name, const struct wb_json *json,
                   struct wb_span arguments_json, struct wb_result *result, struct wb_error *err)
{
    struct wb_call *call = &active->call;
    const struct wb_tool *tool = call->tool;
    void *args;
    if (active->refusal != WB_ERROR_NONE) {
        return refuse(active, err);
    }
    if (tool == NULL) {
        return refuse_unknown(call, tool_name, err);
    }
    if (json == NULL) {
        return wb_error_context(err, "%s: the arguments are not JSON", tool_name);
    }
    if (wb_args_decode(call->arena, &tool->args, tool->name, json, &args, err) != 0 ||
        pass_gate(call, args, arguments_json, err) != 0 ||
        (waits_for_turn(tool, args) && take_turn(active, err) != 0)) {
        return -1;
    }
    if (wb_cancel_is_fired(&active->cancel)) {
        return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled before `%s` began", tool->name);
    }
    if (tool->tier > wb_run_cap(call->run)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "the operator has changed what this run may do: `%s` did not run",
                            tool->name);
    }
    return tool->call(call, args, result, err);
}

/* The JSON of the arguments; no text means no arguments. */
static const struct wb_json *parse_arguments(struct wb_arena *arena, struct wb_span text,
                                             struct wb_error *err)
{
    if (text.len > WB_CALL_ARGUMENT_BYTES_MAX) {
        wb_error_set(err, WB_ERROR_LIMIT, "they have %zu bytes, and %zu is the most", text.len,
                     (size_t)WB_CALL_ARGUMENT_BYTES_MAX);
        return NULL;
    }
    return wb_json_parse(arena, text.len > 0 ? text : WB_SPAN("{}"), err);
}

static void execute(struct wb_active_call *active, const char *tool_name,
                    struct wb_span arguments_json, struct wb_result *result)
{
    struct wb_call *call = &active->call;
    struct wb_run *run = call->run;
    struct wb_error err;
    wb_result_init(result);
    call->arena = &result->arena;
    const struct wb_json *json = parse_arguments(call->arena, arguments_json, &err);
    wb_call_record_begin(call, tool_name, json, arguments_json);
    if (perform(active, tool_name, json, arguments_json, result, &err) != 0) {
        wb_result_fail(result, &err);
    }
    for (size_t i = 0; call->tool != NULL && i < run->n_observers; i++) {
        if (run->observers[i].result != NULL) {
            run->observers[i].result(run->observers[i].ctx, call, result);
        }
    }
    wb_result_finish(result);
    wb_call_record_end(call, tool_name, result, wb_clock_now_us() - active->begin_us);
}

void wb_run_call(struct wb_run *run, const char *tool_name, struct wb_span arguments_json,
                 const struct wb_call_options *options, struct wb_result *ret)
{
    struct wb_active_call active;
    begin_call(run, &active, tool_name, options);
    execute(&active, tool_name, arguments_json, ret);
    leave_token(&active);
    end_call(&active);
}

/* A submitted call: it outlives its caller's frame. */
struct job {
    struct wb_active_call active;
    char *tool_name;
    char *arguments;
    size_t arguments_len;
    void (*on_done)(void *ctx, struct wb_result *result);
    void *ctx;
};

static void run_job(void *ctx)
{
    struct job *job = ctx;
    struct wb_result result;
    execute(&job->active, job->tool_name, (struct wb_span){job->arguments, job->arguments_len},
            &result);
    leave_token(&job->active);
    job->on_done(job->ctx, &result);
    end_call(&job->active);
    free(job->tool_name);
    free(job->arguments);
    free(job);
}

void wb_run_submit(struct wb_run *run, const char *tool_name, struct wb_span arguments_json,
                   const struct wb_call_options *options,
                   void (*on_done)(void *ctx, struct wb_result *result), void *ctx)
{
    struct job *job = wb_alloc(sizeof(*job));
    job->tool_name = wb_strdup(tool_name);
    job->arguments = wb_strndup(arguments_json.ptr, arguments_json.len);
    job->arguments_len = arguments_json.len;
    job->on_done = on_done;
    job->ctx = ctx;
    begin_call(run, &job->active, tool_name, options);
    if (wb_pool_run(wb_host_pool(run->host), run_job, job, NULL) != 0) {
        job->active.refusal = WB_ERROR_LIMIT;
        run_job(job);
    }
}
