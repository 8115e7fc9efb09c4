/* check_run: one program of a project check, run to its end, and what its exit status and its output
 * say together. Its exit status is believed: output alone never makes a check clean. */
#include "lsp/check.h"

#include "base/clock.h"
#include "sys/child.h"

#define PROGRESS_EVERY_MS 250
#define PROGRESS_BYTES_MAX 120
#define TAIL_BYTES_MAX 1000

const char *wb_check_expand(struct wb_arena *arena, const char *text, const char *root,
                            const char *cache)
{
    WB_AUTO(wb_text_done) struct wb_text out;
    wb_text_init(&out);
    while (*text != '\0') {
        if (wb_str_starts(text, "{root}")) {
            wb_text_add_str(&out, root);
            text += strlen("{root}");
        } else if (wb_str_starts(text, "{cache}")) {
            wb_text_add_str(&out, cache);
            text += strlen("{cache}");
        } else {
            wb_text_add_char(&out, *text++);
        }
    }
    return wb_arena_strdup(arena, wb_text_cstr(&out));
}

const char *const *wb_check_env(struct wb_arena *arena, const struct wb_check_row *row,
                                const char *root, const char *cache)
{
    size_t n = 0;
    const char **env = wb_arena_alloc_array(arena, wb_json_count(row->env) + 1, sizeof(*env));
    for (struct wb_json_iter it = wb_json_iter(row->env); wb_json_next(&it);) {
        if (it.key != NULL && wb_json_str(it.value) != NULL) {
            env[n++] = wb_arena_printf(arena, "%s=%s", it.key,
                                       wb_check_expand(arena, wb_json_str(it.value), root, cache));
        }
    }
    return env;
}

/* Tells the last line of output from time to time. On the loop thread. */
struct progress {
    struct wb_call *call;
    const char *id;
    int64_t next_ms;
};

static void on_output(void *ctx, bool is_stderr, const char *ptr, size_t len)
{
    (void)is_stderr;
    struct progress *progress = ctx;
    struct wb_span line = wb_span_trim((struct wb_span){ptr, len});
    if (line.len == 0 || wb_clock_left_ms(progress->next_ms) > 0) {
        return;
    }
    for (size_t i = line.len; i > 0; i--) {
        if (line.ptr[i - 1] == '\n' || line.ptr[i - 1] == '\r') {
            line = (struct wb_span){line.ptr + i, line.len - i};
            break;
        }
    }
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    line.len = wb_utf8_cut(line, WB_MIN(line.len, (size_t)PROGRESS_BYTES_MAX));
    wb_text_add_utf8(&text, line);
    wb_call_progress(progress->call, 0, 0, "%s: %s", progress->id, wb_text_cstr(&text));
    progress->next_ms = wb_clock_deadline(PROGRESS_EVERY_MS);
}

/* The last lines, for the sentence that says why. */
static const char *tail_of(struct wb_arena *arena, const struct wb_child_output *output)
{
    struct wb_span all = wb_span_trim(wb_text_span(&output->err));
    if (all.len == 0) {
        all = wb_span_trim(wb_text_span(&output->out));
    }
    if (all.len == 0) {
        return "it printed nothing";
    }
    struct wb_span tail = all;
    if (tail.len > TAIL_BYTES_MAX) {
        tail = (struct wb_span){all.ptr + all.len - TAIL_BYTES_MAX, TAIL_BYTES_MAX};
        size_t line_end = wb_span_find(tail, WB_SPAN("\n"), 0);
        size_t torn = line_end != SIZE_MAX ? line_end + 1 : 0;
        tail = (struct wb_span){tail.ptr + torn, tail.len - torn};
    }
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    wb_text_add_utf8(&text, tail);
    return wb_arena_strdup(arena, wb_text_cstr(&text));
}

static bool has_number(const struct wb_json *array, int number)
{
    for (struct wb_json_iter it = wb_json_iter(array); wb_json_next(&it);) {
        if (wb_json_int_or(it.value, -1) == number) {
            return true;
        }
    }
    return false;
}

