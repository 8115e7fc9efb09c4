/* kernel_run: the course of one cell, on its caller's thread: waits, steps the ladder of an
 * interrupt, and says how it ended. What arrives meanwhile is taken in kernel.c. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "kernel/kernel_private.h"

#define REPEAT_MS 1000     /* after an interrupt: once more */
#define KILL_MS 5000       /* after an interrupt: SIGKILL */
#define MARK_MS 250        /* after DONE: for the text that was printed before it */
#define ENDING_MS 2000     /* after DONE of a cell that ends its kernel */
#define WAIT_EVERY_MS 5000 /* on_wait */

/* One cell on its way. */
struct course {
    struct wb_kernel *kernel;
    const struct wb_kernel_cell_options *options;
    struct wb_cell *cell;
    int64_t begin_ms, interrupted_ms, waited_ms;
    bool is_repeated, is_killed;
    int64_t
        wake_ms; /* of the earliest thing that is to be done; 0: look again, the lock was left */
};

/* Under the lock: is it time? If not, the wait ends then. */
static bool is_due(struct course *course, int64_t at_ms)
{
    course->wake_ms = WB_MIN(course->wake_ms, at_ms);
    return wb_clock_now_ms() >= at_ms;
}

static int64_t after(int64_t from_ms, int64_t ms)
{
    return ms > 0 ? from_ms + ms : WB_NEVER;
}

/* Under the lock: all of the cell is here. */
static bool is_over(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    if (kernel->has_exited) {
        return true;
    }
    if (!kernel->is_done || course->cell->ending) {
        return false;
    }
    return kernel->seen_mark >= kernel->done_mark || is_due(course, kernel->done_ms + MARK_MS);
}

/* Under the lock: why the cell is to be stopped now. */
static enum wb_cell_stop find_stop(struct course *course)
{
    const struct wb_kernel *kernel = course->kernel;
    const struct wb_kernel_cell_options *options = course->options;
    if (kernel->kill_reason != WB_CELL_STOP_NONE) {
        return kernel->kill_reason;
    }
    if (wb_cancel_is_fired(options->cancel)) {
        return WB_CELL_STOP_CANCELLED;
    }
    if (is_due(course, options->deadline_ms)) {
        return WB_CELL_STOP_DEADLINE;
    }
    if (is_due(course, after(course->begin_ms, options->limit_ms))) {
        return WB_CELL_STOP_LIMIT;
    }
    if (kernel->holds == 0 && is_due(course, after(kernel->active_ms, options->inactivity_ms))) {
        return WB_CELL_STOP_INACTIVE;
    }
    return WB_CELL_STOP_NONE;
}

/* Under the lock, which is left meanwhile: ended calls first, so that the cell can end. */
static void begin_interrupt(struct course *course, enum wb_cell_stop stop)
{
    struct wb_kernel *kernel = course->kernel;
    course->cell->stop = stop;
    course->interrupted_ms = wb_clock_now_ms();
    course->wake_ms = 0;
    wb_kernel_set_state(kernel, KERNEL_INTERRUPTING);
    pthread_mutex_unlock(&kernel->lock);
    if (course->options->on_stop != NULL) {
        course->options->on_stop(course->options->ctx);
    }
    (void)!wb_kernel_send(kernel, WB_KERNEL_INTERRUPT, kernel->cell_number, WB_SPAN("{}"));
    pthread_mutex_lock(&kernel->lock);
}

/* Under the lock, which is left meanwhile. A thread that reads no frames may still take a signal. */
static void repeat_interrupt(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    course->is_repeated = true;
    course->wake_ms = 0;
    pthread_mutex_unlock(&kernel->lock);
    (void)!wb_kernel_send(kernel, WB_KERNEL_INTERRUPT, kernel->cell_number, WB_SPAN("{}"));
    if (kernel->prefix == NULL) {
        wb_child_signal(kernel->child, SIGINT, false);
    }
    pthread_mutex_lock(&kernel->lock);
}

