/* json_scan: counts brackets and repairs characters in JSON text, without a parser. */
#include "base/json_scan.h"

#include <endian.h>

#include "base/limits.h"

#define ESCAPED_REPLACEMENT "\\uFFFD"
#define ESCAPE_LEN 6 /* of \uXXXX */
#define EVERY_BYTE(c) (0x0101010101010101U * (uint8_t)(c))

/* Marks the zero bytes of a word. What lies above the lowest mark may be wrong. */
static uint64_t mark_zeros(uint64_t word)
{
    return (word - EVERY_BYTE(0x01)) & ~word & EVERY_BYTE(0x80);
}

static uint64_t mark_in_string(uint64_t word)
{
    return mark_zeros(word ^ EVERY_BYTE('"')) | mark_zeros(word ^ EVERY_BYTE('\\'));
}

/* The four brackets are equal but for the bits 0x26. So are `_`, `Y` and `y`, which are rare
 * outside of strings, and harmless. */
static uint64_t mark_outside(uint64_t word)
{
    return mark_zeros(word ^ EVERY_BYTE('"')) |
           mark_zeros((word | EVERY_BYTE(0x26)) ^ EVERY_BYTE('[' | 0x26));
}

/* The eight bytes at `at`, with zeros behind the end; the first byte is the lowest. */
static inline uint64_t load_word(struct wb_span text, size_t at)
{
    uint64_t word = 0;

    if (text.len - at >= sizeof(word)) {
        memcpy(&word, text.ptr + at, sizeof(word));
    } else {
        memcpy(&word, text.ptr + at, text.len - at);
    }
    return le64toh(word);
}

/* The offset of the first marked byte at or behind `at`, or at least the length if none is. */
static inline size_t find_mark(struct wb_span text, size_t at, uint64_t (*mark)(uint64_t))
{
    for (; at < text.len; at += 8) {
        uint64_t marks = mark(load_word(text, at));

        if (marks != 0) {
            return at + (size_t)__builtin_ctzll(marks) / 8;
        }
    }
    return at;
}

/* The offset behind the string that begins at `at` (behind its opening quote). */
static size_t skip_string(struct wb_span text, size_t at)
{
    for (;;) {
        at = find_mark(text, at, mark_in_string);
        if (at >= text.len || text.ptr[at] == '"') {
            return at + 1;
        }
        at += 2; /* an escape */
    }
}

size_t wb_json_find_too_deep(struct wb_span text)
{
    size_t depth = 0;
    size_t at = 0;

    while ((at = find_mark(text, at, mark_outside)) < text.len) {
        switch (text.ptr[at++]) {
        case '"':
            at = skip_string(text, at);
            break;
        case '[':
        case '{':
            if (++depth > WB_JSON_DEPTH_MAX) {
                return at - 1;
            }
            break;
        case ']':
        case '}':
            depth -= depth != 0 ? 1 : 0;
            break;
        default:
            break;
        }
    }
    return SIZE_MAX;
}

/* The code unit of a \uXXXX escape at the front of the text, or -1. */
static int32_t escaped_unit(struct wb_span text)
{
    int32_t unit = 0;

    if (text.len < ESCAPE_LEN || text.ptr[0] != '\\' || text.ptr[1] != 'u') {
        return -1;
    }
    for (size_t i = 2; i < ESCAPE_LEN; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        unsigned char letter = c | 0x20;

        if (c >= '0' && c <= '9') {
            unit = unit << 4 | (c - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            unit = unit << 4 | (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return unit;
}

static bool is_high_surrogate(int32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_surrogate(int32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Copies the escape at the front of the text, a lone surrogate as U+FFFD; returns its length. */
static size_t repair_escape(struct wb_text *out, struct wb_span text)
{
    int32_t unit = escaped_unit(text);

    if (is_high_surrogate(unit)) {
        struct wb_span behind = {text.ptr + ESCAPE_LEN, text.len - ESCAPE_LEN};

        if (is_low_surrogate(escaped_unit(behind))) {
            wb_text_add(out, text.ptr, 2 * ESCAPE_LEN);
            return 2 * ESCAPE_LEN;
        }
    }
    if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
        wb_text_add_str(out, ESCAPED_REPLACEMENT);
        return ESCAPE_LEN;
    }
    size_t len = WB_MIN(text.len, 2);
    wb_text_add(out, text.ptr, len);
    return len;
}

bool wb_json_repair_text(struct wb_text *out, struct wb_span text)
{
    WB_AUTO(wb_text_done) struct wb_text valid = {0};

    wb_text_add_utf8(&valid, text);
    struct wb_span rest = wb_text_span(&valid);
    while (rest.len != 0) {
        const char *escape = memchr(rest.ptr, '\\', rest.len);
        size_t plain = escape != NULL ? (size_t)(escape - rest.ptr) : rest.len;

        wb_text_add(out, rest.ptr, plain);
        rest.ptr += plain;
        rest.len -= plain;
        if (rest.len != 0) {
            size_t len = repair_escape(out, rest);

            rest.ptr += len;
            rest.len -= len;
        }
    }
    return !wb_span_equal(wb_text_span(out), text);
}