/* Does what was found explain a status that says so? A compiler's warnings do not make it fail. */
static bool is_explained(const struct wb_check_row *row, const struct wb_diagnostic_list *list,
                         size_t first)
{
    for (size_t i = first; i < list->count; i++) {
        if (row->warnings_fail || list->items[i].severity == WB_SEVERITY_ERROR) {
            return true;
        }
    }
    return false;
}

static enum wb_answer_state judge(const struct wb_check_row *row,
                                  const struct wb_child_status *status,
                                  const struct wb_diagnostic_list *list, size_t first)
{
    bool is_ok =
        row->ok_exit != NULL ? has_number(row->ok_exit, status->exit_code) : status->exit_code == 0;
    bool is_findings = row->findings_exit != NULL
                           ? has_number(row->findings_exit, status->exit_code)
                           : status->exit_code == 1;
    if (status->exited && is_ok) {
        return list->count > first ? WB_ANSWER_FINDINGS : WB_ANSWER_CLEAN;
    }
    return status->exited && is_findings && is_explained(row, list, first) ? WB_ANSWER_FINDINGS
                                                                           : WB_ANSWER_UNKNOWN;
}

static const char *why_unknown(struct wb_arena *arena, const struct wb_check_run *run,
                               const struct wb_child_output *output)
{
    const char *id = run->row->id;
    const char *tail = tail_of(arena, output);
    if (output->timed_out) {
        return wb_arena_printf(arena, "%s did not end in time (its limit is %lld s): %s", id,
                               (long long)run->row->timeout_s, tail);
    }
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    wb_child_describe(&output->status, &text);
    return wb_arena_printf(arena, "%s %s: %s", id, wb_text_cstr(&text), tail);
}

static int parse(struct wb_arena *arena, const struct wb_check_run *run,
                 const struct wb_child_output *output, struct wb_diagnostic_list *list,
                 struct wb_error *err)
{
    bool is_stderr = run->row->output == WB_CHECK_STDERR;
    struct wb_span text = wb_text_span(is_stderr ? &output->err : &output->out);
    return wb_check_parse(arena, run->row, text, &run->paths, list, err);
}

int wb_check_run(const struct wb_check_run *run, struct wb_arena *arena,
                 struct wb_diagnostic_list *list, struct wb_server_answer *ret,
                 struct wb_error *err)
{
    struct wb_host *host = wb_run_host(run->lsp->run);
    struct progress progress = {.call = run->call, .id = run->row->id};
    const struct wb_child_options options = {
        .argv = run->argv,
        .env = run->env,
        .cwd = run->paths.cwd,
        .stderr_to_stdout = run->row->output == WB_CHECK_BOTH,
        .guard = wb_host_guard(host),
    };
    const struct wb_child_run child = {
        .options = &options,
        .output_bytes_max = WB_CHECK_OUTPUT_BYTES_MAX,
        .deadline_ms = wb_call_deadline(run->call, 1000 * run->row->timeout_s),
        .cancel = run->call->cancel,
        .on_output = run->quiet ? NULL : on_output,
        .ctx = &progress,
    };
    struct wb_child_output output;
    struct wb_error failure;
    size_t first = list->count;
    ret->state = WB_ANSWER_UNKNOWN;
    if (wb_child_run(wb_host_loop(host), &child, &output, &failure) < 0) {
        ret->reason = wb_arena_printf(arena, "%s: %s", run->row->id, failure.message);
        return 0;
    }
    if (output.cancelled) {
        wb_child_output_done(&output);
        return wb_error_set(err, WB_ERROR_CANCELLED, "Cancelled while the project check %s ran",
                            run->row->id);
    }
    if (parse(arena, run, &output, list, &failure) < 0) {
        ret->reason = wb_arena_strdup(arena, failure.message);
    } else {
        ret->state =
            output.timed_out ? WB_ANSWER_UNKNOWN : judge(run->row, &output.status, list, first);
        ret->reason = ret->state == WB_ANSWER_UNKNOWN ? why_unknown(arena, run, &output) : NULL;
    }
    wb_child_output_done(&output);
    return 0;
}
