/* args: from JSON to a C structure along a table, with the sentence for whatever does not fit.
 *
 * Knows no tool: what it says, it takes from the table. What one choice needs and takes besides is
 * checked in args_rules.c; schema and help are in args_print.c. */
#include <assert.h>

#include "run/args_private.h"
#include "run/nearest.h"

/* What a value must be, for sentences. */
static const char *const expected[] = {
    [WB_ARG_STRING] = "a string",
    [WB_ARG_PATH] = "a string",
    [WB_ARG_INT] = "an integer",
    [WB_ARG_BOOL] = "true or false",
    [WB_ARG_MAYBE] = "true or false",
    [WB_ARG_ENUM] = "a string",
    [WB_ARG_STRINGS] = "an array of strings",
    [WB_ARG_INTS] = "an array of integers",
    [WB_ARG_OBJECTS] = "an array of objects",
    [WB_ARG_OBJECT] = "an object of strings",
};

static const char *describe(const struct wb_json *value)
{
    switch (wb_json_type(value)) {
    case WB_JSON_NONE:
        return "nothing";
    case WB_JSON_NULL:
        return "null";
    case WB_JSON_BOOL:
        return wb_json_bool(value, false) ? "true" : "false";
    case WB_JSON_NUMBER:
        return "a number";
    case WB_JSON_STRING:
        return "a string";
    case WB_JSON_ARRAY:
        return "an array";
    case WB_JSON_OBJECT:
        return "an object";
    }
    return "something else";
}

/* "`a`, `b`, `c`" */
static char *quoted_list(struct wb_arena *arena, const char *const *names, size_t n)
{
    char *list = wb_arena_strdup(arena, "");
    for (size_t i = 0; i < n; i++) {
        list = wb_arena_printf(arena, "%s%s`%s`", list, i > 0 ? ", " : "", names[i]);
    }
    return list;
}

static int unknown_key(struct wb_args_decoder *d, const char *prefix, const struct wb_arg *table,
                       size_t n, const char *key)
{
    const char **known = wb_arena_alloc_array(d->arena, n + 1, sizeof(*known));
    for (size_t i = 0; i < n; i++) {
        known[i] = table[i].key;
    }
    const char *near = wb_nearest(wb_span(key), known, n);
    if (near != NULL) {
        return wb_error_set(d->err, WB_ERROR_INVALID,
                            "%s: unknown key `%s%.64s`; did you mean `%s`?", d->tool_name, prefix,
                            key, near);
    }
    if (n == 0) {
        return wb_error_set(d->err, WB_ERROR_INVALID,
                            "%s: unknown key `%s%.64s`; it takes no arguments", d->tool_name,
                            prefix, key);
    }
    return wb_error_set(d->err, WB_ERROR_INVALID, "%s: unknown key `%s%.64s`; the keys are %s",
                        d->tool_name, prefix, key, quoted_list(d->arena, known, n));
}

static int check_keys(struct wb_args_decoder *d, const char *prefix, const struct wb_arg *table,
                      size_t n, const struct wb_json *json)
{
    for (struct wb_json_iter it = wb_json_iter(json); wb_json_next(&it);) {
        size_t i = 0;
        while (i < n && !wb_str_equal(table[i].key, it.key)) {
            i++;
        }
        if (i == n) {
            return unknown_key(d, prefix, table, n, it.key);
        }
    }
    return 0;
}

/* A hint for the mistakes that models make most. */
static const char *type_hint(struct wb_args_decoder *d, enum wb_arg_kind kind,
                             const struct wb_json *value)
{
    int64_t number;
    struct wb_span text = wb_json_span(value);
    if (kind == WB_ARG_INT && wb_span_int64(text, &number)) {
        return wb_arena_printf(d->arena, "; send %lld without quotes", (long long)number);
    }
    if ((kind == WB_ARG_BOOL || kind == WB_ARG_MAYBE) &&
        (wb_span_is(text, "true") || wb_span_is(text, "false"))) {
        return wb_arena_printf(d->arena, "; send %s without quotes", text.ptr);
    }
    if (kind == WB_ARG_STRINGS && text.ptr != NULL) {
        return "; put it into brackets: [\"...\"]";
    }
    return "";
}

