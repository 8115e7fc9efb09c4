/* table: see table.h. */
#include "run/table.h"

#include "base/log.h"

/* Members that may stand in a row, and that no built-in row has. */
static const char *const unused_members[] = {"disabled", "declare_pull", "memory_mb", "ok_exit"};

/* The built-in rows are the measure: what none of them has is known to nobody. */
static enum wb_json_type known_type(const struct wb_json *rows, const char *member)
{
    for (struct wb_json_iter it = wb_json_iter(rows); wb_json_next(&it);) {
        const struct wb_json *value = wb_json_get(it.value, member);
        if (value != NULL) {
            return wb_json_type(value);
        }
    }
    return WB_JSON_NONE;
}

static bool is_unused_member(const char *member)
{
    for (size_t i = 0; i < WB_COUNT(unused_members); i++) {
        if (wb_str_equal(unused_members[i], member)) {
            return true;
        }
    }
    return false;
}

/* A mistake in a row is told; the rest of the row holds. */
static void check_row(const struct wb_json *rows, const char *key, const char *id,
                      const struct wb_json *row)
{
    for (struct wb_json_iter it = wb_json_iter(row); wb_json_next(&it);) {
        enum wb_json_type known = known_type(rows, it.key), type = wb_json_type(it.value);
        if (known == WB_JSON_NONE && !is_unused_member(it.key)) {
            wb_log(WB_LOG_WARNING, "the row `%.64s` of `%s` has the unknown member `%.64s`", id,
                   key, it.key);
        } else if (known != WB_JSON_NONE && type != known && type != WB_JSON_NULL) {
            wb_log(WB_LOG_WARNING, "`%.64s` in the row `%.64s` of `%s` must be of type %s, not %s",
                   it.key, id, key, wb_json_type_name(known), wb_json_type_name(type));
        }
    }
}

/* Both rows as one object: extra's members win. */
static const struct wb_json *merge_rows(struct wb_arena *arena, const struct wb_json *base,
                                        const struct wb_json *extra)
{
    struct wb_text text;
    wb_text_init(&text);
    struct wb_json_writer w;
    wb_json_writer_init(&w, &text);
    wb_json_begin_object(&w);
    for (struct wb_json_iter it = wb_json_iter(base); wb_json_next(&it);) {
        if (wb_json_get(extra, it.key) == NULL) {
            wb_json_key(&w, it.key);
            wb_json_put_value(&w, it.value);
        }
    }
    for (struct wb_json_iter it = wb_json_iter(extra); wb_json_next(&it);) {
        wb_json_key(&w, it.key);
        wb_json_put_value(&w, it.value);
    }
    wb_json_end_object(&w);
    const struct wb_json *merged = wb_json_parse(arena, wb_text_span(&text), NULL);
    wb_text_done(&text);
    return merged;
}

static const struct wb_json *find_row(const struct wb_json *rows, const char *id)
{
    for (struct wb_json_iter it = wb_json_iter(rows); wb_json_next(&it);) {
        const char *other = wb_json_str(wb_json_get(it.value, "id"));
        if (other != NULL && wb_str_equal(other, id)) {
            return it.value;
        }
    }
    return NULL;
}

static void add_row(struct wb_arena *arena, const struct wb_json *row, struct wb_table *table)
{
    if (!wb_json_bool(wb_json_get(row, "disabled"), false)) {
        *WB_ARENA_PUSH(arena, table->rows, table->count, table->capacity) = row;
    }
}

static int add_extra(struct wb_arena *arena, const struct wb_json *base_rows, const char *key,
                     const struct wb_json *extra, struct wb_table *table, struct wb_error *err)
{
    for (struct wb_json_iter it = wb_json_iter(extra); wb_json_next(&it);) {
        const char *id = wb_json_str(wb_json_get(it.value, "id"));
        if (id == NULL) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "\"%s\" in the configuration has a row without an \"id\"", key);
        }
        check_row(base_rows, key, id, it.value);
        if (find_row(base_rows, id) == NULL) {
            add_row(arena, it.value, table);
        }
    }
    return 0;
}

int wb_table_load(struct wb_arena *arena, struct wb_span built_in, const char *key,
                  const struct wb_json *extra, struct wb_table *ret, struct wb_error *err)
{
    *ret = (struct wb_table){0};
    const struct wb_json *base = wb_json_parse(arena, built_in, err);
    if (base == NULL) {
        return wb_error_context(err, "the built-in table of %s", key);
    }
    const struct wb_json *rows = wb_json_get(base, key);
    for (struct wb_json_iter it = wb_json_iter(rows); wb_json_next(&it);) {
        const struct wb_json *over =
            find_row(extra, wb_json_str_or(wb_json_get(it.value, "id"), ""));
        add_row(arena, over != NULL ? merge_rows(arena, it.value, over) : it.value, ret);
    }
    return add_extra(arena, rows, key, extra, ret, err);
}

const char **wb_table_strings(struct wb_arena *arena, const struct wb_json *array)
{
    size_t n = wb_json_type(array) == WB_JSON_ARRAY ? wb_json_count(array) : 0;
    const char **strings = wb_arena_alloc_array(arena, n + 1, sizeof(*strings));
    size_t kept = 0;
    for (struct wb_json_iter it = wb_json_iter(array); n > 0 && wb_json_next(&it);) {
        const char *text = wb_json_str(it.value);
        if (text != NULL) {
            strings[kept++] = text;
        }
    }
    return strings;
}

const char *const **wb_table_commands(struct wb_arena *arena, const struct wb_json *array)
{
    const char *const **commands =
        wb_arena_alloc_array(arena, wb_json_count(array) + 1, sizeof(*commands));
    size_t n = 0;
    for (struct wb_json_iter it = wb_json_iter(array); wb_json_next(&it);) {
        const char **words = wb_table_strings(arena, it.value);
        if (words[0] != NULL) {
            commands[n++] = (const char *const *)words;
        }
    }
    return commands;
}
