/* json: reading JSON into an arena (json.c), writing JSON into a text (json_write.c). Only these two
 * files know yyjson.
 *
 * Reading: a value is borrowed from the arena it was parsed into and is immutable, so that any
 * thread may read it. Getters accept NULL and wrong types and answer "not there"; protocol code
 * reads chains such as wb_json_get(wb_json_get(v, "a"), "b") without checks between.
 * Lenient where servers are sloppy: lone surrogates and invalid UTF-8 are taken and come out as
 * U+FFFD; a BOM in front is skipped. Strict elsewhere (RFC 8259): no comments, no trailing commas,
 * no garbage behind. Depth and size are limited (base/limits.h).
 *
 * Writing: a stream of calls that appends to a text. Commas and colons are placed by the writer;
 * nesting mistakes are assertions. Output is always valid UTF-8 on one line. */
#ifndef WB_BASE_JSON_H
#define WB_BASE_JSON_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

struct wb_json; /* a value inside a parsed document */

/* Parses exactly one value. The error names line and column. */
const struct wb_json *wb_json_parse(struct wb_arena *arena, struct wb_span text,
                                    struct wb_error *err);

enum wb_json_type {
    WB_JSON_NONE, /* a NULL pointer: not there */
    WB_JSON_NULL,
    WB_JSON_BOOL,
    WB_JSON_NUMBER,
    WB_JSON_STRING,
    WB_JSON_ARRAY,
    WB_JSON_OBJECT,
};

enum wb_json_type wb_json_type(const struct wb_json *value);
const char *wb_json_type_name(enum wb_json_type type); /* "object", "string", ... */

/* Object member; NULL if absent or not an object. With duplicate keys, the last wins. */
const struct wb_json *wb_json_get(const struct wb_json *object, const char *key);
/* Member along "a.b.c". */
const struct wb_json *wb_json_path(const struct wb_json *object, const char *dotted);
const struct wb_json *wb_json_at(const struct wb_json *array, size_t index); /* O(n) on arrays */
size_t wb_json_count(const struct wb_json *array_or_object);                 /* 0 for others */

bool wb_json_is_null(const struct wb_json *value); /* absent or null */
bool wb_json_bool(const struct wb_json *value, bool otherwise);
/* Integers in int64 range, and doubles with an integral value in that range. */
bool wb_json_int(const struct wb_json *value, int64_t *ret);
int64_t wb_json_int_or(const struct wb_json *value, int64_t otherwise);
double wb_json_double_or(const struct wb_json *value, double otherwise);
/* Bytes of a string, NUL-terminated behind (may hold NULs inside); {NULL,0} for others. */
struct wb_span wb_json_span(const struct wb_json *value);
const char *wb_json_str(const struct wb_json *value); /* NULL if not a string */
const char *wb_json_str_or(const struct wb_json *value, const char *otherwise);

/* Iteration in document order, for arrays (key stays NULL) and objects:
 *   for (struct wb_json_iter it = wb_json_iter(v); wb_json_next(&it);) { it.key, it.value } */
struct wb_json_iter {
    const struct wb_json *container, *cursor, *value;
    const char *key;
    size_t index, count; /* index of value: 0 .. count-1 */
};
struct wb_json_iter wb_json_iter(const struct wb_json *container);
bool wb_json_next(struct wb_json_iter *it);

/* Deep equality; object member order does not matter; 1 and 1.0 are equal. */
bool wb_json_equal(const struct wb_json *a, const struct wb_json *b);

struct wb_json_writer {
    struct wb_text *out;
    uint8_t stack[WB_JSON_DEPTH_MAX + 8]; /* what is open, and whether it has a member */
    size_t depth;
    bool after_key;
};

void wb_json_writer_init(struct wb_json_writer *w, struct wb_text *out);
void wb_json_begin_object(struct wb_json_writer *w);
void wb_json_end_object(struct wb_json_writer *w);
void wb_json_begin_array(struct wb_json_writer *w);
void wb_json_end_array(struct wb_json_writer *w);
void wb_json_key(struct wb_json_writer *w, const char *key);
void wb_json_put_null(struct wb_json_writer *w);
void wb_json_put_bool(struct wb_json_writer *w, bool value);
void wb_json_put_int(struct wb_json_writer *w, int64_t value);
void wb_json_put_double(struct wb_json_writer *w, double value); /* NaN, infinities: null */
void wb_json_put_span(struct wb_json_writer *w, struct wb_span value);
void wb_json_put_str(struct wb_json_writer *w, const char *cstr); /* NULL: null */
WB_PRINTF(2, 3) void wb_json_put_printf(struct wb_json_writer *w, const char *fmt, ...);
void wb_json_put_value(struct wb_json_writer *w, const struct wb_json *value); /* NULL: null */
/* Text that is known to be one valid JSON value on one line. */
void wb_json_put_raw(struct wb_json_writer *w, struct wb_span json);

/* Key and value in one line of code. */
void wb_json_member_str(struct wb_json_writer *w, const char *key, const char *cstr);
void wb_json_member_span(struct wb_json_writer *w, const char *key, struct wb_span value);
void wb_json_member_int(struct wb_json_writer *w, const char *key, int64_t value);
void wb_json_member_bool(struct wb_json_writer *w, const char *key, bool value);

/* A value as text in the arena, and pretty-printed with two spaces. */
struct wb_span wb_json_write(struct wb_arena *arena, const struct wb_json *value);
struct wb_span wb_json_write_pretty(struct wb_arena *arena, const struct wb_json *value);

#endif
