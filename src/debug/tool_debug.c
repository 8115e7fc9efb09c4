/* debug: steers a debugger. The tool is the table; the work is in the action_*.c files. */
#include "debug/actions.h"
#include "run/gate.h"

static const char *const operation_names[] = {
    [WB_DEBUG_ADAPTERS] = "adapters",
    [WB_DEBUG_STATUS] = "status",
    [WB_DEBUG_BREAKPOINTS] = "breakpoints",
    [WB_DEBUG_LAUNCH] = "launch",
    [WB_DEBUG_ATTACH] = "attach",
    [WB_DEBUG_CONTINUE] = "continue",
    [WB_DEBUG_PAUSE] = "pause",
    [WB_DEBUG_STEP_OVER] = "step_over",
    [WB_DEBUG_STEP_IN] = "step_in",
    [WB_DEBUG_STEP_OUT] = "step_out",
    [WB_DEBUG_THREADS] = "threads",
    [WB_DEBUG_STACK] = "stack",
    [WB_DEBUG_SCOPES] = "scopes",
    [WB_DEBUG_VARIABLES] = "variables",
    [WB_DEBUG_EVALUATE] = "evaluate",
    [WB_DEBUG_OUTPUT] = "output",
    [WB_DEBUG_TERMINATE] = "terminate",
    NULL,
};

static wb_debug_action_fn *const actions[] = {
    [WB_DEBUG_ADAPTERS] = wb_debug_do_adapters,
    [WB_DEBUG_STATUS] = wb_debug_do_status,
    [WB_DEBUG_BREAKPOINTS] = wb_debug_do_breakpoints,
    [WB_DEBUG_LAUNCH] = wb_debug_do_launch,
    [WB_DEBUG_ATTACH] = wb_debug_do_attach,
    [WB_DEBUG_CONTINUE] = wb_debug_do_move,
    [WB_DEBUG_PAUSE] = wb_debug_do_pause,
    [WB_DEBUG_STEP_OVER] = wb_debug_do_move,
    [WB_DEBUG_STEP_IN] = wb_debug_do_move,
    [WB_DEBUG_STEP_OUT] = wb_debug_do_move,
    [WB_DEBUG_THREADS] = wb_debug_do_threads,
    [WB_DEBUG_STACK] = wb_debug_do_stack,
    [WB_DEBUG_SCOPES] = wb_debug_do_scopes,
    [WB_DEBUG_VARIABLES] = wb_debug_do_variables,
    [WB_DEBUG_EVALUATE] = wb_debug_do_evaluate,
    [WB_DEBUG_OUTPUT] = wb_debug_do_output,
    [WB_DEBUG_TERMINATE] = wb_debug_do_terminate,
};

static const char *const mode_names[] = {"program", "module", "test", NULL};
static const char *const category_names[] = {"all", "stdout", "stderr", "console", NULL};

#define FIELD(name) offsetof(struct wb_debug_args, name)

