/* eval: a cell in a live interpreter, whose variables last between calls. */
#include "base/clock.h"
#include "kernel/kernels.h"
#include "kernel/report.h"
#include "kernel/spill.h"
#include "run/gate.h"
#include "run/run.h"

#define INACTIVITY_S 300

struct eval_args {
    struct wb_span code, description;
    int language;
    bool reset;
};

static const struct wb_arg table[] = {
    {"code", WB_ARG_STRING, offsetof(struct eval_args, code), .required = true, .min = 1,
     .max = WB_KERNEL_CODE_BYTES_MAX, .doc = "the cell"},
    {"description", WB_ARG_STRING, offsetof(struct eval_args, description), .required = true,
     .min = 1, .max = 500, .doc = "what it does in 5 to 10 words, the caption in the transcript"},
    {"language", WB_ARG_ENUM, offsetof(struct eval_args, language), .otherwise = WB_KERNEL_PYTHON,
     .choices = wb_kernel_language_names, .doc = "python (default) or javascript"},
    {"reset", WB_ARG_BOOL, offsetof(struct eval_args, reset),
     .doc = "drops the interpreter of this language, with its variables, and starts clean first"},
};

static int name_subject(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                        struct wb_error *err)
{
    (void)call;
    (void)err;
    subject->command = ((const struct eval_args *)args)->code.ptr;
    subject->is_code = true;
    return 0;
}

/* It ends the cell that has the turn, and does not wait for it. */
static bool interrupts(const void *args)
{
    return ((const struct eval_args *)args)->reset;
}

/* The calls of this cell, for the kernel's callbacks. */
struct watcher {
    struct wb_call *call;
    struct wb_bridge *bridge;
};

static void on_stop(void *ctx)
{
    wb_bridge_end(((struct watcher *)ctx)->bridge);
}

static void on_wait(void *ctx, int64_t elapsed_ms)
{
    struct watcher *watcher = ctx;
    WB_AUTO(wb_text_done) struct wb_text waits = {0};
    wb_bridge_describe(watcher->bridge, &waits);
    wb_call_progress(watcher->call, elapsed_ms / 1000, 0, "running for %lld s%s%s",
                     (long long)(elapsed_ms / 1000), waits.len > 0 ? ", " : "",
                     wb_text_cstr(&waits));
}

static int call_eval(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    const struct eval_args *a = args;
    const struct wb_config *config = wb_run_config(call->run);
    struct wb_kernel_lease lease;
    struct wb_cell cell;
    if (wb_kernels_take(call, (enum wb_kernel_language)a->language, a->reset, &lease, err) != 0) {
        return -1;
    }
    struct watcher watcher = {call, lease.bridge};
    const struct wb_kernel_cell_options options = {
        .code = a->code,
        .env = lease.cell_env,
        .inactivity_ms = 1000 * wb_config_int(config, "eval.inactivity_s", INACTIVITY_S),
        .limit_ms = 1000 * wb_config_int(config, "eval.limit_s", 0),
        .deadline_ms = call->deadline_ms,
        .cancel = call->cancel,
        .on_stop = on_stop,
        .on_wait = on_wait,
        .ctx = &watcher,
    };
    wb_cell_init(&cell, wb_spill_path(call));
    wb_bridge_begin(lease.bridge, call->run, lease.kernel, wb_kernel_next_cell(lease.kernel));
    wb_kernel_run(lease.kernel, &options, &cell);
    wb_bridge_end(lease.bridge);
    const struct wb_report_options report = {
        .told = wb_text_span(&lease.told),
        .cwd = lease.cwd,
        .inactivity_ms = options.inactivity_ms,
        .limit_ms = options.limit_ms,
    };
    wb_report(call, &cell, &report, result);
    wb_kernels_give(&lease, &cell);
    wb_text_done(&lease.told);
    wb_cell_done(&cell);
    return 0;
}

const struct wb_tool wb_tool_eval = {
    .name = "eval",
    .tier = WB_TIER_EXEC,
    .parallel_safe = false,
    .summary = "Run a cell in a live Python or JavaScript interpreter",
    .description =
        "Runs a cell in an interpreter that stays: variables, imports and loaded data last between "
        "calls. The value of the last expression is returned, as in a notebook; a trailing `;` "
        "hides it. display() shows things, pandas frames come as tables, matplotlib figures as "
        "pictures. In Python the usual notebook idioms work: %pip install, %cd, !command, "
        "x = !command, %%bash, %%timeit. Cells call this run's own tools: in Python "
        "tool(\"read\", {\"path\": \"a.py\"}) returns the call's data (await atool(...) in "
        "parallel), in JavaScript await tool(\"read\", {path: \"a.js\"}) or tool.sync(...); a "
        "refused or failed call raises. JavaScript has top-level await, import and require. There "
        "is no standard input. A cell that is silent for long is interrupted; the result says "
        "whether the state was kept. Use `reset` to start clean.",
    .args = {table, WB_COUNT(table), sizeof(struct eval_args), NULL, 0},
    .available = wb_kernel_available,
    .subject = name_subject,
    .interrupts = interrupts,
    .call = call_eval,
};
