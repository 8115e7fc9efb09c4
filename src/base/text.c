/* text: the growable buffer, UTF-8 and span questions. Knows ASCII and UTF-8, no locale. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define CAPACITY_MIN 64
#define REPLACEMENT_CHARACTER 0xFFFD
#define REPLACEMENT_UTF8 "\xEF\xBF\xBD"

void wb_text_init(struct wb_text *text)
{
    *text = (struct wb_text){0};
}

void wb_text_done(struct wb_text *text)
{
    free(text->ptr);
    wb_text_init(text);
}

void wb_text_clear(struct wb_text *text)
{
    wb_text_cut(text, 0);
}

void wb_text_reserve(struct wb_text *text, size_t extra_bytes)
{
    size_t need;

    if (__builtin_add_overflow(text->len, extra_bytes, &need) || need == SIZE_MAX) {
        need = SIZE_MAX - 1; /* more than there is: wb_realloc ends the process */
    }
    need++; /* the NUL */
    if (need > text->capacity) {
        size_t doubled = text->capacity > SIZE_MAX / 2 ? need : text->capacity * 2;

        text->capacity = WB_MAX(WB_MAX(need, doubled), CAPACITY_MIN);
        text->ptr = wb_realloc(text->ptr, text->capacity);
        text->ptr[text->len] = '\0';
    }
}

void wb_text_add(struct wb_text *text, const char *ptr, size_t len)
{
    wb_text_reserve(text, len);
    if (len != 0) {
        memcpy(text->ptr + text->len, ptr, len);
    }
    text->len += len;
    text->ptr[text->len] = '\0';
}

void wb_text_add_span(struct wb_text *text, struct wb_span bytes)
{
    wb_text_add(text, bytes.ptr, bytes.len);
}

void wb_text_add_str(struct wb_text *text, const char *cstr)
{
    wb_text_add(text, cstr, strlen(cstr));
}

void wb_text_add_char(struct wb_text *text, char c)
{
    wb_text_add(text, &c, 1);
}

void wb_text_printf(struct wb_text *text, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    wb_text_vprintf(text, fmt, args);
    va_end(args);
}

void wb_text_vprintf(struct wb_text *text, const char *fmt, va_list args)
{
    va_list again;

    va_copy(again, args);
    wb_text_reserve(text, CAPACITY_MIN);
    size_t room = text->capacity - text->len;
    int len = vsnprintf(text->ptr + text->len, room, fmt, args);
    if (len >= 0 && (size_t)len >= room) {
        wb_text_reserve(text, (size_t)len);
        len = vsnprintf(text->ptr + text->len, (size_t)len + 1, fmt, again);
    }
    va_end(again);
    text->len += len > 0 ? (size_t)len : 0;
    text->ptr[text->len] = '\0';
}

void wb_text_cut(struct wb_text *text, size_t len)
{
    if (text->ptr != NULL && len <= text->len) {
        text->len = len;
        text->ptr[len] = '\0';
    }
}

void wb_text_remove_head(struct wb_text *text, size_t bytes)
{
    bytes = WB_MIN(bytes, text->len);
    if (bytes != 0) {
        memmove(text->ptr, text->ptr + bytes, text->len - bytes);
        wb_text_cut(text, text->len - bytes);
    }
}

const char *wb_text_cstr(const struct wb_text *text)
{
    return text->ptr != NULL ? text->ptr : "";
}

struct wb_span wb_text_span(const struct wb_text *text)
{
    return (struct wb_span){wb_text_cstr(text), text->len};
}

char *wb_text_steal(struct wb_text *text)
{
    char *stolen = text->ptr != NULL ? text->ptr : wb_strdup("");

    wb_text_init(text);
    return stolen;
}

/* What the first byte of a character says: its length, its own bits, and the smallest code point
 * that may be written with that length (anything below is an overlong form). */
struct utf8_lead {
    uint8_t mask, value;
    uint8_t len;
    uint32_t min;
};

static const struct utf8_lead utf8_leads[] = {
    {0xE0, 0xC0, 2, 0x80},
    {0xF0, 0xE0, 3, 0x800},
    {0xF8, 0xF0, 4, 0x10000},
};

static bool is_surrogate(uint32_t codepoint)
{
    return codepoint >= 0xD800 && codepoint <= 0xDFFF;
}

/* The character at ptr as lead says; 0 if the bytes behind do not fit. */
static size_t decode_tail(const unsigned char *ptr, size_t len, const struct utf8_lead *lead,
                          uint32_t *ret_codepoint)
{
    uint32_t codepoint = ptr[0] & (uint8_t)~lead->mask;

    if (len < lead->len) {
        return 0;
    }
    for (size_t i = 1; i < lead->len; i++) {
        if ((ptr[i] & 0xC0) != 0x80) {
            return 0;
        }
        codepoint = codepoint << 6 | (ptr[i] & 0x3F);
    }
    if (codepoint < lead->min || codepoint > 0x10FFFF || is_surrogate(codepoint)) {
        return 0;
    }
    *ret_codepoint = codepoint;
    return lead->len;
}

size_t wb_utf8_decode(const char *ptr, size_t len, uint32_t *ret_codepoint)
{
    const unsigned char *bytes = (const unsigned char *)ptr;

    if (bytes[0] < 0x80) {
        *ret_codepoint = bytes[0];
        return 1;
    }
    *ret_codepoint = REPLACEMENT_CHARACTER;
    for (size_t i = 0; i < WB_COUNT(utf8_leads); i++) {
        if ((bytes[0] & utf8_leads[i].mask) == utf8_leads[i].value) {
            return decode_tail(bytes, len, &utf8_leads[i], ret_codepoint);
        }
    }
    return 0;
}

