/* text: a growable byte buffer, and the few UTF-8 questions that the program asks.
 *
 * A text owns its bytes and is always NUL-terminated behind them. Not thread-safe. */
#ifndef WB_BASE_TEXT_H
#define WB_BASE_TEXT_H

#include <stdarg.h>

#include "base/base.h"

struct wb_text {
    char *ptr; /* NULL while empty and never grown; wb_text_cstr gives "" then */
    size_t len;
    size_t capacity;
};

void wb_text_init(struct wb_text *text);
void wb_text_done(struct wb_text *text);  /* also WB_AUTO(wb_text_done) */
void wb_text_clear(struct wb_text *text); /* keeps the memory */
void wb_text_reserve(struct wb_text *text, size_t extra_bytes);
void wb_text_add(struct wb_text *text, const char *ptr, size_t len);
void wb_text_add_span(struct wb_text *text, struct wb_span bytes);
void wb_text_add_str(struct wb_text *text, const char *cstr);
void wb_text_add_char(struct wb_text *text, char c);
WB_PRINTF(2, 3) void wb_text_printf(struct wb_text *text, const char *fmt, ...);
WB_PRINTF(2, 0) void wb_text_vprintf(struct wb_text *text, const char *fmt, va_list args);
void wb_text_cut(struct wb_text *text, size_t len);           /* keeps the first len bytes */
void wb_text_remove_head(struct wb_text *text, size_t bytes); /* moves the rest to the front */
const char *wb_text_cstr(const struct wb_text *text);
struct wb_span wb_text_span(const struct wb_text *text);
char *wb_text_steal(struct wb_text *text); /* malloc'ed, NUL-terminated; text is empty then */

/* UTF-8 (RFC 3629). */

/* Decodes the character at ptr (len > 0). Returns its length in bytes 1-4, or 0 if the bytes are
 * not valid UTF-8 (then *ret_codepoint is U+FFFD and one byte should be skipped). */
size_t wb_utf8_decode(const char *ptr, size_t len, uint32_t *ret_codepoint);
size_t wb_utf8_encode(uint32_t codepoint, char out[4]); /* surrogates become U+FFFD */
bool wb_utf8_valid(struct wb_span bytes);
/* Appends bytes with each invalid byte replaced by U+FFFD. */
void wb_text_add_utf8(struct wb_text *text, struct wb_span bytes);
/* The largest n <= max such that bytes[0..n) does not end inside a character. */
size_t wb_utf8_cut(struct wb_span bytes, size_t max);
/* Characters (code points) in valid or invalid UTF-8; an invalid byte counts one. */
size_t wb_utf8_count(struct wb_span bytes);
/* Letters, digits, underscore and every non-ASCII code point: what bounds an identifier. */
bool wb_utf8_is_word(uint32_t codepoint);

/* Spans. */
struct wb_span wb_span_trim(struct wb_span s); /* ASCII white space at both ends */
/* Takes the next line off *rest, without its line end (LF or CRLF). False at the end. */
bool wb_span_next_line(struct wb_span *rest, struct wb_span *ret_line);
bool wb_span_starts(struct wb_span s, struct wb_span prefix);
bool wb_span_ends(struct wb_span s, struct wb_span suffix);
/* Offset of needle in s at or after from, or SIZE_MAX. */
size_t wb_span_find(struct wb_span s, struct wb_span needle, size_t from);
/* Whole decimal number with optional minus; false on anything else or overflow. */
bool wb_span_int64(struct wb_span s, int64_t *ret_value);

#endif
