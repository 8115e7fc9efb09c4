/* fuzz_frame: wire/frame.h. The first byte chooses the framing and how the rest is cut. A stream cut
 * into pieces must give the same bodies as the whole. */
#include <stdint.h>
#include <stdlib.h>

#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bodies as one text, each with its length in front; how it ended behind. */
static void read_stream(enum wb_framing framing, struct wb_span bytes, size_t piece_bytes,
                        struct wb_text *out)
{
    struct wb_frame_reader reader;
    struct wb_span body;
    int step = 0;

    wb_frame_reader_init(&reader, framing);
    for (size_t at = 0; at < bytes.len && step >= 0; at += piece_bytes) {
        wb_frame_feed(&reader, bytes.ptr + at, WB_MIN(piece_bytes, bytes.len - at));
        while ((step = wb_frame_step(&reader, &body, NULL)) == 1) {
            wb_text_printf(out, "%zu:", body.len);
            wb_text_add_span(out, body);
        }
    }
    wb_text_add_str(out, step < 0 ? "broken" : wb_frame_unfinished(&reader) ? "unfinished" : "");
    wb_frame_reader_done(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_text_done) struct wb_text whole = {0};
    WB_AUTO(wb_text_done) struct wb_text cut = {0};

    if (size == 0) {
        return 0;
    }
    enum wb_framing framing = data[0] & 1 ? WB_FRAMING_LINES : WB_FRAMING_HEADERS;
    struct wb_span bytes = {(const char *)data + 1, size - 1};
    read_stream(framing, bytes, bytes.len + 1, &whole);
    read_stream(framing, bytes, (data[0] >> 1) + 1U, &cut);
    if (!wb_span_equal(wb_text_span(&whole), wb_text_span(&cut))) {
        abort();
    }
    return 0;
}
