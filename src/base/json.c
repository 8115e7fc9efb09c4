/* json: reading. A parsed document is yyjson's own array of values, kept in the caller's arena;
 * struct wb_json is a yyjson_val behind an opaque name. json_write.c is the other half.
 *
 * yyjson takes no lone surrogates and no invalid UTF-8. What servers send is nearly always clean,
 * so the text is parsed as it stands, and only when that fails repaired and parsed again: every
 * string of a document is valid UTF-8. */
#include "base/json.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/json_scan.h"

#define BOM "\xEF\xBB\xBF"

static yyjson_val *yy(const struct wb_json *value)
{
    return (yyjson_val *)(uintptr_t)value;
}

static const struct wb_json *from_yy(const yyjson_val *value)
{
    return (const struct wb_json *)value;
}

static void *alloc_from_arena(void *arena, size_t bytes)
{
    return wb_arena_alloc(arena, bytes);
}

static void *realloc_from_arena(void *arena, void *ptr, size_t old_bytes, size_t bytes)
{
    return wb_arena_grow(arena, ptr, old_bytes, bytes);
}

static void free_in_arena(void *arena, void *ptr)
{
    (void)arena;
    (void)ptr;
}

static void set_error_at(struct wb_error *err, enum wb_error_code code, struct wb_span text,
                         size_t offset, const char *what)
{
    size_t line = 1;
    size_t line_start = 0;

    offset = WB_MIN(offset, text.len);
    for (size_t i = 0; i < offset; i++) {
        if (text.ptr[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    struct wb_span before = {text.ptr + line_start, offset - line_start};
    wb_error_set(err, code, "Invalid JSON at line %zu, column %zu: %s.", line,
                 wb_utf8_count(before) + 1, what);
}

static yyjson_doc *read_doc(struct wb_arena *arena, struct wb_span text, yyjson_read_err *yy_err)
{
    yyjson_alc alc = {alloc_from_arena, realloc_from_arena, free_in_arena, arena};

    /* Without the INSITU flag the text is copied, not changed. */
    return yyjson_read_opts((char *)(uintptr_t)text.ptr, text.len, YYJSON_READ_BIGNUM_AS_RAW, &alc,
                            yy_err);
}

const struct wb_json *wb_json_parse(struct wb_arena *arena, struct wb_span text,
                                    struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text repaired = {0};
    yyjson_read_err yy_err;

    if (text.len > WB_JSON_BYTES_MAX) {
        wb_error_set(err, WB_ERROR_LIMIT, "The JSON text has %zu bytes; the limit is %zu.",
                     text.len, WB_JSON_BYTES_MAX);
        return NULL;
    }
    if (wb_span_starts(text, WB_SPAN(BOM))) {
        text.ptr += strlen(BOM);
        text.len -= strlen(BOM);
    }
    if (text.len == 0) {
        wb_error_set(err, WB_ERROR_INVALID, "Invalid JSON: the text is empty.");
        return NULL;
    }
    size_t too_deep = wb_json_find_too_deep(text);
    if (too_deep != SIZE_MAX) {
        set_error_at(err, WB_ERROR_LIMIT, text, too_deep, "nested too deeply");
        return NULL;
    }
    yyjson_doc *doc = read_doc(arena, text, &yy_err);
    if (doc == NULL && wb_json_repair_text(&repaired, text)) {
        text = wb_text_span(&repaired);
        doc = read_doc(arena, text, &yy_err);
    }
    if (doc == NULL) {
        set_error_at(err, WB_ERROR_INVALID, text, yy_err.pos, yy_err.msg);
        return NULL;
    }
    return from_yy(yyjson_doc_get_root(doc));
}

enum wb_json_type wb_json_type(const struct wb_json *value)
{
    switch (yyjson_get_type(yy(value))) {
    case YYJSON_TYPE_NULL:
        return WB_JSON_NULL;
    case YYJSON_TYPE_BOOL:
        return WB_JSON_BOOL;
    case YYJSON_TYPE_RAW: /* a number that fits neither 64 bits nor a double */
    case YYJSON_TYPE_NUM:
        return WB_JSON_NUMBER;
    case YYJSON_TYPE_STR:
        return WB_JSON_STRING;
    case YYJSON_TYPE_ARR:
        return WB_JSON_ARRAY;
    case YYJSON_TYPE_OBJ:
        return WB_JSON_OBJECT;
    default:
        return WB_JSON_NONE;
    }
}

const char *wb_json_type_name(enum wb_json_type type)
{
    static const char *const names[] = {
        [WB_JSON_NONE] = "nothing",  [WB_JSON_NULL] = "null",     [WB_JSON_BOOL] = "boolean",
        [WB_JSON_NUMBER] = "number", [WB_JSON_STRING] = "string", [WB_JSON_ARRAY] = "array",
        [WB_JSON_OBJECT] = "object",
    };

    return (size_t)type < WB_COUNT(names) ? names[type] : "unknown";
}

static struct wb_span key_span(yyjson_val *key)
{
    return (struct wb_span){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
}

/* Looks at every member, because the last of equal keys wins. */
static const struct wb_json *find_member(const struct wb_json *object, struct wb_span name)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(yy(object));
    yyjson_val *key;
    yyjson_val *found = NULL;

    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        if (wb_span_equal(key_span(key), name)) {
            found = yyjson_obj_iter_get_val(key);
        }
    }
    return from_yy(found);
}

const struct wb_json *wb_json_get(const struct wb_json *object, const char *key)
{
    return find_member(object, wb_span(key));
}

const struct wb_json *wb_json_path(const struct wb_json *object, const char *dotted)
{
    for (;;) {
        size_t len = strcspn(dotted, ".");

        object = find_member(object, (struct wb_span){dotted, len});
        if (dotted[len] == '\0') {
            return object;
        }
        dotted += len + 1;
    }
}

const struct wb_json *wb_json_at(const struct wb_json *array, size_t index)
{
    return from_yy(yyjson_arr_get(yy(array), index));
}

size_t wb_json_count(const struct wb_json *array_or_object)
{
    return yyjson_is_ctn(yy(array_or_object)) ? yyjson_get_len(yy(array_or_object)) : 0;
}

bool wb_json_is_null(const struct wb_json *value)
{
    return value == NULL || yyjson_is_null(yy(value));
}

bool wb_json_bool(const struct wb_json *value, bool otherwise)
{
    return yyjson_is_bool(yy(value)) ? yyjson_get_bool(yy(value)) : otherwise;
}

bool wb_json_int(const struct wb_json *value, int64_t *ret)
{
    yyjson_val *number = yy(value);

    if (yyjson_is_uint(number)) {
        if (yyjson_get_uint(number) > INT64_MAX) {
            return false;
        }
        *ret = (int64_t)yyjson_get_uint(number);
        return true;
    }
    if (yyjson_is_sint(number)) {
        *ret = yyjson_get_sint(number);
        return true;
    }
    double real = yyjson_get_real(number);
    /* 2^63 itself is a double, INT64_MAX is not. */
    if (!yyjson_is_real(number) || real < -0x1p63 || real >= 0x1p63 ||
        real != (double)(int64_t)real) {
        return false;
    }
    *ret = (int64_t)real;
    return true;
}

int64_t wb_json_int_or(const struct wb_json *value, int64_t otherwise)
{
    int64_t number;

    return wb_json_int(value, &number) ? number : otherwise;
}

double wb_json_double_or(const struct wb_json *value, double otherwise)
{
    yyjson_val number;

    if (yyjson_is_num(yy(value))) {
        return yyjson_get_num(yy(value));
    }
    /* Kept as digits: an integer over 64 bits, or over every double (and then not there). */
    if (yyjson_is_raw(yy(value)) &&
        yyjson_read_number(yyjson_get_raw(yy(value)), &number, 0, NULL, NULL) != NULL) {
        return yyjson_get_num(&number);
    }
    return otherwise;
}

struct wb_span wb_json_span(const struct wb_json *value)
{
    return yyjson_is_str(yy(value)) ? key_span(yy(value)) : (struct wb_span){0};
}

const char *wb_json_str(const struct wb_json *value)
{
    return yyjson_get_str(yy(value));
}

const char *wb_json_str_or(const struct wb_json *value, const char *otherwise)
{
    const char *str = wb_json_str(value);

    return str != NULL ? str : otherwise;
}

struct wb_json_iter wb_json_iter(const struct wb_json *container)
{
    size_t count = wb_json_count(container);

    /* The first item stands behind its container. */
    return (struct wb_json_iter){
        .container = container,
        .cursor = count != 0 ? from_yy(yy(container) + 1) : NULL,
        .index = SIZE_MAX,
        .count = count,
    };
}

bool wb_json_next(struct wb_json_iter *it)
{
    if (it->index + 1 >= it->count) {
        return false;
    }
    it->index++;
    yyjson_val *item = yy(it->cursor);
    if (yyjson_is_obj(yy(it->container))) {
        it->key = unsafe_yyjson_get_str(item);
        item++;
    }
    it->value = from_yy(item);
    it->cursor = from_yy(unsafe_yyjson_get_next(item));
    return true;
}

static bool numbers_equal(const struct wb_json *a, const struct wb_json *b)
{
    int64_t int_a;
    int64_t int_b;
    bool is_int_a = wb_json_int(a, &int_a);
    bool is_int_b = wb_json_int(b, &int_b);

    if (is_int_a || is_int_b) {
        return is_int_a && is_int_b && int_a == int_b;
    }
    if (yyjson_is_raw(yy(a)) || yyjson_is_raw(yy(b))) {
        return yyjson_is_raw(yy(a)) && yyjson_is_raw(yy(b)) &&
               wb_str_equal(yyjson_get_raw(yy(a)), yyjson_get_raw(yy(b)));
    }
    if (yyjson_is_uint(yy(a)) && yyjson_is_uint(yy(b))) {
        return yyjson_get_uint(yy(a)) == yyjson_get_uint(yy(b));
    }
    return yyjson_get_num(yy(a)) == yyjson_get_num(yy(b));
}

static bool arrays_equal(const struct wb_json *a, const struct wb_json *b)
{
    struct wb_json_iter in_a = wb_json_iter(a);
    struct wb_json_iter in_b = wb_json_iter(b);

    if (in_a.count != in_b.count) {
        return false;
    }
    while (wb_json_next(&in_a) && wb_json_next(&in_b)) {
        if (!wb_json_equal(in_a.value, in_b.value)) {
            return false;
        }
    }
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    yyjson_val *key_a = *(yyjson_val *const *)a;
    yyjson_val *key_b = *(yyjson_val *const *)b;
    struct wb_span span_a = key_span(key_a);
    struct wb_span span_b = key_span(key_b);
    int order = memcmp(span_a.ptr, span_b.ptr, WB_MIN(span_a.len, span_b.len));

    if (order != 0) {
        return order;
    }
    if (span_a.len != span_b.len) {
        return span_a.len < span_b.len ? -1 : 1;
    }
    return key_a < key_b ? -1 : key_a > key_b; /* equal keys stay in document order */
}

/* The keys of an object in order, of equal ones the last. Owned array. */
static yyjson_val **sorted_keys(const struct wb_json *object, size_t *ret_count)
{
    yyjson_val **keys = wb_alloc_array(wb_json_count(object), sizeof(*keys));
    yyjson_obj_iter it = yyjson_obj_iter_with(yy(object));
    size_t count = 0;
    size_t kept = 0;

    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count || !wb_span_equal(key_span(keys[i]), key_span(keys[i + 1]))) {
            keys[kept++] = keys[i];
        }
    }
    *ret_count = kept;
    return keys;
}

