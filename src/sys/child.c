/* child: one process behind its guard, seen from the host.
 *
 *   running --ENDED report--> dead --control socket ends--> gone --out and err ended--> ended
 *
 * Three streams feed it, all on the loop thread: the child's stdin and stdout, its stderr, and the
 * guard's control socket. The states are under the lock; whoever waits is woken at the last one.
 * Must not know what the child speaks. */
#include "sys/child.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "sys/guard/protocol.h"
#include "sys/spawn.h"

/* After SIGKILL to the tree: what is left then is stuck in the kernel or is not ours to kill. */
#define KILL_WAIT_MS 5000

enum wb_child_state { CHILD_RUNNING, CHILD_DEAD, CHILD_GONE, CHILD_ENDED };

struct wb_child {
    struct wb_loop *loop;
    struct wb_stream_handler out;
    void (*on_stderr)(void *ctx, const char *ptr, size_t len);
    void (*on_exit)(void *ctx, const struct wb_child_status *status);
    void *ctx;
    pid_t pid, guard_pid;
    int64_t memory_bytes;
    struct wb_stream *stdio, *err, *control; /* err NULL: goes to stdout */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t woken; /* ended, or somebody's wait is cancelled */
    enum wb_child_state state;
    bool tree_gone; /* the guard has said so */
    bool out_ended, err_ended;
    bool given_up; /* freed though something survived */
    struct wb_child_status status;
    struct wb_text tail; /* at most twice WB_CHILD_STDERR_TAIL_BYTES */
    bool tail_cut;
};

/* Under the lock. */
static void set_state(struct wb_child *child, enum wb_child_state state)
{
    static const char *const names[] = {"running", "dead", "gone", "ended"};
    assert(state > child->state);
    wb_log(WB_LOG_DEBUG, "process %d: %s -> %s", (int)child->pid, names[child->state],
           names[state]);
    child->state = state;
    if (state == CHILD_ENDED) {
        pthread_cond_broadcast(&child->woken);
    }
}

/* Loop thread: the last of guard, stdout and stderr ends the child. */
static void end_if_complete(struct wb_child *child)
{
    pthread_mutex_lock(&child->lock);
    bool complete = child->state == CHILD_GONE && child->out_ended && child->err_ended;
    if (complete) {
        set_state(child, CHILD_ENDED);
    }
    struct wb_child_status status = child->status;
    pthread_mutex_unlock(&child->lock);
    if (complete && child->on_exit != NULL) {
        child->on_exit(child->ctx, &status);
    }
}

static void on_out_data(void *ctx, const char *ptr, size_t len)
{
    struct wb_child *child = ctx;
    child->out.on_data(child->out.ctx, ptr, len);
}

static void on_out_end(void *ctx)
{
    struct wb_child *child = ctx;
    if (child->out.on_end != NULL) {
        child->out.on_end(child->out.ctx);
    }
    pthread_mutex_lock(&child->lock);
    child->out_ended = true;
    pthread_mutex_unlock(&child->lock);
    end_if_complete(child);
}

static void on_err_data(void *ctx, const char *ptr, size_t len)
{
    struct wb_child *child = ctx;
    pthread_mutex_lock(&child->lock);
    wb_text_add(&child->tail, ptr, len);
    if (child->tail.len > 2 * WB_CHILD_STDERR_TAIL_BYTES) {
        wb_text_remove_head(&child->tail, child->tail.len - WB_CHILD_STDERR_TAIL_BYTES);
        child->tail_cut = true;
    }
    pthread_mutex_unlock(&child->lock);
    if (child->on_stderr != NULL) {
        child->on_stderr(child->ctx, ptr, len);
    }
}

static void on_err_end(void *ctx)
{
    struct wb_child *child = ctx;
    pthread_mutex_lock(&child->lock);
    child->err_ended = true;
    pthread_mutex_unlock(&child->lock);
    end_if_complete(child);
}

static struct wb_child_status decode_status(const struct wb_guard_record *report,
                                            int64_t memory_bytes)
{
    int status = report->value;
    return (struct wb_child_status){
        .exited = WIFEXITED(status),
        .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .memory = report->flag != 0,
        .memory_bytes = report->flag != 0 ? memory_bytes : 0,
    };
}