static int wrong_type(struct wb_args_decoder *d, const char *name, enum wb_arg_kind kind,
                      const struct wb_json *value)
{
    if (kind == WB_ARG_INT && wb_json_type(value) == WB_JSON_NUMBER) {
        struct wb_span text = wb_json_write(d->arena, value);
        return wb_error_set(d->err, WB_ERROR_INVALID, "%s: `%s` must be an integer, not %.*s",
                            d->tool_name, name, (int)WB_MIN(text.len, (size_t)32), text.ptr);
    }
    return wb_error_set(d->err, WB_ERROR_INVALID, "%s: `%s` must be %s, not %s%s", d->tool_name,
                        name, expected[kind], describe(value), type_hint(d, kind, value));
}

static int check_range(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                       int64_t value, const char *unit)
{
    if (value >= arg->min && (arg->max == 0 || value <= arg->max)) {
        return 0;
    }
    if (arg->max == 0) {
        return wb_error_set(d->err, WB_ERROR_INVALID,
                            "%s: `%s` is %lld%s; it must be at least %lld", d->tool_name, name,
                            (long long)value, unit, (long long)arg->min);
    }
    return wb_error_set(d->err, WB_ERROR_INVALID,
                        "%s: `%s` is %lld%s; it must be between %lld and %lld", d->tool_name, name,
                        (long long)value, unit, (long long)arg->min, (long long)arg->max);
}

static int decode_string(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                         const struct wb_json *value, struct wb_span *ret)
{
    struct wb_span text = wb_json_span(value);
    if (text.ptr == NULL) {
        return wrong_type(d, name, arg->kind, value);
    }
    if (check_range(d, name, arg, (int64_t)text.len, " bytes long") != 0) {
        return -1;
    }
    *ret = text;
    return 0;
}

static int decode_path(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                       const struct wb_json *value, struct wb_span *ret)
{
    struct wb_span path = {0};
    if (decode_string(d, name, arg, value, &path) != 0) {
        return -1;
    }
    if (path.len == 0) {
        return wb_error_set(d->err, WB_ERROR_INVALID, "%s: `%s` is empty%s", d->tool_name, name,
                            wb_args_doc_of(d->arena, arg));
    }
    if (memchr(path.ptr, '\0', path.len) != NULL) {
        return wb_error_set(d->err, WB_ERROR_INVALID, "%s: `%s` has a NUL byte; no path has one",
                            d->tool_name, name);
    }
    if (path.len >= WB_PATH_BYTES_MAX) {
        return wb_error_set(d->err, WB_ERROR_INVALID,
                            "%s: `%s` is %zu bytes long; a path has less than %d", d->tool_name,
                            name, path.len, WB_PATH_BYTES_MAX);
    }
    if (wb_span_starts(path, WB_SPAN("file://"))) {
        return wb_error_set(d->err, WB_ERROR_INVALID,
                            "%s: `%s` is a URI; send a plain path, absolute or relative to the "
                            "workspace",
                            d->tool_name, name);
    }
    *ret = path;
    return 0;
}

static int decode_int(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                      const struct wb_json *value, int64_t *ret)
{
    int64_t number;
    if (!wb_json_int(value, &number)) {
        return wrong_type(d, name, arg->kind, value);
    }
    if (check_range(d, name, arg, number, "") != 0) {
        return -1;
    }
    *ret = number;
    return 0;
}

static int decode_bool(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                       const struct wb_json *value, bool *ret)
{
    if (wb_json_type(value) != WB_JSON_BOOL) {
        return wrong_type(d, name, arg->kind, value);
    }
    *ret = wb_json_bool(value, false);
    return 0;
}

