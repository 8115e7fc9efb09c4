/* fuzz_position: lsp/position.h on any bytes. Every offset at the start of a character comes back from
 * its position in each encoding; any offset comes back as one before it on the same line; a symbol is
 * found or refused. The input is the symbol, a line feed, the text. */
#include <stdint.h>
#include <stdlib.h>

#include "lsp/position.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_offset(const struct wb_line_index *index, enum wb_position_encoding encoding,
                         size_t offset, bool is_boundary)
{
    struct wb_position position = wb_position_from_offset(index, encoding, offset);
    size_t back = wb_position_to_offset(index, encoding, position);

    check(position.line == wb_line_index_find(index, offset));
    check(is_boundary ? back == offset : back <= offset || offset < index->starts[0]);
}

/* Characters are walked within a line, as a position is. */
static void check_line(const struct wb_line_index *index, size_t line)
{
    struct wb_span text = wb_line_index_line(index, line);
    size_t start = index->starts[line];
    size_t end = line + 1 < index->count ? index->starts[line + 1] : index->text.len;
    uint32_t codepoint;

    for (size_t at = 0; start + at < end || at <= text.len;) {
        size_t rest = text.len > at ? text.len - at : 0;
        size_t len = rest != 0 ? wb_utf8_decode(text.ptr + at, rest, &codepoint) : 1;

        for (int encoding = WB_POSITION_UTF8; encoding <= WB_POSITION_UTF32; encoding++) {
            check_offset(index, (enum wb_position_encoding)encoding, start + at, at <= text.len);
            if (len > 1) {
                check_offset(index, (enum wb_position_encoding)encoding, start + at + 1, false);
            }
        }
        at += WB_MAX(len, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_span text = {(const char *)data, size};
    struct wb_span symbol = {0};
    struct wb_line_index index;
    struct wb_symbol_hits hits;
    struct wb_error err;

    wb_span_next_line(&text, &symbol);
    wb_line_index_init(&arena, text, &index);
    for (size_t line = 0; line < index.count; line++) {
        check_line(&index, line);
        if (wb_position_find_symbol(&arena, &index, (int64_t)line + 1, symbol, &hits, &err) != 0) {
            check(wb_utf8_valid(wb_span(err.message)));
            continue;
        }
        check(hits.count != 0);
        for (size_t i = 0; i < hits.count; i++) {
            check(wb_line_index_find(&index, hits.offsets[i]) == line && hits.lengths[i] != 0);
            check(hits.offsets[i] + hits.lengths[i] <= text.len);
        }
    }
    for (int encoding = WB_POSITION_UTF8; encoding <= WB_POSITION_UTF32; encoding++) {
        struct wb_position far_away = {UINT32_MAX, UINT32_MAX};
        size_t end = wb_position_to_offset(&index, (enum wb_position_encoding)encoding, far_away);

        check(end == text.len);
    }
    return 0;
}
