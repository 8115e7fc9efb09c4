/* call_tool: what a tool asks of its call: names of files, progress, deadlines, writing. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "run/call_record.h"
#include "run/run_private.h"
#include "sys/path.h"

#define PROGRESS_BYTES_MAX 512

const char *wb_call_relative(const struct wb_call *call, const char *absolute)
{
    return wb_path_relative(absolute, call->run->workspace);
}

void wb_call_progress(struct wb_call *call, int64_t done, int64_t total, const char *fmt, ...)
{
    char message[PROGRESS_BYTES_MAX];
    va_list args;
    if (call->options->on_progress == NULL) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    call->options->on_progress(call->options->ctx, message, done, total);
}

int64_t wb_call_deadline(const struct wb_call *call, int64_t ms)
{
    return WB_MIN(call->deadline_ms, wb_clock_deadline(ms));
}

void wb_call_ask(struct wb_call *call, const struct wb_card *card, int64_t timeout_ms,
                 struct wb_card_answer *ret)
{
    const struct wb_question_port *port = call->run->port;
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    *ret = (struct wb_card_answer){.outcome = WB_CARD_CANCELLED};
    bool records = port->records || port == &wb_question_port_none;
    if (!records) {
        wb_card_put_members(&members, call->id, card);
        wb_transcript_add(call->run->transcript, call->run->id, "card", wb_text_span(&members));
    }
    port->ask(port->ctx, card, wb_call_deadline(call, timeout_ms), call->cancel, call->arena, ret);
    if (!records) {
        wb_text_clear(&members);
        wb_card_answer_put_members(&members, call->id, card, ret);
        wb_transcript_add(call->run->transcript, call->run->id, "answer", wb_text_span(&members));
    }
}

static int check_boundary(struct wb_call *call, const char *path, struct wb_error *err)
{
    const char *real = wb_path_real(call->arena, path, err);
    if (real == NULL) {
        return -1;
    }
    bool is_inside = wb_path_is_inside(real, call->run->workspace);
    for (size_t i = 0; i < call->n_outside && !is_inside; i++) {
        is_inside = wb_path_is_inside(real, call->outside[i]);
    }
    if (!is_inside) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "%s is outside the workspace and was not approved: nothing was written",
                            real);
    }
    return 0;
}

/* With nothing approved outside, the commit itself guards the workspace. Otherwise the boundary is
 * more than one folder, and is checked here. */
static int choose_boundary(struct wb_call *call, struct wb_commit *commit, struct wb_error *err)
{
    commit->boundary = call->n_outside == 0 ? commit->workspace : NULL;
    for (size_t i = 0; commit->boundary == NULL && i < commit->n_ops; i++) {
        const struct wb_commit_op *op = &commit->ops[i];
        if (check_boundary(call, op->path, err) != 0 ||
            (op->kind == WB_COMMIT_RENAME && check_boundary(call, op->new_path, err) != 0)) {
            return -1;
        }
    }
    return 0;
}

static void tell_after(struct wb_call *call, const struct wb_commit *commit, bool written,
                       void **states, struct wb_result *result)
{
    const struct wb_run *run = call->run;
    /* The tool has yet to write its own text: what observers say waits in the notes. */
    struct wb_text own = result->text;
    wb_text_init(&result->text);
    for (size_t i = 0; i < run->n_observers; i++) {
        const struct wb_write_observer *observer = &run->observers[i];
        observer->after(observer->ctx, call, commit, written, states[i], result);
    }
    wb_text_add_span(&result->notes, wb_text_span(&result->text));
    wb_text_done(&result->text);
    result->text = own;
}

int wb_call_write(struct wb_call *call, const struct wb_commit_op *ops, size_t n_ops,
                  struct wb_result *result, struct wb_error *err)
{
    const struct wb_run *run = call->run;
    struct wb_commit commit = {.workspace = run->workspace, .ops = ops, .n_ops = n_ops};
    if (choose_boundary(call, &commit, err) != 0) {
        return -1;
    }
    void **states = wb_arena_alloc_array(call->arena, run->n_observers, sizeof(*states));
    for (size_t i = 0; i < run->n_observers; i++) {
        const struct wb_write_observer *observer = &run->observers[i];
        observer->before(observer->ctx, call, &commit, &states[i]);
    }
    int status = wb_commit_apply(&commit, err);
    wb_call_record_write(call, &commit, status == 0);
    tell_after(call, &commit, status == 0, states, result);
    return status;
}
