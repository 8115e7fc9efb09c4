/* symbol: where a piece of text stands on a line (wb_position_find_symbol), and what to say where it
 * does not.
 *
 * Words are found by bytes: every byte above ASCII belongs to a word, as every character above ASCII
 * does. Knows no language: `$` is part of a word, since it is in some and in the others it does not
 * stand beside a name. */
#include "lsp/position.h"

#include <stdlib.h>

#define NEAREST_MAX 5   /* lines shown for a symbol that is elsewhere */
#define SHOWN_BYTES 200 /* of a line, or of a symbol */
#define ORDINAL_DIGITS_MAX 6

/* What may stand between the names of a member chain; longer ones first. */
static const struct wb_span separators[] = {
    WB_SPAN("?->"), WB_SPAN("->"), WB_SPAN("::"), WB_SPAN("?."),
    WB_SPAN("!."),  WB_SPAN("&."), WB_SPAN("."),  WB_SPAN("\\"),
};

static bool is_word_byte(char c)
{
    unsigned char byte = (unsigned char)c;

    return byte >= 0x80 || byte == '_' || byte == '$' || (byte >= '0' && byte <= '9') ||
           ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

static struct wb_span span_from(struct wb_span text, size_t at)
{
    return (struct wb_span){text.ptr + at, text.len - at};
}

/* --- the name in a symbol --- */

static size_t word_length(struct wb_span text)
{
    size_t len = 0;

    while (len < text.len && is_word_byte(text.ptr[len])) {
        len++;
    }
    return len;
}

static size_t separator_length(struct wb_span text)
{
    for (size_t i = 0; i < WB_COUNT(separators); i++) {
        if (wb_span_starts(text, separators[i])) {
            return separators[i].len;
        }
    }
    return 0;
}

/* The length of a bracketed group in front (a call's or type's arguments, an index), or 0. */
static size_t group_length(struct wb_span text)
{
    static const char opening[] = "([<";
    static const char closing[] = ")]>";
    const char *kind = text.len != 0 ? memchr(opening, text.ptr[0], strlen(opening)) : NULL;
    size_t depth = 0;

    for (size_t at = 0; kind != NULL && at < text.len; at++) {
        if (text.ptr[at] == *kind) {
            depth++;
        } else if (text.ptr[at] == closing[kind - opening] && --depth == 0) {
            return at + 1;
        }
    }
    return 0;
}

/* What lies between a name and the next name of its chain; 0: the chain ends here. */
static size_t link_length(struct wb_span text)
{
    size_t at = 0;
    size_t group;

    while ((group = group_length(span_from(text, at))) != 0) {
        at += group;
    }
    size_t separator = separator_length(span_from(text, at));
    at += separator;
    /* #private (JavaScript), ~Destructor (C++) */
    if (separator != 0 && at < text.len && (text.ptr[at] == '#' || text.ptr[at] == '~')) {
        at++;
    }
    bool name_follows = at < text.len && is_word_byte(text.ptr[at]);
    return separator != 0 && name_follows ? at : 0;
}

/* The part of a symbol that a server is asked at. */
static struct wb_span find_name(struct wb_span symbol)
{
    size_t at = 0;

    while (at < symbol.len && !is_word_byte(symbol.ptr[at])) {
        at++;
    }
    if (at == symbol.len) {
        return symbol;
    }
    for (;;) {
        size_t len = word_length(span_from(symbol, at));
        size_t link = link_length(span_from(symbol, at + len));

        if (link == 0) {
            return (struct wb_span){symbol.ptr + at, len};
        }
        at += len + link;
    }
}

/* --- hits on a line --- */

static bool is_whole(struct wb_span line, size_t begin, size_t end)
{
    bool joined_before =
        begin != 0 && is_word_byte(line.ptr[begin - 1]) && is_word_byte(line.ptr[begin]);
    bool joined_behind =
        end < line.len && is_word_byte(line.ptr[end]) && is_word_byte(line.ptr[end - 1]);

    return !joined_before && !joined_behind;
}

/* The next hit at or after from that is whole, or that is not; SIZE_MAX: none. */
static size_t next_hit(struct wb_span line, struct wb_span symbol, bool whole, size_t from)
{
    size_t at = wb_span_find(line, symbol, from);

    while (at != SIZE_MAX && is_whole(line, at, at + symbol.len) != whole) {
        at = wb_span_find(line, symbol, at + 1);
    }
    return at;
}

static void add_hit(struct wb_arena *arena, struct wb_symbol_hits *hits, size_t offset, size_t len)
{
    size_t capacity = hits->capacity;
    size_t count = hits->count;

    *WB_ARENA_PUSH(arena, hits->offsets, count, capacity) = offset;
    *WB_ARENA_PUSH(arena, hits->lengths, hits->count, hits->capacity) = len;
}

static void add_hits(struct wb_arena *arena, const struct wb_line_index *index, struct wb_span line,
                     struct wb_span symbol, bool whole, struct wb_symbol_hits *hits)
{
    struct wb_span name = find_name(symbol);
    size_t line_offset = (size_t)(line.ptr - index->text.ptr);
    size_t name_offset = (size_t)(name.ptr - symbol.ptr);
    size_t at = 0;

    while ((at = next_hit(line, symbol, whole, at)) != SIZE_MAX) {
        add_hit(arena, hits, line_offset + at + name_offset, name.len);
        at += symbol.len;
    }
}

/* `text#2`: the number, with the text left in *symbol. 0: there is none. */
static size_t take_ordinal(struct wb_span *symbol)
{
    const char *mark = memrchr(symbol->ptr, '#', symbol->len);
    int64_t ordinal;

    if (mark == NULL || mark == symbol->ptr) {
        return 0;
    }
    struct wb_span digits = span_from(*symbol, (size_t)(mark - symbol->ptr) + 1);
    if (digits.len > ORDINAL_DIGITS_MAX || !wb_span_int64(digits, &ordinal) || ordinal < 1) {
        return 0;
    }
    symbol->len = (size_t)(mark - symbol->ptr);
    return (size_t)ordinal;
}

/* --- what to say --- */

static void add_cut(struct wb_text *out, struct wb_span text)
{
    size_t cut = wb_utf8_cut(text, SHOWN_BYTES);

    wb_text_add_utf8(out, (struct wb_span){text.ptr, cut});
    wb_text_add_str(out, cut < text.len ? "..." : "");
}

static void add_shown_symbol(struct wb_text *out, struct wb_span symbol)
{
    wb_text_add_char(out, '`');
    add_cut(out, symbol);
    wb_text_add_char(out, '`');
}

static void add_shown_line(struct wb_text *out, const struct wb_line_index *index, size_t line)
{
    wb_text_printf(out, "\n%zu: ", line + 1);
    add_cut(out, wb_line_index_line(index, line));
}

static bool has_symbol(const struct wb_line_index *index, size_t line, struct wb_span symbol,
                       bool whole)
{
    return next_hit(wb_line_index_line(index, line), symbol, whole, 0) != SIZE_MAX;
}

static size_t find_nearest(const struct wb_line_index *index, size_t line, struct wb_span symbol,
                           bool whole, size_t found[NEAREST_MAX])
{
    size_t n = 0;

    for (size_t away = 1; n < NEAREST_MAX && away < index->count; away++) {
        if (away <= line && has_symbol(index, line - away, symbol, whole)) {
            found[n++] = line - away;
        }
        if (n < NEAREST_MAX && line + away < index->count &&
            has_symbol(index, line + away, symbol, whole)) {
            found[n++] = line + away;
        }
    }
    return n;
}

static int compare_lines(const void *a, const void *b)
{
    size_t line_a = *(const size_t *)a;
    size_t line_b = *(const size_t *)b;

    return line_a < line_b ? -1 : line_a > line_b;
}

static int refuse_symbol(const struct wb_line_index *index, size_t line, struct wb_span symbol,
                         struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    size_t nearest[NEAREST_MAX];
    size_t n = find_nearest(index, line, symbol, true, nearest);

    if (n == 0) {
        n = find_nearest(index, line, symbol, false, nearest);
    }
    qsort(nearest, n, sizeof(*nearest), compare_lines);
    wb_text_printf(&out, "line %zu has no ", line + 1);
    add_shown_symbol(&out, symbol);
    wb_text_add_str(&out, "; it reads:");
    add_shown_line(&out, index, line);
    wb_text_add_str(&out, n != 0 ? "\nThe nearest lines that have it:"
                                 : "\nThe file does not have it anywhere.");
    for (size_t i = 0; i < n; i++) {
        add_shown_line(&out, index, nearest[i]);
    }
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "%s", wb_text_cstr(&out));
}