static const struct wb_arg table[] = {
    {"operation", WB_ARG_ENUM, FIELD(operation), .required = true, .choices = operation_names,
     .doc = "what to do"},
    {"program", WB_ARG_STRING, FIELD(program), .min = 1, .max = 4096,
     .doc = "launch: the file to run (executable, script, or folder of a Go package), relative to "
            "the workspace; with mode module its name, with mode test the file or folder of tests"},
    {"args", WB_ARG_STRINGS, FIELD(args), .max = 1000, .doc = "launch: arguments of the program"},
    {"cwd", WB_ARG_PATH, FIELD(cwd), .doc = "launch: folder to run in; default the workspace"},
    {"env", WB_ARG_OBJECT, FIELD(env), .doc = "launch: variables of its environment"},
    {"mode", WB_ARG_ENUM, FIELD(mode), .choices = mode_names,
     .doc = "launch: program (default), module (python -m), or test (pytest, go test, dart test)"},
    {"core", WB_ARG_PATH, FIELD(core), .doc = "launch: a core file of the program, to look at"},
    {"stop_on_entry", WB_ARG_BOOL, FIELD(stop_on_entry),
     .doc = "launch, attach: stop at once, before any breakpoint"},
    {"restart", WB_ARG_BOOL, FIELD(restart),
     .doc = "launch: end the present session first; without program the last launch is repeated"},
    {"adapter", WB_ARG_STRING, FIELD(adapter), .min = 1, .max = 64,
     .doc = "launch, attach: id of the adapter, where the choice is not clear"},
    {"port", WB_ARG_INT, FIELD(port), .min = 1, .max = 65535,
     .doc = "attach: local port that the program's debugger listens on"},
    {"pid", WB_ARG_INT, FIELD(pid), .min = 1, .max = INT32_MAX, .doc = "attach: a process"},
    {"file", WB_ARG_PATH, FIELD(file),
     .doc = "breakpoints: the source file; continue: the file to run to"},
    {"lines", WB_ARG_INTS, FIELD(lines), .max = 1000,
     .doc = "breakpoints: all 1-based lines of the file to stop at; [] clears the file"},
    {"line", WB_ARG_INT, FIELD(line), .min = 1, .max = INT32_MAX,
     .doc = "continue: run to this line of file"},
    {"conditions", WB_ARG_STRINGS, FIELD(conditions), .max = 1000,
     .doc = "breakpoints: beside lines, item by item: stop only if this expression holds; \"\" for "
            "none"},
    {"hit_counts", WB_ARG_STRINGS, FIELD(hit_counts), .max = 1000,
     .doc = "breakpoints: beside lines: \"3\" stops at the third hit, \">=3\" from then on, \"%3\" "
            "at every third"},
    {"log_messages", WB_ARG_STRINGS, FIELD(log_messages), .max = 1000,
     .doc = "breakpoints: beside lines: print this with its {expressions}, and do not stop"},
    {"functions", WB_ARG_STRINGS, FIELD(functions), .max = 1000,
     .doc = "breakpoints: all functions to stop in; [] clears them"},
    {"exceptions", WB_ARG_STRINGS, FIELD(exceptions), .max = 100,
     .doc = "breakpoints: the adapter's exception filters to stop at; default its own choice"},
    {"thread_id", WB_ARG_INT, FIELD(thread_id), .otherwise = WB_DEBUG_NO_THREAD,
     .doc = "default: the thread that stopped"},
    {"wait_seconds", WB_ARG_INT, FIELD(wait_seconds), .otherwise = -1, .max = 3600,
     .doc = "how long to wait for the next stop; default 10 for moves, 0 for status"},
    {"frame_id", WB_ARG_INT, FIELD(frame_id), .min = 1,
     .doc = "a frame of this stop, as stack gave it; evaluate: default the top one"},
    {"reference", WB_ARG_INT, FIELD(reference), .min = 1,
     .doc = "variables: as scopes, variables or evaluate gave it"},
    {"start", WB_ARG_INT, FIELD(start), .max = INT32_MAX,
     .doc = "variables: skip so many children"},
    {"name", WB_ARG_STRING, FIELD(name), .min = 1, .max = 4096,
     .doc = "variables: with value: the child to set"},
    {"value", WB_ARG_STRING, FIELD(value), .max = 65536, .doc = "variables: what to set name to"},
    {"expression", WB_ARG_STRING, FIELD(expression), .min = 1, .max = 65536,
     .doc = "evaluate: an expression of the program's language"},
    {"since", WB_ARG_INT, FIELD(since),
     .doc = "output: only what came after this cursor of an earlier answer"},
    {"category", WB_ARG_ENUM, FIELD(category), .choices = category_names,
     .doc = "output: all (stdout and stderr; default), stdout, stderr, or console: the adapter's "
            "own words"},
};

