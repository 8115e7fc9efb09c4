/* layout: see the header. */
#include "ast/layout.h"

#include <stdlib.h>

#define UNIT_MAX 8

/* --- lines inside strings --- */

static bool has_word(const char *kind, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strstr(kind, *words) != NULL) {
            return true;
        }
    }
    return false;
}

/* By the names that grammars give. */
static bool is_string(const char *kind)
{
    static const char *const words[] = {"string", "heredoc",  "nowdoc", "template",
                                        "sigil",  "charlist", NULL};
    return kind != NULL && has_word(kind, words);
}

/* Tokens of several lines whose lines move with the code: their content is counted from there. */
static bool is_movable(const char *kind)
{
    static const char *const words[] = {"comment", "block_scalar", "jsx_text", NULL};
    return kind != NULL && has_word(kind, words);
}

struct reader {
    struct wb_layout *layout;
    struct wb_arena *arena;
    const struct wb_grammar *grammar;
    const struct wb_flat_tree *tree;
};

static const char *kind_of(const struct reader *r, uint32_t node)
{
    return ts_language_symbol_name(r->grammar->parser, r->tree->nodes[node].kind);
}

static void add_fixed(struct reader *r, uint32_t start, uint32_t end)
{
    struct wb_layout *layout = r->layout;
    if (start < end && memchr(layout->source.ptr + start, '\n', end - start) != NULL) {
        *WB_ARENA_PUSH(r->arena, layout->fixed, layout->n_fixed, layout->fixed_capacity) =
            (struct wb_fixed_range){start, end};
    }
}

static bool is_blank(struct wb_span text)
{
    return wb_span_trim(text).len == 0;
}

/* What a node has between its children: a string's content, where that has no node of its own. In a
 * string the line of what comes behind it begins inside too. */
static void read_gap(struct reader *r, bool in_string, uint32_t start, uint32_t end)
{
    const struct wb_span gap = {r->layout->source.ptr + start, end - start};
    if (start < end && (in_string || !is_blank(gap))) {
        add_fixed(r, start, end + (in_string ? 1 : 0));
    }
}

static void read_inner(struct reader *r, uint32_t node)
{
    const struct wb_flat_node *nodes = r->tree->nodes;
    bool in_string = is_string(kind_of(r, node));
    uint32_t end = node + nodes[node].size, at = nodes[node].start;
    for (uint32_t child = node + 1; child < end; child += nodes[child].size) {
        read_gap(r, in_string, at, nodes[child].start);
        if (in_string && nodes[child].size == 1 && child + 1 < end) {
            add_fixed(r, nodes[child].start,
                      WB_MIN(nodes[child].end + 1, (uint32_t)r->layout->source.len));
        }
        at = WB_MAX(at, nodes[child].end);
    }
    read_gap(r, in_string, at, nodes[node].end);
}

static int by_start(const void *a, const void *b)
{
    const struct wb_fixed_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Sorted, and one for those that overlap. */
static void merge_fixed(struct wb_layout *layout)
{
    size_t n = 0;
    if (layout->n_fixed > 0) {
        qsort(layout->fixed, layout->n_fixed, sizeof(*layout->fixed), by_start);
    }
    for (size_t i = 0; i < layout->n_fixed; i++) {
        struct wb_fixed_range *last = n > 0 ? &layout->fixed[n - 1] : NULL;
        if (last != NULL && layout->fixed[i].start < last->end) {
            last->end = WB_MAX(last->end, layout->fixed[i].end);
        } else {
            layout->fixed[n++] = layout->fixed[i];
        }
    }
    layout->n_fixed = n;
}

static void read_fixed(struct reader *r)
{
    const struct wb_flat_tree *tree = r->tree;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].size > 1) {
            read_inner(r, i);
        } else if (!is_movable(kind_of(r, i))) {
            add_fixed(r, tree->nodes[i].start, tree->nodes[i].end);
        }
    }
    merge_fixed(r->layout);
}