static int refuse_ordinal(const struct wb_line_index *index, size_t line, struct wb_span symbol,
                          size_t ordinal, size_t count, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};

    wb_text_printf(&out, "line %zu has ", line + 1);
    add_shown_symbol(&out, symbol);
    wb_text_printf(&out, " %zu time%s, so there is no #%zu; it reads:", count,
                   count == 1 ? "" : "s", ordinal);
    add_shown_line(&out, index, line);
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "%s", wb_text_cstr(&out));
}

static int check_line(const struct wb_line_index *index, int64_t line, struct wb_error *err)
{
    size_t visible = wb_line_index_visible(index);

    if (line < 1) {
        return wb_error_set(err, WB_ERROR_INVALID, "lines are counted from 1");
    }
    if (visible == 0) {
        return wb_error_set(err, WB_ERROR_INVALID, "the file is empty");
    }
    if ((uint64_t)line > visible) {
        return wb_error_set(err, WB_ERROR_INVALID, "there is no line %lld: the file has %zu line%s",
                            (long long)line, visible, visible == 1 ? "" : "s");
    }
    return 0;
}

static int refuse_empty_symbol(const struct wb_line_index *index, size_t line, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};

    add_shown_line(&out, index, line);
    return wb_error_set(err, WB_ERROR_INVALID,
                        "`symbol` is empty: give a piece of the text of line %zu, which reads:%s",
                        line + 1, wb_text_cstr(&out));
}