/* Under the lock, which is left meanwhile. */
static void kill_now(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    course->is_killed = true;
    kernel->was_cut =
        kernel->lost_ms != 0 && course->cell->stop == WB_CELL_STOP_NONE && !course->cell->ending;
    course->wake_ms = 0;
    pthread_mutex_unlock(&kernel->lock);
    wb_kernel_end_now(kernel);
    pthread_mutex_lock(&kernel->lock);
}

/* Under the lock: must the process go? */
static bool must_be_killed(struct course *course)
{
    const struct wb_kernel *kernel = course->kernel;
    if (kernel->broken != NULL || kernel->kill_reason != WB_CELL_STOP_NONE) {
        return true;
    }
    if (kernel->is_done && course->cell->ending) {
        return is_due(course, kernel->done_ms + ENDING_MS);
    }
    if (kernel->lost_ms != 0) {
        return is_due(course, kernel->lost_ms + WB_KERNEL_LOST_MS);
    }
    return kernel->state == KERNEL_INTERRUPTING && is_due(course, course->interrupted_ms + KILL_MS);
}

/* Under the lock. */
static void step(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    enum wb_cell_stop stop = WB_CELL_STOP_NONE;
    if (kernel->state == KERNEL_RUNNING && !kernel->is_done) {
        stop = find_stop(course);
    }
    if (stop != WB_CELL_STOP_NONE) {
        begin_interrupt(course, stop);
    } else if (must_be_killed(course)) {
        kill_now(course);
    } else if (kernel->state == KERNEL_INTERRUPTING && !course->is_repeated &&
               is_due(course, course->interrupted_ms + REPEAT_MS)) {
        repeat_interrupt(course);
    }
}

/* Under the lock, which is left meanwhile. */
static void tell_wait(struct course *course)
{
    const struct wb_kernel_cell_options *options = course->options;
    if (options->on_wait != NULL && is_due(course, course->waited_ms + WAIT_EVERY_MS)) {
        course->waited_ms = wb_clock_now_ms();
        course->wake_ms = 0;
        pthread_mutex_unlock(&course->kernel->lock);
        options->on_wait(options->ctx, course->waited_ms - course->begin_ms);
        pthread_mutex_lock(&course->kernel->lock);
    }
}

/* --- begin and end --- */

static void put_exec(struct wb_text *out, const struct wb_kernel_cell_options *options)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_member_span(&w, "code", options->code);
    if (options->env != NULL) {
        wb_json_key(&w, "env");
        wb_json_begin_object(&w);
        for (const char *const *entry = options->env; *entry != NULL; entry++) {
            const char *equals = strchr(*entry, '=');
            WB_AUTO(wb_free_p) char *name = wb_strndup(*entry, (size_t)(equals - *entry));
            wb_json_member_str(&w, name, equals + 1);
        }
        wb_json_end_object(&w);
    }
    wb_json_end_object(&w);
}

static void begin(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    WB_AUTO(wb_text_done) struct wb_text exec = {0};
    put_exec(&exec, course->options);
    pthread_mutex_lock(&kernel->lock);
    wb_kernel_set_state(kernel, KERNEL_RUNNING);
    uint32_t number = ++kernel->cell_number;
    kernel->is_done = false;
    kernel->kill_reason = WB_CELL_STOP_NONE;
    kernel->cell = course->cell;
    wb_output_print(&kernel->background, 0, wb_output_offset(&kernel->background),
                    &course->cell->background);
    wb_output_done(&kernel->background);
    wb_output_init(&kernel->background, WB_KERNEL_BACKGROUND_BYTES_MAX, NULL);
    course->begin_ms = course->waited_ms = kernel->active_ms = wb_clock_now_ms();
    pthread_mutex_unlock(&kernel->lock);
    /* A process that is gone is told by its end. */
    (void)!wb_kernel_send(kernel, WB_KERNEL_EXEC, number, wb_text_span(&exec));
}

