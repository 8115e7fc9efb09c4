/* shell: a command line in the workspace, with everything that it starts gone at its end. */
#include "base/limits.h"
#include "files/content.h"
#include "run/gate.h"
#include "run/run.h"
#include "sys/child.h"
#include "sys/path.h"

#define TIMEOUT_SECONDS_DEFAULT 120
#define TIMEOUT_SECONDS_MAX 3600
#define OUTPUT_BYTES_MAX (4 * WB_MIB)     /* in data */
#define SHOWN_HEAD_BYTES_MAX (8 * WB_KIB) /* in text: errors are at the end more often */
#define SHOWN_TAIL_BYTES_MAX (24 * WB_KIB)

struct shell_args {
    struct wb_span command;
    int64_t timeout_seconds;
};

static const struct wb_arg table[] = {
    {"command", WB_ARG_STRING, offsetof(struct shell_args, command), .required = true, .min = 1,
     .max = 100000, .doc = "the command line, for bash (sh where there is none)"},
    {"timeout_seconds", WB_ARG_INT, offsetof(struct shell_args, timeout_seconds),
     .otherwise = TIMEOUT_SECONDS_DEFAULT, .min = 1, .max = TIMEOUT_SECONDS_MAX,
     .doc = "when to stop it; default 120, at most 3600"},
};

static int name_subject(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                        struct wb_error *err)
{
    const struct shell_args *a = args;
    (void)call;
    if (memchr(a->command.ptr, '\0', a->command.len) != NULL) {
        return wb_error_set(err, WB_ERROR_INVALID, "The command has a NUL byte in it");
    }
    subject->command = a->command.ptr;
    return 0;
}

/* Whole where it fits, else its head and its tail, cut at lines. */
static void show_output(struct wb_text *out, struct wb_span output)
{
    if (output.len <= SHOWN_HEAD_BYTES_MAX + SHOWN_TAIL_BYTES_MAX) {
        wb_text_add_utf8(out, output);
    } else {
        struct wb_span head = {output.ptr, wb_utf8_cut(output, SHOWN_HEAD_BYTES_MAX)};
        const char *head_end = memrchr(head.ptr, '\n', head.len);
        head.len = head_end != NULL ? (size_t)(head_end - head.ptr) + 1 : head.len;
        struct wb_span tail = {output.ptr + output.len - SHOWN_TAIL_BYTES_MAX,
                               SHOWN_TAIL_BYTES_MAX};
        const char *tail_begin = memchr(tail.ptr, '\n', tail.len - 1);
        if (tail_begin != NULL) {
            tail.len -= (size_t)(tail_begin + 1 - tail.ptr);
            tail.ptr = tail_begin + 1;
        }
        wb_text_add_utf8(out, head);
        wb_text_printf(out,
                       "[... %zu bytes of output left out; tail, head or grep choose others]\n",
                       output.len - head.len - tail.len);
        wb_text_add_utf8(out, tail);
    }
    if (out->len != 0 && out->ptr[out->len - 1] != '\n') {
        wb_text_add_char(out, '\n');
    }
}

static void put_data(struct wb_result *result, const struct wb_child_output *output)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_span(&w, "output", wb_text_span(&output->out));
    wb_json_key(&w, "exit_code");
    if (output->status.exited) {
        wb_json_put_int(&w, output->status.exit_code);
    } else {
        wb_json_put_null(&w);
    }
    wb_json_member_int(&w, "signal", output->status.signal);
    wb_json_member_bool(&w, "timed_out", output->timed_out);
    wb_json_member_int(&w, "cut_bytes", (int64_t)output->out_cut_bytes);
    wb_json_end_object(&w);
}

static void tell_end(struct wb_result *result, const struct wb_child_output *output,
                     int64_t timeout_seconds)
{
    struct wb_text *out = &result->text;
    result->is_error = true;
    if (output->cancelled) {
        result->code = WB_ERROR_CANCELLED;
        wb_text_add_str(out,
                        "[cancelled; the command and everything that it started is stopped]\n");
    } else if (output->timed_out) {
        result->code = WB_ERROR_TIMEOUT;
        wb_text_printf(out,
                       "[stopped after %lld seconds, with everything that it started; "
                       "timeout_seconds may be up to %d]\n",
                       (long long)timeout_seconds, TIMEOUT_SECONDS_MAX);
    } else if (output->status.exited && output->status.exit_code == 0) {
        result->is_error = false;
        wb_text_add_str(out, "[exit status 0]\n");
    } else if (output->status.exited) {
        wb_text_printf(out, "[exit status %d]\n", output->status.exit_code);
    } else {
        wb_text_add_str(out, "[the command ");
        wb_child_describe(&output->status, out);
        wb_text_add_str(out, "]\n");
    }
}

static int call_shell(struct wb_call *call, const void *args, struct wb_result *result,
                      struct wb_error *err)
{
    const struct shell_args *a = args;
    struct wb_host *host = wb_run_host(call->run);
    const char *shell = wb_path_find_program(call->arena, "bash", NULL, NULL, NULL);
    const char *const argv[] = {shell != NULL ? shell : "/bin/sh", "-c", a->command.ptr, NULL};
    /* What would wait for a human, or page, or colour, does not. */
    static const char *const env[] = {"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0",
                                      "TERM=dumb", NULL};
    const struct wb_child_options options = {
        .argv = argv,
        .env = env,
        .cwd = wb_run_workspace(call->run),
        .stderr_to_stdout = true,
        .guard = wb_host_guard(host),
    };
    const struct wb_child_run run = {
        .options = &options,
        .output_bytes_max = OUTPUT_BYTES_MAX,
        .deadline_ms = wb_call_deadline(call, a->timeout_seconds * 1000),
        .cancel = call->cancel,
    };
    struct wb_child_output output = {0};
    if (wb_child_run(wb_host_loop(host), &run, &output, err) != 0) {
        return -1;
    }
    show_output(&result->text, wb_text_span(&output.out));
    tell_end(result, &output, a->timeout_seconds);
    put_data(result, &output);
    wb_child_output_done(&output);
    return 0;
}

const struct wb_tool wb_tool_shell = {
    .name = "shell",
    .tier = WB_TIER_EXEC,
    .parallel_safe = true,
    .summary = "Run a command line in the workspace",
    .description =
        "Runs a command line in the workspace's folder and returns its output (standard output "
        "and standard error as they come) and its exit status. Standard input is empty. Processes "
        "that it leaves behind are stopped when it ends. Long output is cut in the middle. For "
        "files prefer read, grep, glob and edit.",
    .args = {table, WB_COUNT(table), sizeof(struct shell_args), NULL, 0},
    .subject = name_subject,
    .call = call_shell,
};