/* All whole hits; where there are none, the others. */
static void find_hits(struct wb_arena *arena, const struct wb_line_index *index,
                      struct wb_span line, struct wb_span symbol, struct wb_symbol_hits *hits)
{
    add_hits(arena, index, line, symbol, true, hits);
    if (hits->count == 0) {
        add_hits(arena, index, line, symbol, false, hits);
    }
}

/* symbol ends in the number, base does not. */
static int find_numbered(struct wb_arena *arena, const struct wb_line_index *index, size_t line,
                         struct wb_span symbol, struct wb_span base, size_t ordinal,
                         struct wb_symbol_hits *ret, struct wb_error *err)
{
    struct wb_span text = wb_line_index_line(index, line);
    struct wb_symbol_hits hits = {0};
    struct wb_symbol_hits literal = {0};

    add_hits(arena, index, text, base, true, &hits);
    add_hits(arena, index, text, base, false, &hits);
    if (ordinal <= hits.count) {
        *ret =
            (struct wb_symbol_hits){&hits.offsets[ordinal - 1], &hits.lengths[ordinal - 1], 1, 1};
        return 0;
    }
    find_hits(arena, index, text, symbol, &literal);
    if (literal.count != 0) {
        *ret = literal;
        return 0;
    }
    return hits.count == 0 ? refuse_symbol(index, line, base, err)
                           : refuse_ordinal(index, line, base, ordinal, hits.count, err);
}

int wb_position_find_symbol(struct wb_arena *arena, const struct wb_line_index *index, int64_t line,
                            struct wb_span symbol, struct wb_symbol_hits *ret, struct wb_error *err)
{
    struct wb_symbol_hits hits = {0};

    if (check_line(index, line, err) != 0) {
        return -1;
    }
    size_t at = (size_t)line - 1;
    symbol = wb_span_trim(symbol);
    if (symbol.len == 0) {
        return refuse_empty_symbol(index, at, err);
    }
    struct wb_span base = symbol;
    size_t ordinal = take_ordinal(&base);
    if (ordinal != 0) {
        return find_numbered(arena, index, at, symbol, base, ordinal, ret, err);
    }
    find_hits(arena, index, wb_line_index_line(index, at), symbol, &hits);
    if (hits.count == 0) {
        return refuse_symbol(index, at, symbol, err);
    }
    *ret = hits;
    return 0;
}