static void on_control_data(void *ctx, const char *ptr, size_t len)
{
    struct wb_child *child = ctx;
    struct wb_guard_record report;
    if (len != sizeof(report)) {
        return;
    }
    memcpy(&report, ptr, sizeof(report));
    pthread_mutex_lock(&child->lock);
    if (report.kind == WB_GUARD_ENDED && child->state == CHILD_RUNNING) {
        child->status = decode_status(&report, child->memory_bytes);
        set_state(child, CHILD_DEAD);
    } else if (report.kind == WB_GUARD_GONE) {
        child->tree_gone = true;
    }
    pthread_mutex_unlock(&child->lock);
}

/* Under the lock. Somebody killed the guard: what is left of the child's own process group goes with it. */
static void end_orphan(struct wb_child *child)
{
    wb_log(WB_LOG_DEBUG, "process %d: its guard %d is gone", (int)child->pid,
           (int)child->guard_pid);
    kill(-child->pid, SIGKILL);
    if (child->state == CHILD_RUNNING) {
        child->status.signal = SIGKILL;
    }
}

static void on_control_end(void *ctx)
{
    struct wb_child *child = ctx;
    pthread_mutex_lock(&child->lock);
    bool given_up = child->given_up;
    if (!child->tree_gone) {
        end_orphan(child);
    }
    set_state(child, CHILD_GONE);
    pthread_mutex_unlock(&child->lock);
    /* Its socket closed, the guard is in its exit. */
    waitpid(child->guard_pid, NULL, given_up ? WNOHANG : 0);
    /* All of the child's output is in the pipes now; a stranger who got hold of their other end
     * must not keep the child from ending. */
    wb_stream_drain(child->stdio);
    if (child->err != NULL) {
        wb_stream_drain(child->err);
    }
    end_if_complete(child);
}

static void open_streams(struct wb_child *child, const struct wb_spawned *spawned)
{
    struct wb_stream_handler out = {
        .on_data = spawned->out >= 0 ? on_out_data : NULL, .on_end = on_out_end, .ctx = child};
    struct wb_stream_handler err = {.on_data = on_err_data, .on_end = on_err_end, .ctx = child};
    struct wb_stream_handler control = {
        .on_data = on_control_data, .on_end = on_control_end, .ctx = child};
    child->stdio = wb_stream_open_take(child->loop, spawned->out, spawned->in, &out);
    if (spawned->err >= 0) {
        child->err = wb_stream_open_take(child->loop, spawned->err, -1, &err);
    }
    /* Last: its end reaches for the others. */
    child->control = wb_stream_open_take(child->loop, spawned->control, spawned->control, &control);
}

struct wb_child *wb_child_start(struct wb_loop *loop, const struct wb_child_options *options,
                                struct wb_error *err)
{
    struct wb_spawned spawned;
    if (wb_loop_start(loop, err) != 0 || wb_spawn(options, &spawned, err) != 0) {
        return NULL;
    }
    struct wb_child *child = wb_alloc(sizeof(*child));
    child->loop = loop;
    child->out = options->out;
    child->on_stderr = options->on_stderr;
    child->on_exit = options->on_exit;
    child->ctx = options->ctx;
    child->pid = spawned.pid;
    child->guard_pid = spawned.guard_pid;
    child->memory_bytes = options->memory_bytes;
    child->err_ended = options->stderr_to_stdout;
    pthread_mutex_init(&child->lock, NULL);
    wb_cond_init(&child->woken);
    wb_text_init(&child->tail);
    wb_log(WB_LOG_DEBUG, "process %d: started %s, guard %d", (int)child->pid, options->argv[0],
           (int)child->guard_pid);
    open_streams(child, &spawned);
    return child;
}

int wb_child_pid(const struct wb_child *child)
{
    return child->pid;
}

int wb_child_write(struct wb_child *child, const struct wb_span *spans, size_t n,
                   struct wb_error *err)
{
    return wb_stream_write(child->stdio, spans, n, err);
}

void wb_child_close_stdin(struct wb_child *child)
{
    wb_stream_close_write(child->stdio);
}

/* A guard that somebody has stopped obeys nothing. It is reaped only behind CHILD_GONE: until then
 * its number is its own. */
static void wake_guard(struct wb_child *child)
{
    pthread_mutex_lock(&child->lock);
    if (child->state < CHILD_GONE) {
        kill(child->guard_pid, SIGCONT);
    }
    pthread_mutex_unlock(&child->lock);
}

void wb_child_signal(struct wb_child *child, int signal, bool tree)
{
    wake_guard(child);
    struct wb_guard_record order = {WB_GUARD_SIGNAL, signal, tree};
    struct wb_span bytes = {(const char *)&order, sizeof(order)};
    (void)!wb_stream_write(child->control, &bytes, 1, NULL); /* refused: it has ended */
}