static int decode_maybe(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                        const struct wb_json *value, int *ret)
{
    bool is_true = false;
    if (decode_bool(d, name, arg, value, &is_true) != 0) {
        return -1;
    }
    *ret = is_true;
    return 0;
}

static int decode_enum(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                       const struct wb_json *value, int *ret)
{
    struct wb_span text = wb_json_span(value);
    size_t n = 0;
    if (text.ptr == NULL) {
        return wrong_type(d, name, arg->kind, value);
    }
    for (; arg->choices[n] != NULL; n++) {
        if (wb_span_is(text, arg->choices[n])) {
            *ret = (int)n;
            return 0;
        }
    }
    const char *near = wb_nearest(text, arg->choices, n);
    return wb_error_set(d->err, WB_ERROR_INVALID,
                        "%s: `%s` cannot be `%.64s`; %s%s%sit is one of %s", d->tool_name, name,
                        text.ptr, near != NULL ? "did you mean `" : "", near != NULL ? near : "",
                        near != NULL ? "`? " : "", quoted_list(d->arena, arg->choices, n));
}

/* A list of zeroed items. */
static int begin_list(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                      const struct wb_json *value, size_t item_bytes, struct wb_arg_list *ret)
{
    size_t count = wb_json_count(value);
    if (wb_json_type(value) != WB_JSON_ARRAY) {
        return wrong_type(d, name, arg->kind, value);
    }
    if (check_range(d, name, arg, (int64_t)count, " items long") != 0) {
        return -1;
    }
    *ret = (struct wb_arg_list){wb_arena_alloc_array(d->arena, count, item_bytes), count};
    return 0;
}

static int decode_strings(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                          const struct wb_json *value, struct wb_arg_list *ret)
{
    if (begin_list(d, name, arg, value, sizeof(struct wb_span), ret) != 0) {
        return -1;
    }
    struct wb_span *items = ret->items;
    for (struct wb_json_iter it = wb_json_iter(value); wb_json_next(&it);) {
        items[it.index] = wb_json_span(it.value);
        if (items[it.index].ptr == NULL) {
            return wrong_type(d, wb_arena_printf(d->arena, "%s[%zu]", name, it.index),
                              WB_ARG_STRING, it.value);
        }
    }
    return 0;
}

