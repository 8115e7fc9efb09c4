/* output: see output.h. */
#include "debug/output.h"

#include <stdlib.h>

#define ESCAPE_BYTES_MAX 64

void wb_debug_output_done(struct wb_debug_output *output)
{
    wb_text_done(&output->text);
    for (size_t i = 0; i < WB_COUNT(output->unfinished); i++) {
        wb_text_done(&output->unfinished[i]);
    }
    free(output->pieces);
}

enum wb_debug_category wb_debug_category_parse(const char *name)
{
    return wb_str_equal(name, "stdout")   ? WB_DEBUG_STDOUT
           : wb_str_equal(name, "stderr") ? WB_DEBUG_STDERR
                                          : WB_DEBUG_CONSOLE;
}

/* Bytes of a terminal sequence at the beginning of s (ECMA-48: CSI, OSC, two bytes); 0: none begins
 * here; SIZE_MAX: it is cut. */
static size_t escape_length(struct wb_span s)
{
    if (s.ptr[0] != '\x1b') {
        return 0;
    }
    if (s.len < 2) {
        return SIZE_MAX;
    }
    if (s.ptr[1] != '[' && s.ptr[1] != ']') {
        return 2;
    }
    for (size_t i = 2; i < s.len && i < ESCAPE_BYTES_MAX; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (s.ptr[1] == '[' ? c >= 0x40 && c <= 0x7e : c == '\a') {
            return i + 1;
        }
    }
    return s.len < ESCAPE_BYTES_MAX ? SIZE_MAX : 1;
}

/* How many bytes at the end are the beginning of a character. */
static size_t cut_character(struct wb_span s)
{
    for (size_t back = 1; back <= 3 && back <= s.len; back++) {
        unsigned char c = (unsigned char)s.ptr[s.len - back];
        if (c >= 0xC0) {
            size_t wanted = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
            return wanted > back ? back : 0;
        }
        if (c < 0x80) {
            return 0;
        }
    }
    return 0;
}

/* Takes sequences and carriage returns before a line end out. What is cut stays in *unfinished. */
static void clean(struct wb_span bytes, struct wb_text *unfinished, struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text whole = *unfinished;
    wb_text_init(unfinished);
    wb_text_add_span(&whole, bytes);
    struct wb_span rest = wb_text_span(&whole);
    size_t held = cut_character(rest);
    rest.len -= held;
    wb_text_add(unfinished, rest.ptr + rest.len, held);
    WB_AUTO(wb_text_done) struct wb_text plain = {0};
    while (rest.len > 0) {
        size_t skip = escape_length(rest);
        bool is_cut = skip == SIZE_MAX || (rest.ptr[0] == '\r' && rest.len == 1);
        if (is_cut) {
            WB_AUTO(wb_text_done) struct wb_text tail = {0};
            wb_text_add_span(&tail, rest);
            wb_text_add_span(&tail, wb_text_span(unfinished));
            wb_text_clear(unfinished);
            wb_text_add_span(unfinished, wb_text_span(&tail));
            break;
        }
        if (skip == 0) {
            skip = 1;
            if (rest.ptr[0] != '\r' || rest.ptr[1] != '\n') {
                const char *stop = rest.ptr + 1;
                while (stop < rest.ptr + rest.len && *stop != '\x1b' && *stop != '\r') {
                    stop++;
                }
                skip = (size_t)(stop - rest.ptr);
                wb_text_add(&plain, rest.ptr, skip);
            }
        }
        rest = (struct wb_span){rest.ptr + skip, rest.len - skip};
    }
    wb_text_add_utf8(out, wb_text_span(&plain));
}

static void drop_oldest(struct wb_debug_output *output)
{
    size_t gone = output->text.len - WB_DEBUG_OUTPUT_BYTES_MAX / 2;
    while (gone < output->text.len && ((unsigned char)output->text.ptr[gone] & 0xC0) == 0x80) {
        gone++;
    }
    wb_text_remove_head(&output->text, gone);
    output->begin += gone;
    size_t first = 0;
    while (first + 1 < output->n_pieces && output->pieces[first + 1].begin <= output->begin) {
        first++;
    }
    output->n_pieces -= first;
    memmove(output->pieces, output->pieces + first, output->n_pieces * sizeof(*output->pieces));
}

static size_t category_index(enum wb_debug_category category)
{
    return category == WB_DEBUG_STDOUT ? 0 : category == WB_DEBUG_STDERR ? 1 : 2;
}

void wb_debug_output_add(struct wb_debug_output *output, enum wb_debug_category category,
                         struct wb_span bytes)
{
    if (bytes.len > WB_DEBUG_OUTPUT_BYTES_MAX) {
        bytes.ptr += bytes.len - WB_DEBUG_OUTPUT_BYTES_MAX;
        bytes.len = WB_DEBUG_OUTPUT_BYTES_MAX;
    }
    uint64_t begin = wb_debug_output_end(output);
    clean(bytes, &output->unfinished[category_index(category)], &output->text);
    if (wb_debug_output_end(output) == begin) {
        return;
    }
    if (output->n_pieces == 0 || output->pieces[output->n_pieces - 1].category != category) {
        WB_GROW(output->pieces, output->pieces_capacity, output->n_pieces + 1);
        output->pieces[output->n_pieces++] = (struct wb_debug_piece){begin, category};
    }
    if (output->text.len > WB_DEBUG_OUTPUT_BYTES_MAX) {
        drop_oldest(output);
    }
}

uint64_t wb_debug_output_end(const struct wb_debug_output *output)
{
    return output->begin + output->text.len;
}

uint64_t wb_debug_output_read(const struct wb_debug_output *output, uint64_t since,
                              unsigned categories, struct wb_text *out)
{
    uint64_t end = wb_debug_output_end(output);
    uint64_t from = WB_MAX(since, output->begin);
    for (size_t i = 0; i < output->n_pieces; i++) {
        uint64_t begin = WB_MAX(output->pieces[i].begin, from);
        uint64_t stop = i + 1 < output->n_pieces ? output->pieces[i + 1].begin : end;
        if (begin < stop && (output->pieces[i].category & categories) != 0) {
            wb_text_add(out, output->text.ptr + (begin - output->begin), stop - begin);
        }
    }
    return from > since ? from - since : 0;
}