/* Under the lock. What was printed behind the last mark belongs to no cell. */
static void split_background(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    struct wb_output *output = &course->cell->output;
    WB_AUTO(wb_text_done) struct wb_text surplus = {0};
    uint64_t end = wb_output_offset(output);
    uint64_t own = wb_cell_offset(course->cell, kernel->is_done ? kernel->done_mark : 0);
    course->cell->text_bytes = own;
    wb_output_print(output, own, end, &surplus);
    wb_output_add(&kernel->background, surplus.ptr, surplus.len);
}

/* Under the lock. */
static void end(struct course *course)
{
    struct wb_kernel *kernel = course->kernel;
    struct wb_cell *cell = course->cell;
    bool lives = !kernel->has_exited && !course->is_killed && kernel->broken == NULL &&
                 kernel->lost_ms == 0 && kernel->is_done && !cell->ending;
    split_background(course);
    kernel->cell = NULL;
    if (lives) {
        wb_kernel_set_state(kernel, KERNEL_IDLE);
        return;
    }
    struct wb_text death = {0};
    wb_kernel_describe_end(kernel, &death);
    cell->death = wb_text_steal(&death);
    wb_kernel_set_state(kernel, KERNEL_DEAD);
    if (kernel->is_done && !course->is_killed) {
        return; /* it ended behind the cell, which has its own status */
    }
    cell->status =
        course->is_killed && cell->stop != WB_CELL_STOP_NONE ? WB_CELL_KILLED : WB_CELL_DIED;
}

void wb_kernel_run(struct wb_kernel *kernel, const struct wb_kernel_cell_options *options,
                   struct wb_cell *cell)
{
    struct course course = {.kernel = kernel, .options = options, .cell = cell};
    struct wb_cancel_hook hook = {.fire = wb_kernel_wake, .ctx = kernel};
    begin(&course);
    wb_cancel_hook_add(options->cancel, &hook);
    pthread_mutex_lock(&kernel->lock);
    for (;;) {
        course.wake_ms = WB_NEVER;
        if (is_over(&course) || course.is_killed) {
            break;
        }
        step(&course);
        tell_wait(&course);
        if (course.wake_ms > 0) {
            wb_cond_wait(&kernel->changed, &kernel->lock, course.wake_ms);
        }
    }
    end(&course);
    pthread_mutex_unlock(&kernel->lock);
    wb_cancel_hook_remove(options->cancel, &hook);
}

uint32_t wb_kernel_next_cell(const struct wb_kernel *kernel)
{
    return kernel->cell_number + 1; /* changed by the thread that runs cells alone */
}

void wb_kernel_kill(struct wb_kernel *kernel, enum wb_cell_stop why)
{
    pthread_mutex_lock(&kernel->lock);
    kernel->kill_reason = why;
    pthread_cond_broadcast(&kernel->changed);
    pthread_mutex_unlock(&kernel->lock);
}

/* --- for the port --- */

void wb_kernel_hold(struct wb_kernel *kernel, int change)
{
    pthread_mutex_lock(&kernel->lock);
    kernel->holds += change;
    assert(kernel->holds >= 0);
    kernel->active_ms = wb_clock_now_ms();
    if (kernel->holds == 0) {
        pthread_cond_broadcast(&kernel->changed); /* the budget runs again */
    }
    pthread_mutex_unlock(&kernel->lock);
}

void wb_kernel_answer(struct wb_kernel *kernel, uint32_t cell, uint32_t call,
                      struct wb_span payload)
{
    WB_AUTO(wb_text_done) struct wb_text frame = {0};
    wb_kernel_frame_put(&frame, WB_KERNEL_TOOL_RESULT, cell, call, payload);
    struct wb_span bytes = wb_text_span(&frame);
    (void)!wb_child_write(kernel->child, &bytes, 1, NULL);
}

void wb_kernel_add_picture(struct wb_kernel *kernel, uint32_t cell, const char *mime,
                           struct wb_span bytes)
{
    pthread_mutex_lock(&kernel->lock);
    if (kernel->cell != NULL && kernel->cell_number == cell) {
        wb_displays_add_picture(&kernel->cell->displays, kernel->seen_mark, mime, bytes);
    }
    pthread_mutex_unlock(&kernel->lock);
}
