/* position: see position.h. Knows text and units, no server and no file. */
#include "lsp/position.h"

#define BOM WB_SPAN("\xEF\xBB\xBF")

static const char *const encoding_names[] = {
    [WB_POSITION_UTF8] = "utf-8",
    [WB_POSITION_UTF16] = "utf-16",
    [WB_POSITION_UTF32] = "utf-32",
};

const char *wb_position_encoding_name(enum wb_position_encoding encoding)
{
    return encoding_names[encoding];
}

bool wb_position_encoding_parse(const char *name, enum wb_position_encoding *ret)
{
    for (size_t i = 0; i < WB_COUNT(encoding_names); i++) {
        if (wb_str_equal(name, encoding_names[i])) {
            *ret = (enum wb_position_encoding)i;
            return true;
        }
    }
    return false;
}

/* --- lines --- */

static void add_line(struct wb_arena *arena, struct wb_line_index *index, size_t start)
{
    *WB_ARENA_PUSH(arena, index->starts, index->count, index->capacity) = start;
}

/* The offset of the byte at or after from, or SIZE_MAX. */
static size_t find_byte(struct wb_span text, char byte, size_t from)
{
    const char *found = from < text.len ? memchr(text.ptr + from, byte, text.len - from) : NULL;

    return found != NULL ? (size_t)(found - text.ptr) : SIZE_MAX;
}

/* The first U+2028 or U+2029, which are E2 80 A8 and E2 80 A9. */
static size_t find_separator(struct wb_span text)
{
    size_t at = 0;

    while ((at = wb_span_find(text, WB_SPAN("\xE2\x80"), at)) != SIZE_MAX) {
        unsigned char last = at + 2 < text.len ? (unsigned char)text.ptr[at + 2] : 0;

        if (last == 0xA8 || last == 0xA9) {
            return at;
        }
        at += 2;
    }
    return SIZE_MAX;
}

void wb_line_index_init(struct wb_arena *arena, struct wb_span text, struct wb_line_index *ret)
{
    size_t start = wb_span_starts(text, BOM) ? BOM.len : 0;
    size_t feed = find_byte(text, '\n', start);
    size_t carriage = find_byte(text, '\r', start);

    *ret = (struct wb_line_index){.text = text, .disputed = find_separator(text)};
    add_line(arena, ret, start);
    while (feed != SIZE_MAX || carriage != SIZE_MAX) {
        /* CRLF ends at its LF; of anything else the nearer one is the line end. */
        if (carriage < feed && carriage + 1 != feed) {
            ret->disputed = WB_MIN(ret->disputed, carriage);
        }
        start = (carriage + 1 == feed ? feed : WB_MIN(feed, carriage)) + 1;
        add_line(arena, ret, start);
        if (feed < start) {
            feed = find_byte(text, '\n', start);
        }
        if (carriage < start) {
            carriage = find_byte(text, '\r', start);
        }
    }
}

struct wb_span wb_line_index_line(const struct wb_line_index *index, size_t line)
{
    if (line >= index->count) {
        return (struct wb_span){index->text.ptr + index->text.len, 0};
    }
    size_t start = index->starts[line];
    if (line + 1 == index->count) {
        return (struct wb_span){index->text.ptr + start, index->text.len - start};
    }
    size_t end = index->starts[line + 1] - 1; /* its line end's last byte */
    if (index->text.ptr[end] == '\n' && end > start && index->text.ptr[end - 1] == '\r') {
        end--;
    }
    return (struct wb_span){index->text.ptr + start, end - start};
}