static const struct wb_arg_rule rules[] = {
    {"adapters", "", ""},
    {"status", "", "wait_seconds"},
    {"breakpoints", "", "file lines conditions hit_counts log_messages functions exceptions"},
    {"launch", "program|restart", "args cwd env mode core stop_on_entry adapter wait_seconds"},
    {"attach", "port|pid", "adapter program stop_on_entry wait_seconds"},
    {"continue", "", "thread_id file line wait_seconds"},
    {"pause", "", "thread_id wait_seconds"},
    {"step_over", "", "thread_id wait_seconds"},
    {"step_in", "", "thread_id wait_seconds"},
    {"step_out", "", "thread_id wait_seconds"},
    {"threads", "", ""},
    {"stack", "", "thread_id"},
    {"scopes", "frame_id", ""},
    {"variables", "reference", "start name value"},
    {"evaluate", "expression", "frame_id"},
    {"output", "", "since category"},
    {"terminate", "", ""},
};

/* pause and terminate end the wait of the call that has the turn. */
static bool interrupts(const void *args)
{
    const struct wb_debug_args *a = args;
    return a->operation == WB_DEBUG_PAUSE || a->operation == WB_DEBUG_TERMINATE;
}

/* A module is no file; every other program is one, with what a test runner wants behind "::". */
static int name_subject(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                        struct wb_error *err)
{
    const struct wb_debug_args *a = args;
    if (a->program.ptr == NULL || a->mode == WB_DEBUG_MODE_MODULE) {
        return 0;
    }
    const char *selector = a->mode == WB_DEBUG_MODE_TEST ? strstr(a->program.ptr, "::") : NULL;
    size_t len = selector != NULL ? (size_t)(selector - a->program.ptr) : a->program.len;
    const struct wb_span name = {wb_arena_strndup(call->arena, a->program.ptr, len), len};
    const char *path = wb_call_path(call, name, err);
    if (path == NULL) {
        return -1;
    }
    wb_gate_add_path(subject, path);
    return 0;
}

/* A connection that was lost meanwhile is a session that ended, and why is known in a moment. */
static int tell_end(struct wb_debug *debug, struct wb_call *call, struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_place_session(debug->place);
    struct wb_debug_view view;
    if (session == NULL || !wb_debug_session_has_ended(session)) {
        return -1;
    }
    wb_debug_session_view(session, call->arena, &view);
    return wb_error_set(err, WB_ERROR_CLOSED, "the session has ended: %s", view.end_reason);
}

static int call_debug(struct wb_call *call, const void *args, struct wb_result *result,
                      struct wb_error *err)
{
    const struct wb_debug_args *a = args;
    struct wb_debug *debug = wb_debug_of_run(call->run);
    if (interrupts(args)) {
        return actions[a->operation](debug, call, a, result, err);
    }
    if (wb_debug_place_take_turn(debug->place, call->deadline_ms, call->cancel, err) != 0) {
        return -1;
    }
    struct wb_error own;
    int status = actions[a->operation](debug, call, a, result, &own);
    if (status != 0) {
        wb_error_set(err, own.code, "%s", own.message);
        if (own.code == WB_ERROR_CLOSED && a->operation != WB_DEBUG_LAUNCH &&
            a->operation != WB_DEBUG_ATTACH) {
            (void)tell_end(debug, call, err);
        }
    }
    wb_debug_place_give_turn(debug->place);
    return status;
}

const struct wb_tool wb_tool_debug = {
    .name = "debug",
    .tier = WB_TIER_EXEC,
    .parallel_safe = false,
    .summary = "Steer a debugger: breakpoints, launch, step, stack, variables, evaluate",
    .description =
        "Runs a program under a debugger. Set breakpoints (file and lines; they may be set before "
        "the launch), launch it, and it stops there: each stop is told with its reason, place, "
        "five source lines and the locals. Then step_over, step_in, step_out, continue (also to a "
        "line), and look: stack, scopes, variables, evaluate. Use it when a value at run time "
        "decides, instead of adding prints and running again. Moves wait up to 10 s for the stop, "
        "then say that the program still runs; status with wait_seconds waits on, pause stops it. "
        "adapters says which debuggers are usable here and how to install the others. One session "
        "a conversation, 30 minutes at most; terminate ends it.",
    .args = {table, WB_COUNT(table), sizeof(struct wb_debug_args), rules, WB_COUNT(rules)},
    .available = wb_debug_available,
    .subject = name_subject,
    .interrupts = interrupts,
    .call = call_debug,
};
