/* call_tool: what a tool asks of its call: names of files, progress, deadlines, writing. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "run/call_record.h"
#include "run/run_private.h"
#include "sys/path.h"

#define PROGRESS_BYTES_MAX 512
#define PATIENCE_MS 10000 /* between two words of a call that waits for a human */

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

/* --- asking --- */

/* Tells the caller now and then that it is a human who is waited for: clients give up on calls that say
 * nothing for a minute. */
struct patience {
    struct wb_call *call;
    pthread_mutex_t lock; /* of the rest */
    struct wb_timer *timer;
    bool is_over;
};

static void tell_waiting(void *ctx)
{
    struct patience *patience = ctx;
    struct wb_loop *loop = wb_host_loop(patience->call->run->host);
    pthread_mutex_lock(&patience->lock);
    struct wb_timer *fired = NULL;
    if (!patience->is_over) { /* otherwise end_waiting has the timer */
        fired = patience->timer;
        wb_call_progress(patience->call, 0, 0, "waiting for the operator's answer");
        patience->timer = wb_timer_start(loop, PATIENCE_MS, tell_waiting, patience);
    }
    pthread_mutex_unlock(&patience->lock);
    wb_timer_stop(fired);
}

static void begin_waiting(struct patience *patience, struct wb_call *call)
{
    *patience = (struct patience){.call = call, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (call->options->on_progress != NULL) {
        tell_waiting(patience);
    }
}

static void end_waiting(struct patience *patience)
{
    pthread_mutex_lock(&patience->lock);
    patience->is_over = true;
    struct wb_timer *timer = patience->timer;
    pthread_mutex_unlock(&patience->lock);
    wb_timer_stop(timer);
    pthread_mutex_destroy(&patience->lock);
}

/* "worker tests, bridge" */
static const char *origin_of(const struct wb_call *call)
{
    const char *origin = call->options->origin != NULL ? call->options->origin : "run";
    return call->run->label != NULL
               ? wb_arena_printf(call->arena, "%s, %s", call->run->label, origin)
               : origin;
}

void wb_call_ask(struct wb_call *call, const struct wb_card *card, int64_t timeout_ms,
                 struct wb_card_answer *ret)
{
    const struct wb_question_port *port = call->run->port;
    struct wb_transcript *transcript = call->run->transcript;
    struct wb_card asked = *card;
    struct patience patience;
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    asked.origin = origin_of(call);
    asked.run_id = call->run->id;
    asked.caller = call->options->ctx;
    asked.transcript = transcript;
    *ret = (struct wb_card_answer){.outcome = WB_CARD_CANCELLED};
    bool records = port->records || port == &wb_question_port_none;
    if (!records) {
        wb_card_put_members(&members, call->id, &asked);
        wb_transcript_add(transcript, call->run->id, "card", wb_text_span(&members));
    }
    begin_waiting(&patience, call);
    port->ask(port->ctx, &asked, wb_call_deadline(call, timeout_ms), call->cancel, call->arena,
              ret);
    end_waiting(&patience);
    if (!records) {
        wb_text_clear(&members);
        wb_card_answer_put_members(&members, call->id, &asked, ret);
        wb_transcript_add(transcript, call->run->id, "answer", wb_text_span(&members));
        wb_transcript_sync(transcript);
    }
}

/* --- writing --- */

static int check_boundary(struct wb_call *call, const char *path, struct wb_error *err)
{
    const char *real = wb_path_real(call->arena, path, err);
    if (real == NULL) {
        return -1;
    }
    if (!wb_call_may_reach(call, real)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "%s is outside the workspace and was not approved: nothing was written",
                            real);
    }
    return 0;
}

/* What the rules say of each file, whichever way the tool came to it. */
static int check_rules(struct wb_call *call, const struct wb_commit_op *op, struct wb_error *err)
{
    const char *real = wb_path_real(call->arena, op->path, err);
    if (real == NULL || wb_gate_pass_path(call, real, err) != 0) {
        return -1;
    }
    if (op->kind != WB_COMMIT_RENAME) {
        return 0;
    }
    real = wb_path_real(call->arena, op->new_path, err);
    return real != NULL ? wb_gate_pass_path(call, real, err) : -1;
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
    for (size_t i = 0; i < n_ops; i++) {
        if (check_rules(call, &ops[i], err) != 0) {
            return -1;
        }
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
