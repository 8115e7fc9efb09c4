/* child_run: a program run to its end, its output kept head and tail.
 *
 * Collecting happens on the loop thread; the caller reads what was collected after the child's end,
 * when the loop has nothing of it any more. Must not know what the output means. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sys/child.h"

/* From SIGTERM to SIGKILL after a deadline or a cancel. */
#define TERM_MS 500

struct keeper {
    size_t half_bytes;   /* kept at each end */
    struct wb_text head; /* filled first */
    struct wb_text tail; /* at most twice half_bytes, then the older half goes */
    size_t cut_bytes;
};

struct collector {
    const struct wb_child_run *run;
    struct keeper out, err;
};

static void keep_tail(struct keeper *keeper)
{
    if (keeper->tail.len > keeper->half_bytes) {
        size_t extra = keeper->tail.len - keeper->half_bytes;
        wb_text_remove_head(&keeper->tail, extra);
        keeper->cut_bytes += extra;
    }
}

static void keep(struct keeper *keeper, const char *ptr, size_t len)
{
    size_t to_head = WB_MIN(len, keeper->half_bytes - keeper->head.len);
    wb_text_add(&keeper->head, ptr, to_head);
    wb_text_add(&keeper->tail, ptr + to_head, len - to_head);
    if (keeper->tail.len > 2 * keeper->half_bytes) {
        keep_tail(keeper);
    }
}

/* Bytes at the head's end that begin a character whose rest is cut. */
static size_t torn_end_bytes(struct wb_span head)
{
    for (size_t back = 1; back <= 3 && back <= head.len; back++) {
        unsigned char byte = (unsigned char)head.ptr[head.len - back];
        if ((byte & 0xC0) != 0x80) {
            size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
            return whole > back ? back : 0;
        }
    }
    return 0;
}

/* Bytes at the tail's start that belong to a line, or at least to a character, that is cut. */
static size_t torn_start_bytes(struct wb_span tail)
{
    size_t line_end = wb_span_find(tail, WB_SPAN("\n"), 0);
    if (line_end < tail.len / 4) {
        return line_end + 1;
    }
    size_t n = 0;
    while (n < tail.len && ((unsigned char)tail.ptr[n] & 0xC0) == 0x80) {
        n++;
    }
    return n;
}

/* The two ends as one text. */
static void join(struct keeper *keeper, struct wb_text *ret, size_t *ret_cut_bytes)
{
    keep_tail(keeper);
    *ret = keeper->head;
    struct wb_span tail = wb_text_span(&keeper->tail);
    if (keeper->cut_bytes != 0) {
        size_t end = torn_end_bytes(wb_text_span(ret)), start = torn_start_bytes(tail);
        keeper->cut_bytes += end + start;
        wb_text_cut(ret, ret->len - end);
        tail = (struct wb_span){tail.ptr + start, tail.len - start};
        wb_text_printf(ret, "\n[... %zu bytes left out ...]\n", keeper->cut_bytes);
    }
    wb_text_add_span(ret, tail);
    wb_text_done(&keeper->tail);
    *ret_cut_bytes = keeper->cut_bytes;
}

static void on_out(void *ctx, const char *ptr, size_t len)
{
    struct collector *collector = ctx;
    keep(&collector->out, ptr, len);
    if (collector->run->on_output != NULL) {
        collector->run->on_output(collector->run->ctx, false, ptr, len);
    }
}

static void on_err(void *ctx, const char *ptr, size_t len)
{
    struct collector *collector = ctx;
    keep(&collector->err, ptr, len);
    if (collector->run->on_output != NULL) {
        collector->run->on_output(collector->run->ctx, true, ptr, len);
    }
}

/* Input over the queue's limit is an error; a program that does not want its input is none. */
static int feed(struct wb_child *child, struct wb_span input, struct wb_error *err)
{
    struct wb_error refused;
    if (input.len != 0 && wb_child_write(child, &input, 1, &refused) != 0 &&
        refused.code == WB_ERROR_LIMIT) {
        return wb_error_set(err, WB_ERROR_LIMIT, "%s", refused.message);
    }
    wb_child_close_stdin(child);
    return 0;
}

static void await_end(struct wb_child *child, const struct wb_child_run *run,
                      struct wb_child_output *ret)
{
    if (wb_child_wait(child, run->deadline_ms, run->cancel, &ret->status)) {
        return;
    }
    ret->cancelled = wb_cancel_is_fired(run->cancel);
    ret->timed_out = !ret->cancelled;
    wb_child_stop(child, 0, TERM_MS);
    wb_child_wait(child, 0, NULL, &ret->status);
}

int wb_child_run(struct wb_loop *loop, const struct wb_child_run *run, struct wb_child_output *ret,
                 struct wb_error *err)
{
    struct collector collector = {.run = run};
    collector.out.half_bytes = collector.err.half_bytes = run->output_bytes_max / 2;
    struct wb_child_options options = *run->options;
    options.out = (struct wb_stream_handler){.on_data = on_out, .ctx = &collector};
    options.on_stderr = on_err;
    options.on_exit = NULL;
    options.ctx = &collector;
    struct wb_child *child = wb_child_start(loop, &options, err);
    if (child == NULL) {
        return -1;
    }
    *ret = (struct wb_child_output){0};
    int result = feed(child, run->input, err);
    if (result == 0) {
        await_end(child, run, ret);
    }
    wb_child_free(child);
    join(&collector.out, &ret->out, &ret->out_cut_bytes);
    join(&collector.err, &ret->err, &ret->err_cut_bytes);
    if (result != 0) {
        wb_child_output_done(ret);
    }
    return result;
}

void wb_child_output_done(struct wb_child_output *output)
{
    wb_text_done(&output->out);
    wb_text_done(&output->err);
}