size_t wb_utf8_encode(uint32_t codepoint, char out[4])
{
    if (is_surrogate(codepoint) || codepoint > 0x10FFFF) {
        codepoint = REPLACEMENT_CHARACTER;
    }
    if (codepoint < 0x80) {
        out[0] = (char)codepoint;
        return 1;
    }
    size_t len = codepoint < 0x800 ? 2 : codepoint < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (codepoint & 0x3F));
        codepoint >>= 6;
    }
    out[0] = (char)(utf8_leads[len - 2].value | codepoint);
    return len;
}

/* Length of the ASCII bytes in front, eight at a time. */
static size_t ascii_prefix(struct wb_span bytes)
{
    size_t i = 0;

    for (; i + 8 <= bytes.len; i += 8) {
        uint64_t word;

        memcpy(&word, bytes.ptr + i, 8);
        if ((word & 0x8080808080808080U) != 0) {
            break;
        }
    }
    while (i < bytes.len && (unsigned char)bytes.ptr[i] < 0x80) {
        i++;
    }
    return i;
}

/* Length of the valid UTF-8 in front. */
static size_t valid_prefix(struct wb_span bytes)
{
    size_t at = 0;
    uint32_t codepoint;

    while (at < bytes.len) {
        struct wb_span rest = {bytes.ptr + at, bytes.len - at};
        size_t step = ascii_prefix(rest);

        if (step == 0) {
            step = wb_utf8_decode(rest.ptr, rest.len, &codepoint);
        }
        if (step == 0) {
            break;
        }
        at += step;
    }
    return at;
}

bool wb_utf8_valid(struct wb_span bytes)
{
    return valid_prefix(bytes) == bytes.len;
}

void wb_text_add_utf8(struct wb_text *text, struct wb_span bytes)
{
    while (bytes.len != 0) {
        size_t valid = valid_prefix(bytes);

        wb_text_add(text, bytes.ptr, valid);
        if (valid < bytes.len) {
            wb_text_add_str(text, REPLACEMENT_UTF8);
            valid++;
        }
        bytes.ptr += valid;
        bytes.len -= valid;
    }
}

size_t wb_utf8_cut(struct wb_span bytes, size_t max)
{
    uint32_t codepoint;

    if (bytes.len <= max) {
        return bytes.len;
    }
    for (size_t back = 1; back <= 3 && back <= max; back++) {
        size_t start = max - back;

        if (((unsigned char)bytes.ptr[start] & 0xC0) != 0x80) {
            size_t len = wb_utf8_decode(bytes.ptr + start, bytes.len - start, &codepoint);

            return len > back ? start : max;
        }
    }
    return max;
}

size_t wb_utf8_count(struct wb_span bytes)
{
    size_t count = 0;
    uint32_t codepoint;

    for (size_t at = 0; at < bytes.len; count++) {
        size_t len = wb_utf8_decode(bytes.ptr + at, bytes.len - at, &codepoint);

        at += WB_MAX(len, 1);
    }
    return count;
}

static bool is_ascii_alnum(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool wb_utf8_is_word(uint32_t codepoint)
{
    return is_ascii_alnum(codepoint) || codepoint == '_' || codepoint >= 0x80;
}

static bool is_ascii_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct wb_span wb_span_trim(struct wb_span s)
{
    while (s.len != 0 && is_ascii_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len != 0 && is_ascii_space(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

bool wb_span_next_line(struct wb_span *rest, struct wb_span *ret_line)
{
    if (rest->len == 0) {
        return false;
    }
    const char *newline = memchr(rest->ptr, '\n', rest->len);
    size_t len = newline != NULL ? (size_t)(newline - rest->ptr) : rest->len;
    size_t taken = newline != NULL ? len + 1 : len;

    *ret_line = (struct wb_span){rest->ptr, len};
    if (newline != NULL && len != 0 && newline[-1] == '\r') {
        ret_line->len--;
    }
    rest->ptr += taken;
    rest->len -= taken;
    return true;
}

bool wb_span_starts(struct wb_span s, struct wb_span prefix)
{
    return s.len >= prefix.len && wb_span_equal((struct wb_span){s.ptr, prefix.len}, prefix);
}

bool wb_span_ends(struct wb_span s, struct wb_span suffix)
{
    if (s.len < suffix.len) {
        return false;
    }
    return wb_span_equal((struct wb_span){s.ptr + s.len - suffix.len, suffix.len}, suffix);
}

size_t wb_span_find(struct wb_span s, struct wb_span needle, size_t from)
{
    if (from > s.len || needle.len > s.len - from) {
        return SIZE_MAX;
    }
    if (needle.len == 0) {
        return from;
    }
    const char *hit = memmem(s.ptr + from, s.len - from, needle.ptr, needle.len);
    return hit != NULL ? (size_t)(hit - s.ptr) : SIZE_MAX;
}

bool wb_span_int64(struct wb_span s, int64_t *ret_value)
{
    bool negative = s.len != 0 && s.ptr[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t value = 0;

    if (i == s.len) {
        return false;
    }
    for (; i < s.len; i++) {
        int digit = s.ptr[i] - '0';

        if (digit < 0 || digit > 9) {
            return false;
        }
        /* Counted downwards, because the smallest number has no positive twin. */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return false;
        }
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value)) {
        return false;
    }
    *ret_value = value;
    return true;
}
