/* kernel_take: what a kernel's process writes, as it comes, on the loop thread. It may be anything:
 * all is checked, and a mistake ends the process. Decides nothing about the cell's course. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "kernel/kernel_private.h"

#define HELLO_FIELD_BYTES_MAX 4096
#define ERROR_FIELD_BYTES_MAX (256 * WB_KIB)

/* Under the lock. The waiting thread, or who wants it next, ends it. */
static void break_off(struct wb_kernel *kernel, const char *what)
{
    if (kernel->broken == NULL) {
        wb_log(WB_LOG_INFO, "kernel: broke its protocol: %s", what);
        kernel->broken = wb_strdup(what);
        pthread_cond_broadcast(&kernel->changed);
    }
}

static char *copy_field(const struct wb_json *object, const char *key, size_t bytes_max)
{
    struct wb_span field = wb_json_span(wb_json_get(object, key));
    return field.ptr != NULL ? wb_strndup(field.ptr, wb_utf8_cut(field, bytes_max)) : NULL;
}

static char *hello_field(const struct wb_json *json, const char *key)
{
    char *field = copy_field(json, key, HELLO_FIELD_BYTES_MAX);
    return field != NULL ? field : wb_strdup("");
}

static void take_hello(struct wb_kernel *kernel, const struct wb_json *json)
{
    if (kernel->state != KERNEL_STARTING ||
        wb_json_int_or(wb_json_get(json, "protocol"), 0) != WB_KERNEL_PROTOCOL) {
        break_off(kernel, "it said hello twice, or in another protocol");
        return;
    }
    kernel->hello = (struct wb_kernel_hello){
        .language = hello_field(json, "language"),
        .version = hello_field(json, "version"),
        .executable = hello_field(json, "executable"),
        .cwd = hello_field(json, "cwd"),
        .pid = wb_json_int_or(wb_json_get(json, "pid"), 0),
    };
    wb_kernel_set_state(kernel, KERNEL_IDLE);
}

static void take_error(struct wb_cell *cell, const struct wb_json *json)
{
    free(cell->error_name);
    free(cell->error_message);
    free(cell->traceback);
    cell->error_name = copy_field(json, "name", HELLO_FIELD_BYTES_MAX);
    cell->error_message = copy_field(json, "message", ERROR_FIELD_BYTES_MAX);
    cell->traceback = copy_field(json, "traceback", ERROR_FIELD_BYTES_MAX);
}

static void take_done(struct wb_kernel *kernel, const struct wb_json *json)
{
    struct wb_cell *cell = kernel->cell;
    const char *status = wb_json_str_or(wb_json_get(json, "status"), "");
    if (kernel->is_done) {
        break_off(kernel, "it ended a cell twice");
        return;
    }
    if (wb_str_equal(status, "ok")) {
        cell->status = WB_CELL_OK;
    } else {
        /* Its call's answer "cancelled" may end it before the interrupt does. */
        cell->status = cell->stop != WB_CELL_STOP_NONE ? WB_CELL_INTERRUPTED : WB_CELL_ERROR;
    }
    free(cell->cwd);
    cell->cwd = copy_field(json, "cwd", WB_PATH_BYTES_MAX);
    cell->ending = wb_json_bool(wb_json_get(json, "ending"), false);
    kernel->is_done = true;
    kernel->done_ms = wb_clock_now_ms();
    kernel->done_mark = (uint64_t)WB_MAX(wb_json_int_or(wb_json_get(json, "mark"), 0), 0);
    pthread_cond_broadcast(&kernel->changed);
}

/* A frame with JSON, of the running cell or HELLO. */
static void take_json(struct wb_kernel *kernel, const struct wb_kernel_frame *frame)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_error err;
    wb_arena_init(&arena);
    const struct wb_json *json = wb_json_parse(&arena, frame->payload, &err);
    if (wb_json_type(json) != WB_JSON_OBJECT) {
        break_off(kernel, "it sent a frame that is no JSON object");
    } else if (frame->type == WB_KERNEL_HELLO) {
        take_hello(kernel, json);
    } else if (frame->type == WB_KERNEL_ERROR) {
        take_error(kernel->cell, json);
    } else {
        take_done(kernel, json);
    }
}

