/* json_write: the writing half of json.h. Places commas and colons, escapes strings; whole values
 * go through yyjson's writer. Knows nothing of where the text goes. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/json.h"

#define REPLACEMENT_UTF8 "\xEF\xBF\xBD" /* U+FFFD */

/* One entry of the writer's stack. Entry 0 is the text itself, which takes one value. */
enum {
    IN_OBJECT = 1,
    IN_ARRAY = 2,
    HAS_MEMBER = 4,
};

void wb_json_writer_init(struct wb_json_writer *w, struct wb_text *out)
{
    *w = (struct wb_json_writer){.out = out};
}

static void add_comma(struct wb_json_writer *w)
{
    if ((w->stack[w->depth] & HAS_MEMBER) != 0) {
        wb_text_add_char(w->out, ',');
    }
    w->stack[w->depth] |= HAS_MEMBER;
}

/* What stands in front of a value: nothing behind a key, a comma between items. */
static void begin_value(struct wb_json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    assert((w->stack[w->depth] & IN_OBJECT) == 0 && "a member needs a key");
    assert((w->depth != 0 || w->stack[0] == 0) && "a text holds one value");
    add_comma(w);
}

static void open_container(struct wb_json_writer *w, uint8_t kind)
{
    begin_value(w);
    assert(w->depth + 1 < WB_COUNT(w->stack) && "nested too deeply");
    w->stack[++w->depth] = kind;
    wb_text_add_char(w->out, kind == IN_OBJECT ? '{' : '[');
}

static void close_container(struct wb_json_writer *w, uint8_t kind)
{
    assert(w->depth != 0 && (w->stack[w->depth] & kind) != 0 && "nothing of this kind is open");
    assert(!w->after_key && "a key needs a value");
    w->depth--;
    wb_text_add_char(w->out, kind == IN_OBJECT ? '}' : ']');
}

void wb_json_begin_object(struct wb_json_writer *w)
{
    open_container(w, IN_OBJECT);
}

void wb_json_end_object(struct wb_json_writer *w)
{
    close_container(w, IN_OBJECT);
}

void wb_json_begin_array(struct wb_json_writer *w)
{
    open_container(w, IN_ARRAY);
}

void wb_json_end_array(struct wb_json_writer *w)
{
    close_container(w, IN_ARRAY);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Non-zero if a byte of the word is zero. */
static uint64_t zero_byte(uint64_t word)
{
    return (word - 0x0101010101010101U) & ~word & 0x8080808080808080U;
}

/* Length of the bytes in front that stand for themselves, eight at a time. */
static size_t plain_prefix(struct wb_span s)
{
    size_t i = 0;

    for (; i + 8 <= s.len; i += 8) {
        uint64_t word;

        memcpy(&word, s.ptr + i, 8);
        uint64_t special = (word & 0x8080808080808080U) |          /* not ASCII */
                           zero_byte(word & 0xE0E0E0E0E0E0E0E0U) | /* below 0x20 */
                           zero_byte(word ^ 0x2222222222222222U) | /* quote */
                           zero_byte(word ^ 0x5C5C5C5C5C5C5C5CU);  /* backslash */
        if (special != 0) {
            break;
        }
    }
    while (i < s.len && is_plain((unsigned char)s.ptr[i])) {
        i++;
    }
    return i;
}

/* What stands for a byte that cannot stand for itself: not plain, not part of valid UTF-8. */
static void add_escape(struct wb_text *out, unsigned char c)
{
    static const char short_escapes[] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };

    if (c >= 0x80) {
        wb_text_add_str(out, REPLACEMENT_UTF8);
    } else if (short_escapes[c] != 0) {
        wb_text_add(out, (char[]){'\\', short_escapes[c]}, 2);
    } else {
        wb_text_printf(out, "\\u%04x", c);
    }
}

/* Length of the bytes in front that are written as they are: plain ones and valid UTF-8. */
static size_t literal_prefix(struct wb_span s)
{
    size_t len = 0;
    uint32_t codepoint;

    while (len < s.len) {
        struct wb_span rest = {s.ptr + len, s.len - len};
        size_t step = plain_prefix(rest);

        if (step == 0 && (unsigned char)rest.ptr[0] >= 0x80) {
            step = wb_utf8_decode(rest.ptr, rest.len, &codepoint);
        }
        if (step == 0) {
            break;
        }
        len += step;
    }
    return len;
}

static void add_string(struct wb_text *out, struct wb_span s)
{
    wb_text_reserve(out, s.len + 2);
    wb_text_add_char(out, '"');
    for (size_t at = 0; at < s.len; at++) {
        size_t len = literal_prefix((struct wb_span){s.ptr + at, s.len - at});

        wb_text_add(out, s.ptr + at, len);
        at += len;
        if (at < s.len) {
            add_escape(out, (unsigned char)s.ptr[at]);
        }
    }
    wb_text_add_char(out, '"');
}