static bool objects_equal(const struct wb_json *a, const struct wb_json *b)
{
    size_t count_a;
    size_t count_b;
    WB_AUTO(wb_free_p) yyjson_val **keys_a = sorted_keys(a, &count_a);
    WB_AUTO(wb_free_p) yyjson_val **keys_b = sorted_keys(b, &count_b);

    if (count_a != count_b) {
        return false;
    }
    for (size_t i = 0; i < count_a; i++) {
        if (!wb_span_equal(key_span(keys_a[i]), key_span(keys_b[i])) ||
            !wb_json_equal(from_yy(keys_a[i] + 1), from_yy(keys_b[i] + 1))) {
            return false;
        }
    }
    return true;
}

/* Recursion is bounded by the depth of a parsed document. */
bool wb_json_equal(const struct wb_json *a, const struct wb_json *b)
{
    enum wb_json_type type = wb_json_type(a);

    if (type != wb_json_type(b)) {
        return false;
    }
    switch (type) {
    case WB_JSON_BOOL:
        return wb_json_bool(a, false) == wb_json_bool(b, false);
    case WB_JSON_NUMBER:
        return numbers_equal(a, b);
    case WB_JSON_STRING:
        return wb_span_equal(wb_json_span(a), wb_json_span(b));
    case WB_JSON_ARRAY:
        return arrays_equal(a, b);
    case WB_JSON_OBJECT:
        return objects_equal(a, b);
    default:
        return true; /* null, or both not there */
    }
}