size_t wb_line_index_find(const struct wb_line_index *index, size_t offset)
{
    size_t low = 0;
    size_t high = index->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (index->starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int wb_line_index_check(const struct wb_line_index *index, size_t offset, struct wb_error *err)
{
    if (offset <= index->disputed) {
        return 0;
    }
    bool is_carriage = index->text.ptr[index->disputed] == '\r';
    return wb_error_set(err, WB_ERROR_INVALID,
                        "line %zu has a %s, and language servers do not agree whether it ends a "
                        "line: no place behind it can be named; replace that character first",
                        wb_line_index_find(index, index->disputed) + 1,
                        is_carriage ? "carriage return without a line feed"
                                    : "Unicode line or paragraph separator (U+2028, U+2029)");
}

size_t wb_line_index_visible(const struct wb_line_index *index)
{
    return wb_line_index_line(index, index->count - 1).len == 0 ? index->count - 1 : index->count;
}

/* --- positions --- */

/* How many of the first len bytes are ASCII, each one unit in every encoding. */
static size_t ascii_prefix(const char *ptr, size_t len)
{
    size_t at = 0;
    uint64_t word;

    for (; at + sizeof(word) <= len; at += sizeof(word)) {
        memcpy(&word, ptr + at, sizeof(word));
        if ((word & 0x8080808080808080) != 0) {
            break;
        }
    }
    while (at < len && (unsigned char)ptr[at] < 0x80) {
        at++;
    }
    return at;
}

/* The character at the front of the bytes: its length, and its units. */
static size_t measure_char(struct wb_span bytes, enum wb_position_encoding encoding,
                           size_t *ret_units)
{
    uint32_t codepoint;
    size_t len = WB_MAX(wb_utf8_decode(bytes.ptr, bytes.len, &codepoint), 1);

    switch (encoding) {
    case WB_POSITION_UTF8:
        *ret_units = len;
        break;
    case WB_POSITION_UTF16:
        *ret_units = codepoint >= 0x10000 ? 2 : 1;
        break;
    case WB_POSITION_UTF32:
        *ret_units = 1;
        break;
    }
    return len;
}

/* Walks whole characters from the start of the line while neither bound is passed. */
static void walk_line(struct wb_span line, size_t bytes_max, size_t units_max,
                      enum wb_position_encoding encoding, size_t *ret_bytes, size_t *ret_units)
{
    size_t bytes = 0;
    size_t units = 0;

    bytes_max = WB_MIN(bytes_max, line.len);
    for (;;) {
        size_t room = WB_MIN(bytes_max - bytes, units_max - units);
        size_t run = ascii_prefix(line.ptr + bytes, room);
        size_t char_units = 0;

        bytes += run;
        units += run;
        if (run == room) {
            break;
        }
        struct wb_span rest = {line.ptr + bytes, line.len - bytes};
        size_t char_bytes = measure_char(rest, encoding, &char_units);
        if (bytes + char_bytes > bytes_max || units + char_units > units_max) {
            break;
        }
        bytes += char_bytes;
        units += char_units;
    }
    *ret_bytes = bytes;
    *ret_units = units;
}

size_t wb_position_to_offset(const struct wb_line_index *index, enum wb_position_encoding encoding,
                             struct wb_position position)
{
    size_t bytes;
    size_t units;

    if (position.line >= index->count) {
        return index->text.len;
    }
    walk_line(wb_line_index_line(index, position.line), SIZE_MAX, position.character, encoding,
              &bytes, &units);
    return index->starts[position.line] + bytes;
}

struct wb_position wb_position_from_offset(const struct wb_line_index *index,
                                           enum wb_position_encoding encoding, size_t offset)
{
    size_t line = wb_line_index_find(index, offset);
    size_t start = index->starts[line];
    size_t bytes;
    size_t units;

    walk_line(wb_line_index_line(index, line), offset > start ? offset - start : 0, SIZE_MAX,
              encoding, &bytes, &units);
    return (struct wb_position){(uint32_t)line, (uint32_t)units};
}

/* --- JSON --- */

static bool read_uint32(const struct wb_json *value, uint32_t *ret)
{
    double number = wb_json_double_or(value, -1);

    if (!(number >= 0)) {
        return false;
    }
    *ret = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    return true;
}

bool wb_position_read(const struct wb_json *value, struct wb_position *ret)
{
    struct wb_position position;

    if (!read_uint32(wb_json_get(value, "line"), &position.line) ||
        !read_uint32(wb_json_get(value, "character"), &position.character)) {
        return false;
    }
    *ret = position;
    return true;
}

bool wb_range_read(const struct wb_json *value, struct wb_range *ret)
{
    struct wb_range range;

    if (!wb_position_read(wb_json_get(value, "start"), &range.start) ||
        !wb_position_read(wb_json_get(value, "end"), &range.end)) {
        return false;
    }
    *ret = range;
    return true;
}

void wb_position_write(struct wb_json_writer *w, struct wb_position position)
{
    wb_json_begin_object(w);
    wb_json_member_int(w, "line", position.line);
    wb_json_member_int(w, "character", position.character);
    wb_json_end_object(w);
}
