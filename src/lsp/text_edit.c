/* text_edit: see text_edit.h. Knows one text, no file and no server. */
#include "lsp/text_edit.h"

#include <stdlib.h>

#include "base/limits.h"
#include "sys/file.h"

/* Of LSP 3.18 (`snippet`) and of a rust-analyzer extension (`insertTextFormat` 2). */
static bool is_snippet(const struct wb_json *edit)
{
    return !wb_json_is_null(wb_json_get(edit, "snippet")) ||
           wb_json_int_or(wb_json_get(edit, "insertTextFormat"), 1) != 1;
}

/* A position at the disputed place may be one behind it that was clamped. The whole text is the whole
 * text where no server counts more lines than we. */
static int check_counting(const struct wb_line_index *index, const struct wb_range *range,
                          size_t end, struct wb_error *err)
{
    bool is_whole = range->start.line == 0 && range->start.character == 0 &&
                    range->end.line >= index->count && index->disputed < index->text.len &&
                    index->text.ptr[index->disputed] == '\r';

    return is_whole ? 0 : wb_line_index_check(index, end + 1, err);
}

int wb_text_edit_read(struct wb_arena *arena, const struct wb_line_index *index,
                      enum wb_position_encoding encoding, const struct wb_json *edit,
                      struct wb_text_edit_list *list, struct wb_error *err)
{
    const struct wb_json *new_text = wb_json_get(edit, "newText");
    struct wb_range range;

    if (is_snippet(edit)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "an edit is a snippet, whose placeholders nobody can fill");
    }
    if (!wb_range_read(wb_json_get(edit, "range"), &range)) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "an edit has no range");
    }
    if (wb_json_type(new_text) != WB_JSON_STRING) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "an edit has no newText");
    }
    size_t start = wb_position_to_offset(index, encoding, range.start);
    size_t end = wb_position_to_offset(index, encoding, range.end);
    if (check_counting(index, &range, WB_MAX(start, end), err) != 0) {
        return -1;
    }
    size_t order = list->count;
    *WB_ARENA_PUSH(arena, list->items, list->count, list->capacity) = (struct wb_text_edit){
        .start = WB_MIN(start, end),
        .end = WB_MAX(start, end),
        .new_text = wb_json_span(new_text),
        .order = order,
    };
    return 0;
}

static int compare_sizes(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

/* By start; inserts before what replaces from there on; else as they came. */
static int compare_edits(const void *a, const void *b)
{
    const struct wb_text_edit *x = a;
    const struct wb_text_edit *y = b;
    int by = compare_sizes(x->start, y->start);

    if (by == 0) {
        by = compare_sizes(x->end != x->start, y->end != y->start);
    }
    return by != 0 ? by : compare_sizes(x->order, y->order);
}

static bool is_same_replacement(const struct wb_text_edit *a, const struct wb_text_edit *b)
{
    return a->start == b->start && a->end == b->end && a->start != a->end &&
           wb_span_equal(a->new_text, b->new_text);
}

/* Sorts, drops duplicates, refuses overlaps. */
static int order_edits(const struct wb_line_index *index, struct wb_text_edit_list *list,
                       struct wb_error *err)
{
    size_t kept = 0;

    if (list->count != 0) {
        qsort(list->items, list->count, sizeof(*list->items), compare_edits);
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct wb_text_edit *edit = &list->items[i];
        const struct wb_text_edit *before = kept != 0 ? &list->items[kept - 1] : NULL;

        if (before != NULL && is_same_replacement(before, edit)) {
            continue;
        }
        if (before != NULL && edit->start < before->end) {
            return wb_error_set(err, WB_ERROR_PROTOCOL, "two edits overlap at line %zu",
                                wb_line_index_find(index, edit->start) + 1);
        }
        list->items[kept++] = *edit;
    }
    list->count = kept;
    return 0;
}

/* LF becomes CRLF, but not one that has its CR already. */
static void add_with_crlf(struct wb_text *out, struct wb_span text)
{
    size_t from = 0;
    size_t feed;

    while ((feed = wb_span_find(text, WB_SPAN("\n"), from)) != SIZE_MAX) {
        size_t end = feed > from && text.ptr[feed - 1] == '\r' ? feed - 1 : feed;

        wb_text_add(out, text.ptr + from, end - from);
        wb_text_add_str(out, "\r\n");
        from = feed + 1;
    }
    wb_text_add(out, text.ptr + from, text.len - from);
}

static void add_with_lf(struct wb_text *out, struct wb_span text)
{
    size_t from = 0;
    size_t crlf;

    while ((crlf = wb_span_find(text, WB_SPAN("\r\n"), from)) != SIZE_MAX) {
        wb_text_add(out, text.ptr + from, crlf - from);
        from = crlf + 1;
    }
    wb_text_add(out, text.ptr + from, text.len - from);
}

/* A text without any line end has no convention: new text stays as it is, as in a mixed one. */
static enum wb_line_end convention_of(struct wb_span text)
{
    return wb_span_find(text, WB_SPAN("\n"), 0) != SIZE_MAX ? wb_file_line_end(text)
                                                            : WB_LINE_MIXED;
}

static void add_new_text(struct wb_text *out, struct wb_span new_text, enum wb_line_end line_end)
{
    switch (line_end) {
    case WB_LINE_CRLF:
        add_with_crlf(out, new_text);
        break;
    case WB_LINE_LF:
        add_with_lf(out, new_text);
        break;
    case WB_LINE_MIXED:
        wb_text_add_span(out, new_text);
        break;
    }
}

int wb_text_edits_apply(struct wb_arena *arena, const struct wb_line_index *index,
                        struct wb_text_edit_list *list, struct wb_span *ret, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_span text = index->text;
    enum wb_line_end line_end = convention_of(text);
    size_t from = 0;

    if (order_edits(index, list, err) != 0) {
        return -1;
    }
    wb_text_reserve(&out, text.len);
    for (size_t i = 0; i < list->count; i++) {
        const struct wb_text_edit *edit = &list->items[i];

        wb_text_add(&out, text.ptr + from, edit->start - from);
        add_new_text(&out, edit->new_text, line_end);
        from = edit->end;
    }
    wb_text_add(&out, text.ptr + from, text.len - from);
    if (out.len > WB_FILE_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "it would have %zu bytes; the limit is %zu",
                            out.len, WB_FILE_BYTES_MAX);
    }
    *ret = wb_arena_span(arena, wb_text_span(&out));
    return 0;
}
