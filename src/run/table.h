/* table: a catalogue as data: built-in rows, with the configuration's rows laid over them by id. */
#ifndef WB_RUN_TABLE_H
#define WB_RUN_TABLE_H

#include "base/arena.h"
#include "base/json.h"

struct wb_table {
    const struct wb_json **rows;
    size_t count, capacity;
};

/* built_in: {"<key>": [{"id": ...}, ...]}. extra: an array of rows, or NULL. A row with a known id
 * replaces members of the built-in row; "disabled": true removes it. The rest is added behind. A
 * warning is logged for a member that no built-in row has, or has with another type. */
WB_MUST_CHECK int wb_table_load(struct wb_arena *arena, struct wb_span built_in, const char *key,
                                const struct wb_json *extra, struct wb_table *ret,
                                struct wb_error *err);

/* An array of strings, NULL-terminated; empty for anything else. */
const char **wb_table_strings(struct wb_arena *arena, const struct wb_json *array);
/* An array of such arrays, without the empty ones; NULL-terminated. */
const char *const **wb_table_commands(struct wb_arena *arena, const struct wb_json *array);

#endif