static void take_bundle(struct wb_kernel *kernel, const struct wb_kernel_frame *frame)
{
    struct wb_error err;
    if (wb_displays_take(&kernel->cell->displays, frame->payload, frame->type == WB_KERNEL_RESULT,
                         &err) != 0) {
        break_off(kernel, err.message);
    }
}

/* Under the lock. Calls of tools are not for here. */
static void take_frame(struct wb_kernel *kernel, const struct wb_kernel_frame *frame)
{
    bool is_current = kernel->cell != NULL && frame->cell == kernel->cell_number;
    if (is_current) {
        kernel->active_ms = wb_clock_now_ms();
    }
    switch (frame->type) {
    case WB_KERNEL_HELLO:
        take_json(kernel, frame);
        break;
    case WB_KERNEL_ERROR:
    case WB_KERNEL_DONE:
        if (is_current) {
            take_json(kernel, frame);
        }
        break;
    case WB_KERNEL_DISPLAY:
    case WB_KERNEL_RESULT:
        if (is_current) {
            take_bundle(kernel, frame);
        }
        break;
    default:
        break;
    }
}

static void dispatch(struct wb_kernel *kernel, const struct wb_kernel_frame *frame)
{
    pthread_mutex_lock(&kernel->lock);
    take_frame(kernel, frame);
    pthread_mutex_unlock(&kernel->lock);
    if (frame->type == WB_KERNEL_TOOL_CALL) {
        kernel->port.call(kernel->port.ctx, frame->cell, frame->call, frame->payload);
    } else if (frame->type == WB_KERNEL_TOOL_CANCELLED) {
        kernel->port.cancelled(kernel->port.ctx, frame->cell, frame->call);
    }
}

void wb_kernel_on_frames(void *ctx, const char *ptr, size_t len)
{
    struct wb_kernel *kernel = ctx;
    struct wb_kernel_frame frame;
    struct wb_error err;
    int step;
    wb_kernel_reader_feed(kernel->reader, ptr, len);
    while ((step = wb_kernel_reader_next(kernel->reader, &frame, &err)) > 0) {
        dispatch(kernel, &frame);
    }
    if (step < 0) {
        pthread_mutex_lock(&kernel->lock);
        break_off(kernel, err.message);
        pthread_mutex_unlock(&kernel->lock);
    }
}

void wb_kernel_on_frames_end(void *ctx)
{
    struct wb_kernel *kernel = ctx;
    pthread_mutex_lock(&kernel->lock);
    kernel->lost_ms = wb_clock_now_ms();
    pthread_cond_broadcast(&kernel->changed);
    pthread_mutex_unlock(&kernel->lock);
}

/* Under the lock, as on_mark. What comes behind a cell's last mark is set apart at its end, in order. */
static void on_text(void *ctx, const char *ptr, size_t len)
{
    struct wb_kernel *kernel = ctx;
    bool is_over = kernel->is_done && kernel->seen_mark >= kernel->done_mark;
    if (kernel->cell != NULL && !is_over) {
        kernel->active_ms = wb_clock_now_ms();
    }
    wb_output_add(kernel->cell != NULL ? &kernel->cell->output : &kernel->background, ptr, len);
}

static void on_mark(void *ctx, uint64_t mark)
{
    struct wb_kernel *kernel = ctx;
    kernel->seen_mark = WB_MAX(kernel->seen_mark, mark);
    if (kernel->cell != NULL) {
        wb_cell_mark(kernel->cell, mark);
    }
    if (kernel->is_done) {
        pthread_cond_broadcast(&kernel->changed);
    }
}

void wb_kernel_on_raw(void *ctx, const char *ptr, size_t len)
{
    struct wb_kernel *kernel = ctx;
    pthread_mutex_lock(&kernel->lock);
    /* Before HELLO nothing is a cell's or its background: the child keeps it for the error. */
    if (kernel->state != KERNEL_STARTING) {
        wb_kernel_marks_feed(kernel->marks, ptr, len, on_text, on_mark, kernel);
    }
    pthread_mutex_unlock(&kernel->lock);
}

void wb_kernel_on_exit(void *ctx, const struct wb_child_status *status)
{
    struct wb_kernel *kernel = ctx;
    pthread_mutex_lock(&kernel->lock);
    kernel->has_exited = true;
    kernel->status = *status;
    pthread_cond_broadcast(&kernel->changed);
    pthread_mutex_unlock(&kernel->lock);
}