bool wb_layout_is_fixed(const struct wb_layout *layout, uint32_t line_start)
{
    size_t low = 0, high = layout->n_fixed; /* the first range that begins at or behind it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (layout->fixed[middle].start < line_start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && line_start < layout->fixed[low - 1].end;
}

/* --- lines --- */

/* The step by which most lines go in; 0: none does. */
static unsigned likeliest_unit(const size_t steps[UNIT_MAX + 1])
{
    unsigned unit = 0;
    for (unsigned i = 2; i <= UNIT_MAX; i++) {
        unit = steps[i] > steps[unit] ? i : unit;
    }
    return unit;
}

/* Counts by how much lines go in, strings aside. */
static void read_line(struct wb_layout *layout, struct wb_span line, size_t steps[UNIT_MAX + 1],
                      size_t *before, int64_t *n_tabs)
{
    size_t indentation = 0;
    uint32_t start = (uint32_t)(line.ptr - layout->source.ptr);
    if (is_blank(line) || wb_layout_is_fixed(layout, start)) {
        return;
    }
    while (line.ptr[indentation] == ' ') {
        indentation++; /* the line is not blank */
    }
    *n_tabs += (line.ptr[0] == '\t') - (indentation > 1);
    if (indentation > *before && indentation - *before <= UNIT_MAX) {
        steps[indentation - *before]++;
    }
    *before = indentation;
}

static void read_lines(struct reader *r)
{
    struct wb_layout *layout = r->layout;
    size_t n_crlf = 0, before = 0, steps[UNIT_MAX + 1] = {0};
    int64_t n_tabs = 0; /* more lines than go in by blanks */
    struct wb_span rest = layout->source, line;
    do {
        const char *begin = rest.ptr;
        *WB_ARENA_PUSH(r->arena, layout->lines, layout->n_lines, layout->lines_capacity) =
            (uint32_t)(begin - layout->source.ptr);
        if (wb_span_next_line(&rest, &line)) {
            n_crlf += rest.ptr == begin + line.len + 2; /* a line end of two bytes */
            read_line(layout, line, steps, &before, &n_tabs);
        }
    } while (rest.len > 0);
    layout->has_tabs = n_tabs > 0;
    layout->has_crlf = n_crlf * 2 > layout->n_lines;
    layout->unit = layout->has_tabs ? 0 : likeliest_unit(steps);
}

void wb_layout_read(struct wb_layout *ret, struct wb_arena *arena, const struct wb_grammar *grammar,
                    const struct wb_flat_tree *tree, struct wb_span source)
{
    struct reader r = {.layout = ret, .arena = arena, .grammar = grammar, .tree = tree};
    *ret = (struct wb_layout){.source = source};
    read_fixed(&r);
    read_lines(&r);
}

static uint32_t line_start(const struct wb_layout *layout, uint32_t offset)
{
    size_t low = 0, high = layout->n_lines; /* the first line that begins behind it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (layout->lines[middle] <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return layout->lines[low - 1];
}

struct wb_span wb_layout_indentation(const struct wb_layout *layout, uint32_t offset)
{
    const char *source = layout->source.ptr;
    uint32_t start = line_start(layout, offset), end = start;
    while (end < offset && (source[end] == ' ' || source[end] == '\t')) {
        end++;
    }
    return (struct wb_span){source + start, end - start};
}

struct wb_span wb_layout_blanks_before(const struct wb_layout *layout, uint32_t offset)
{
    size_t start = offset;
    while (start > 0 && wb_is_blank(layout->source.ptr[start - 1])) {
        start--;
    }
    return (struct wb_span){layout->source.ptr + start, offset - start};
}

/* --- blocks --- */

void wb_block_done(struct wb_block *block)
{
    wb_text_done(&block->text);
    free(block->fixed);
    *block = (struct wb_block){.fixed = NULL};
}

void wb_block_fix_line(struct wb_block *block)
{
    WB_GROW(block->fixed, block->fixed_capacity, block->n_fixed + 1);
    block->fixed[block->n_fixed++] = block->text.len;
}

void wb_block_add_source(struct wb_block *block, const struct wb_layout *layout, uint32_t start,
                         uint32_t end)
{
    const char *source = layout->source.ptr;
    while (start < end) {
        const char *line_end = memchr(source + start, '\n', end - start);
        uint32_t next = line_end != NULL ? (uint32_t)(line_end - source) + 1 : end;
        wb_text_add(&block->text, source + start, next - start);
        if (line_end != NULL && wb_layout_is_fixed(layout, next)) {
            wb_block_fix_line(block);
        }
        start = next;
    }
}

/* Goes through the lines of a block. */
struct line_cursor {
    const struct wb_block *block;
    size_t at, i_fixed;
    bool is_moved; /* neither the first nor fixed */
};

static bool next_line(struct line_cursor *cursor, struct wb_span *ret)
{
    const struct wb_block *block = cursor->block;
    size_t at = cursor->at, n_left = block->text.len - at;
    const char *line_end = n_left > 0 ? memchr(block->text.ptr + at, '\n', n_left) : NULL;
    *ret = (struct wb_span){n_left > 0 ? block->text.ptr + at : NULL, n_left};
    if (line_end != NULL) {
        ret->len = (size_t)(line_end - ret->ptr) + 1;
    }
    while (cursor->i_fixed < block->n_fixed && block->fixed[cursor->i_fixed] < at) {
        cursor->i_fixed++;
    }
    bool is_fixed = cursor->i_fixed < block->n_fixed && block->fixed[cursor->i_fixed] == at;
    cursor->is_moved = at > 0 && !is_fixed;
    cursor->at = at + ret->len;
    return n_left > 0;
}

struct wb_span wb_block_hanging_indentation(const struct wb_block *block)
{
    struct line_cursor cursor = {.block = block};
    struct wb_span line, shortest = {NULL, SIZE_MAX};
    while (next_line(&cursor, &line)) {
        size_t n = 0;
        while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t')) {
            n++;
        }
        if (cursor.is_moved && !is_blank(line) && n < shortest.len) {
            shortest = (struct wb_span){line.ptr, n};
        }
    }
    return shortest;
}

void wb_block_add_moved(struct wb_block *block, const struct wb_block *piece, struct wb_span from,
                        struct wb_span to)
{
    struct line_cursor cursor = {.block = piece};
    struct wb_span line;
    for (bool is_first = true; next_line(&cursor, &line); is_first = false) {
        if (cursor.is_moved && wb_span_starts(line, from) && !is_blank(line)) {
            wb_text_add_span(&block->text, to);
            line = (struct wb_span){line.ptr + from.len, line.len - from.len};
        } else if (!cursor.is_moved && !is_first) {
            wb_block_fix_line(block);
        }
        wb_text_add_span(&block->text, line);
    }
    if (piece->n_fixed > 0 && piece->fixed[piece->n_fixed - 1] == piece->text.len) {
        wb_block_fix_line(block); /* it ends with a line end inside a string */
    }
}

/* Adds what a line that went in from `from` goes in by now; it may have gone in by less. Returns how
 * much of the line that replaces. */
static size_t add_indentation(struct wb_block *block, struct wb_span line, struct wb_span from,
                              struct wb_span to)
{
    size_t n = 0;
    while (n < line.len && n < from.len && line.ptr[n] == from.ptr[n]) {
        n++;
    }
    bool is_less = n < from.len && (n == line.len || !(line.ptr[n] == ' ' || line.ptr[n] == '\t'));
    if (n < from.len && !is_less) {
        return 0; /* blanks of another kind */
    }
    size_t less = from.len - n;
    wb_text_add(&block->text, to.ptr, to.len > less ? to.len - less : 0);
    return n;
}

void wb_block_add_gap(struct wb_block *block, const struct wb_layout *layout, uint32_t start,
                      uint32_t end, struct wb_span from, struct wb_span to)
{
    struct wb_span source = layout->source;
    while (start < end) {
        const char *line_end = memchr(source.ptr + start, '\n', end - start);
        uint32_t next = line_end != NULL ? (uint32_t)(line_end - source.ptr) + 1 : end;
        wb_text_add(&block->text, source.ptr + start, next - start);
        start = next;
        if (line_end == NULL) {
            break;
        }
        struct wb_span line, rest = {source.ptr + next, source.len - next};
        wb_span_next_line(&rest, &line);
        if (wb_layout_is_fixed(layout, next)) {
            wb_block_fix_line(block);
        } else if (!is_blank(line)) {
            line.len = WB_MIN(line.len, (size_t)(end - next));
            start = next + (uint32_t)add_indentation(block, line, from, to);
        }
    }
}

void wb_block_line_indentation(const struct wb_block *block, size_t floor, struct wb_text *ret)
{
    const char *text = block->text.ptr;
    size_t start = block->text.len, end;
    while (start > floor && text[start - 1] != '\n') {
        start--;
    }
    if (start <= floor) {
        return;
    }
    for (end = start; end < block->text.len && (text[end] == ' ' || text[end] == '\t');) {
        end++;
    }
    wb_text_clear(ret);
    wb_text_add(ret, text + start, end - start);
}

void wb_block_add_line_end(struct wb_block *block, const struct wb_layout *layout)
{
    wb_text_add_str(&block->text, layout->has_crlf ? "\r\n" : "\n");
}

void wb_block_add_levels(struct wb_block *block, const struct wb_layout *layout, size_t n_levels)
{
    size_t n = layout->has_tabs ? n_levels : n_levels * layout->unit;
    for (size_t i = 0; i < n; i++) {
        wb_text_add_char(&block->text, layout->has_tabs ? '\t' : ' ');
    }
}