void wb_json_key(struct wb_json_writer *w, const char *key)
{
    assert((w->stack[w->depth] & IN_OBJECT) != 0 && "a key stands in an object");
    assert(!w->after_key && "a key needs a value");
    add_comma(w);
    add_string(w->out, wb_span(key));
    wb_text_add_char(w->out, ':');
    w->after_key = true;
}

void wb_json_put_raw(struct wb_json_writer *w, struct wb_span json)
{
    begin_value(w);
    wb_text_add_span(w->out, json);
}

void wb_json_put_null(struct wb_json_writer *w)
{
    wb_json_put_raw(w, WB_SPAN("null"));
}

void wb_json_put_bool(struct wb_json_writer *w, bool value)
{
    wb_json_put_raw(w, value ? WB_SPAN("true") : WB_SPAN("false"));
}

void wb_json_put_int(struct wb_json_writer *w, int64_t value)
{
    begin_value(w);
    wb_text_printf(w->out, "%" PRId64, value);
}

static void *alloc_owned(void *ctx, size_t bytes)
{
    (void)ctx;
    return wb_alloc(bytes);
}

static void *realloc_owned(void *ctx, void *ptr, size_t old_bytes, size_t bytes)
{
    (void)ctx;
    (void)old_bytes;
    return wb_realloc(ptr, bytes);
}

static void free_owned(void *ctx, void *ptr)
{
    (void)ctx;
    free(ptr);
}

/* yyjson reserves six bytes for each byte of a string, so it gets a buffer of its own. */
static void add_value(struct wb_text *out, const yyjson_val *value, yyjson_write_flag flags)
{
    static const yyjson_alc alc = {alloc_owned, realloc_owned, free_owned, NULL};
    size_t len = 0;
    WB_AUTO(wb_free_p) char *json = yyjson_val_write_opts(value, flags, &alc, &len, NULL);

    assert(json != NULL && "a parsed value can be written");
    wb_text_add(out, json, len);
}

void wb_json_put_double(struct wb_json_writer *w, double value)
{
    yyjson_val number;

    if (!isfinite(value)) {
        wb_json_put_null(w);
        return;
    }
    begin_value(w);
    unsafe_yyjson_set_real(&number, value);
    add_value(w->out, &number, YYJSON_WRITE_NOFLAG);
}

void wb_json_put_span(struct wb_json_writer *w, struct wb_span value)
{
    begin_value(w);
    add_string(w->out, value);
}

void wb_json_put_str(struct wb_json_writer *w, const char *cstr)
{
    if (cstr == NULL) {
        wb_json_put_null(w);
    } else {
        wb_json_put_span(w, wb_span(cstr));
    }
}

void wb_json_put_printf(struct wb_json_writer *w, const char *fmt, ...)
{
    WB_AUTO(wb_text_done) struct wb_text formatted = {0};
    va_list args;

    va_start(args, fmt);
    wb_text_vprintf(&formatted, fmt, args);
    va_end(args);
    wb_json_put_span(w, wb_text_span(&formatted));
}

void wb_json_put_value(struct wb_json_writer *w, const struct wb_json *value)
{
    if (value == NULL) {
        wb_json_put_null(w);
        return;
    }
    begin_value(w);
    add_value(w->out, (const yyjson_val *)value, YYJSON_WRITE_NOFLAG);
}

void wb_json_member_str(struct wb_json_writer *w, const char *key, const char *cstr)
{
    wb_json_key(w, key);
    wb_json_put_str(w, cstr);
}

void wb_json_member_span(struct wb_json_writer *w, const char *key, struct wb_span value)
{
    wb_json_key(w, key);
    wb_json_put_span(w, value);
}

void wb_json_member_int(struct wb_json_writer *w, const char *key, int64_t value)
{
    wb_json_key(w, key);
    wb_json_put_int(w, value);
}

void wb_json_member_bool(struct wb_json_writer *w, const char *key, bool value)
{
    wb_json_key(w, key);
    wb_json_put_bool(w, value);
}

static struct wb_span write_to_arena(struct wb_arena *arena, const struct wb_json *value,
                                     yyjson_write_flag flags)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};

    if (value == NULL) {
        return WB_SPAN("null");
    }
    add_value(&text, (const yyjson_val *)value, flags);
    return wb_arena_span(arena, wb_text_span(&text));
}

struct wb_span wb_json_write(struct wb_arena *arena, const struct wb_json *value)
{
    return write_to_arena(arena, value, YYJSON_WRITE_NOFLAG);
}

struct wb_span wb_json_write_pretty(struct wb_arena *arena, const struct wb_json *value)
{
    return write_to_arena(arena, value, YYJSON_WRITE_PRETTY_TWO_SPACES);
}