static int decode_ints(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                       const struct wb_json *value, struct wb_arg_list *ret)
{
    static const struct wb_arg positive = {.kind = WB_ARG_INT, .min = 1};
    if (begin_list(d, name, arg, value, sizeof(int64_t), ret) != 0) {
        return -1;
    }
    int64_t *items = ret->items;
    for (struct wb_json_iter it = wb_json_iter(value); wb_json_next(&it);) {
        if (decode_int(d, wb_arena_printf(d->arena, "%s[%zu]", name, it.index), &positive, it.value,
                       &items[it.index]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int decode_object(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                         const struct wb_json *value, const struct wb_json **ret)
{
    if (wb_json_type(value) != WB_JSON_OBJECT) {
        return wrong_type(d, name, arg->kind, value);
    }
    for (struct wb_json_iter it = wb_json_iter(value); wb_json_next(&it);) {
        if (wb_json_type(it.value) != WB_JSON_STRING) {
            return wrong_type(d, wb_arena_printf(d->arena, "%s.%.64s", name, it.key), WB_ARG_STRING,
                              it.value);
        }
    }
    *ret = value;
    return 0;
}

static int decode_table(struct wb_args_decoder *d, const char *prefix, const struct wb_arg *table,
                        size_t n, const struct wb_json *json, char *base);

static int decode_objects(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                          const struct wb_json *value, struct wb_arg_list *ret)
{
    if (begin_list(d, name, arg, value, arg->item_bytes, ret) != 0) {
        return -1;
    }
    char *items = ret->items;
    for (struct wb_json_iter it = wb_json_iter(value); wb_json_next(&it);) {
        const char *item = wb_arena_printf(d->arena, "%s[%zu]", name, it.index);
        if (wb_json_type(it.value) != WB_JSON_OBJECT) {
            return wb_error_set(d->err, WB_ERROR_INVALID, "%s: `%s` must be an object, not %s",
                                d->tool_name, item, describe(it.value));
        }
        if (decode_table(d, wb_arena_printf(d->arena, "%s.", item), arg->items, arg->n_items,
                         it.value, items + it.index * arg->item_bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

static int decode_value(struct wb_args_decoder *d, const char *name, const struct wb_arg *arg,
                        const struct wb_json *value, void *field)
{
    switch (arg->kind) {
    case WB_ARG_STRING:
        return decode_string(d, name, arg, value, field);
    case WB_ARG_PATH:
        return decode_path(d, name, arg, value, field);
    case WB_ARG_INT:
        return decode_int(d, name, arg, value, field);
    case WB_ARG_BOOL:
        return decode_bool(d, name, arg, value, field);
    case WB_ARG_MAYBE:
        return decode_maybe(d, name, arg, value, field);
    case WB_ARG_ENUM:
        return decode_enum(d, name, arg, value, field);
    case WB_ARG_STRINGS:
        return decode_strings(d, name, arg, value, field);
    case WB_ARG_INTS:
        return decode_ints(d, name, arg, value, field);
    case WB_ARG_OBJECTS:
        return decode_objects(d, name, arg, value, field);
    case WB_ARG_OBJECT:
        return decode_object(d, name, arg, value, field);
    }
    assert(!"a kind of the table");
    return -1;
}

/* The structure is zeroed: only numbers have another "not given". */
static void set_otherwise(const struct wb_arg *arg, void *field)
{
    if (arg->kind == WB_ARG_INT) {
        *(int64_t *)field = arg->otherwise;
    } else if (arg->kind == WB_ARG_BOOL) {
        *(bool *)field = arg->otherwise != 0;
    } else if (arg->kind == WB_ARG_MAYBE) {
        *(int *)field = -1;
    } else if (arg->kind == WB_ARG_ENUM) {
        *(int *)field = (int)arg->otherwise;
    }
}

static int decode_table(struct wb_args_decoder *d, const char *prefix, const struct wb_arg *table,
                        size_t n, const struct wb_json *json, char *base)
{
    if (check_keys(d, prefix, table, n, json) != 0) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        const struct wb_arg *arg = &table[i];
        const struct wb_json *value = wb_json_get(json, arg->key);
        const char *name =
            prefix[0] == '\0' ? arg->key : wb_arena_printf(d->arena, "%s%s", prefix, arg->key);
        set_otherwise(arg, base + arg->offset);
        if (!wb_json_is_null(value)) {
            if (decode_value(d, name, arg, value, base + arg->offset) != 0) {
                return -1;
            }
        } else if (arg->required) {
            return wb_error_set(d->err, WB_ERROR_INVALID, "%s: `%s` is missing%s", d->tool_name,
                                name, wb_args_doc_of(d->arena, arg));
        }
    }
    return 0;
}

int wb_args_decode(struct wb_arena *arena, const struct wb_args *args, const char *tool_name,
                   const struct wb_json *json, void **ret, struct wb_error *err)
{
    struct wb_args_decoder d = {arena, tool_name, err};
    char *base = wb_arena_alloc(arena, args->bytes > 0 ? args->bytes : 1);
    if (wb_json_type(json) != WB_JSON_OBJECT) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s: the arguments must be one JSON object, not %s", tool_name,
                            describe(json));
    }
    if (decode_table(&d, "", args->table, args->n, json, base) != 0) {
        return -1;
    }
    if (args->n_rules > 0 && wb_args_check_rules(&d, args, json, base) != 0) {
        return -1;
    }
    *ret = base;
    return 0;
}
