/* fuzz_kernel_frame: kernel/frame.h and the bundles of kernel/display.h. The first byte says how the
 * rest is cut: what a kernel writes must mean the same however it comes. */
#include <stdint.h>
#include <stdlib.h>

#include "kernel/display.h"
#include "kernel/frame.h"

#define NONCE "n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_frames(struct wb_span bytes, size_t piece_bytes, struct wb_text *out)
{
    struct wb_kernel_reader *reader = wb_kernel_reader_new(NONCE);
    struct wb_kernel_frame frame;
    struct wb_displays displays = {0};
    int step = 0;
    wb_kernel_reader_feed(reader, "werkbank-kernel " NONCE "\n", 18);
    (void)!wb_kernel_reader_next(reader, &frame, NULL);
    for (size_t at = 0; at < bytes.len && step >= 0; at += piece_bytes) {
        wb_kernel_reader_feed(reader, bytes.ptr + at, WB_MIN(piece_bytes, bytes.len - at));
        while ((step = wb_kernel_reader_next(reader, &frame, NULL)) > 0) {
            wb_text_printf(out, "%d %u %u %zu:", (int)frame.type, frame.cell, frame.call,
                           frame.payload.len);
            wb_text_add_span(out, frame.payload);
            if (frame.type == WB_KERNEL_DISPLAY || frame.type == WB_KERNEL_RESULT) {
                (void)!wb_displays_take(&displays, frame.payload, frame.type == WB_KERNEL_RESULT,
                                        NULL);
            }
        }
    }
    wb_text_add_str(out, step < 0 ? "broken" : "");
    wb_text_printf(out, " %zu displays", displays.count);
    wb_displays_done(&displays);
    wb_kernel_reader_free(reader);
}

static void add_text(void *ctx, const char *ptr, size_t len)
{
    wb_text_add(ctx, ptr, len);
}

static void add_mark(void *ctx, uint64_t mark)
{
    wb_text_printf(ctx, "<%llu>", (unsigned long long)mark);
}

static void read_marks(struct wb_span bytes, size_t piece_bytes, struct wb_text *out)
{
    struct wb_kernel_marks *marks = wb_kernel_marks_new(NONCE);
    for (size_t at = 0; at < bytes.len; at += piece_bytes) {
        wb_kernel_marks_feed(marks, bytes.ptr + at, WB_MIN(piece_bytes, bytes.len - at), add_text,
                             add_mark, out);
    }
    /* What is held back is told by what ends it. */
    wb_kernel_marks_feed(marks, "$", 1, add_text, add_mark, out);
    wb_kernel_marks_free(marks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_text_done) struct wb_text whole = {0};
    WB_AUTO(wb_text_done) struct wb_text cut = {0};
    if (size == 0) {
        return 0;
    }
    struct wb_span bytes = {(const char *)data + 1, size - 1};
    size_t piece_bytes = (data[0] >> 1) + 1U;
    void (*read)(struct wb_span, size_t, struct wb_text *) = data[0] & 1 ? read_marks : read_frames;
    read(bytes, bytes.len + 1, &whole);
    read(bytes, piece_bytes, &cut);
    if (!wb_span_equal(wb_text_span(&whole), wb_text_span(&cut))) {
        abort();
    }
    return 0;
}