static void wake_waiter(void *ctx)
{
    struct wb_child *child = ctx;
    pthread_mutex_lock(&child->lock);
    pthread_cond_broadcast(&child->woken);
    pthread_mutex_unlock(&child->lock);
}

bool wb_child_wait(struct wb_child *child, int64_t deadline_ms, struct wb_cancel *cancel,
                   struct wb_child_status *ret_status)
{
    assert(!wb_loop_is_current(child->loop));
    struct wb_cancel_hook hook = {.fire = wake_waiter, .ctx = child};
    if (cancel != NULL) {
        wb_cancel_hook_add(cancel, &hook);
    }
    pthread_mutex_lock(&child->lock);
    while (child->state != CHILD_ENDED && !wb_cancel_is_fired(cancel) &&
           wb_cond_wait(&child->woken, &child->lock, deadline_ms)) {
    }
    bool ended = child->state == CHILD_ENDED;
    if (ended && ret_status != NULL) {
        *ret_status = child->status;
    }
    pthread_mutex_unlock(&child->lock);
    if (cancel != NULL) {
        wb_cancel_hook_remove(cancel, &hook);
    }
    return ended;
}

bool wb_child_ended(struct wb_child *child)
{
    pthread_mutex_lock(&child->lock);
    bool ended = child->state == CHILD_ENDED;
    pthread_mutex_unlock(&child->lock);
    return ended;
}

/* One rung of the ladder; without time it is left out. */
static bool ends_within(struct wb_child *child, int64_t ms)
{
    return ms > 0 && wb_child_wait(child, wb_clock_deadline(ms), NULL, NULL);
}

bool wb_child_stop(struct wb_child *child, int64_t eof_ms, int64_t term_ms)
{
    if (wb_child_ended(child)) {
        return true;
    }
    wb_child_close_stdin(child);
    if (ends_within(child, eof_ms)) {
        return true;
    }
    if (term_ms > 0) {
        wb_child_signal(child, SIGTERM, true);
    }
    if (ends_within(child, term_ms)) {
        return true;
    }
    wb_child_signal(child, SIGKILL, true);
    bool ended = ends_within(child, KILL_WAIT_MS);
    if (!ended) {
        wb_log(WB_LOG_WARNING, "process %d, or one that it started, survives SIGKILL",
               (int)child->pid);
    }
    return ended;
}

void wb_child_stderr_tail(struct wb_child *child, struct wb_text *out)
{
    pthread_mutex_lock(&child->lock);
    struct wb_span tail = wb_text_span(&child->tail);
    bool cut = child->tail_cut;
    if (tail.len > WB_CHILD_STDERR_TAIL_BYTES) {
        cut = true;
        tail.ptr += tail.len - WB_CHILD_STDERR_TAIL_BYTES;
        tail.len = WB_CHILD_STDERR_TAIL_BYTES;
    }
    size_t line_end = cut ? wb_span_find(tail, WB_SPAN("\n"), 0) : SIZE_MAX;
    if (line_end != SIZE_MAX && line_end + 1 < tail.len) {
        tail.ptr += line_end + 1;
        tail.len -= line_end + 1;
    }
    wb_text_add_utf8(out, tail);
    pthread_mutex_unlock(&child->lock);
}

void wb_child_free(struct wb_child *child)
{
    if (child == NULL) {
        return;
    }
    bool ended = wb_child_stop(child, 0, 0);
    pthread_mutex_lock(&child->lock);
    child->given_up = !ended;
    pthread_mutex_unlock(&child->lock);
    wb_stream_free(child->control);
    wb_stream_free(child->stdio);
    wb_stream_free(child->err);
    wb_text_done(&child->tail);
    pthread_cond_destroy(&child->woken);
    pthread_mutex_destroy(&child->lock);
    free(child);
}

void wb_child_describe(const struct wb_child_status *status, struct wb_text *out)
{
    if (status->memory) {
        wb_text_printf(out, "was killed: over its memory limit of %lld MB",
                       (long long)(status->memory_bytes / (int64_t)WB_MIB));
    } else if (status->exited) {
        wb_text_printf(out, "exited with status %d", status->exit_code);
    } else {
        const char *name = sigabbrev_np(status->signal);
        wb_text_printf(out, "was killed by signal %d (SIG%s)", status->signal,
                       name != NULL ? name : "?");
    }
}
