/* args: a tool's arguments as a table. Decoding, messages, JSON schema and help come from it alone.
 *
 * The table describes a C structure; wb_args_decode fills one from JSON. JSON null counts as "not
 * given". What C type a kind fills:
 *
 *   WB_ARG_STRING                struct wb_span    ptr NULL when not given; NUL-terminated
 *   WB_ARG_PATH                  the same; not empty, no NUL inside, not a URI
 *   WB_ARG_INT                   int64_t           `otherwise` when not given
 *   WB_ARG_BOOL                  bool              `otherwise` when not given
 *   WB_ARG_MAYBE                 int               1, 0; -1 when not given. A boolean in JSON
 *   WB_ARG_ENUM                  int               index into choices; `otherwise` when not given
 *   WB_ARG_STRINGS               struct wb_arg_list of struct wb_span
 *   WB_ARG_INTS                  struct wb_arg_list of int64_t; each at least 1
 *   WB_ARG_OBJECTS               struct wb_arg_list of structures described by `items`
 *   WB_ARG_OBJECT                const struct wb_json *  an object of strings (environment); or NULL
 */
#ifndef WB_RUN_ARGS_H
#define WB_RUN_ARGS_H

#include "base/json.h"

enum wb_arg_kind {
    WB_ARG_STRING,
    WB_ARG_PATH,
    WB_ARG_INT,
    WB_ARG_BOOL,
    WB_ARG_MAYBE,
    WB_ARG_ENUM,
    WB_ARG_STRINGS,
    WB_ARG_INTS,
    WB_ARG_OBJECTS,
    WB_ARG_OBJECT,
};

struct wb_arg {
    const char *key;
    enum wb_arg_kind kind;
    size_t offset;
    bool required;
    int64_t otherwise; /* INT, BOOL, ENUM not given */
    int64_t min, max;  /* INT: range. STRING, PATH: bytes. Lists: items. max 0: no upper bound */
    const char *const *choices; /* ENUM: NULL-terminated */
    const struct wb_arg *items; /* OBJECTS */
    size_t n_items, item_bytes;
    const char *doc; /* one sentence or clause, for schema, help and man page */
};

struct wb_arg_list {
    void *items;
    size_t count;
};

/* What one choice of the selecting argument (lsp's action, debug's operation) needs and takes
 * besides: space-separated keys. "a|b" in needs: one of the two. */
struct wb_arg_rule {
    const char *choice;
    const char *needs;
    const char *takes;
};

struct wb_args {
    const struct wb_arg *table;
    size_t n;
    size_t bytes;                    /* of the structure */
    const struct wb_arg_rule *rules; /* for the first ENUM of the table, one a choice; or NULL */
    size_t n_rules;
};

/* Decodes and checks; *ret is in the arena. The error is one sentence that says what to send
 * instead: unknown key (with the nearest known one), wrong type, missing, out of range, no such
 * choice, an argument that this choice does not take. tool_name is for the sentence. */
WB_MUST_CHECK int wb_args_decode(struct wb_arena *arena, const struct wb_args *args,
                                 const char *tool_name, const struct wb_json *json, void **ret,
                                 struct wb_error *err);

/* The JSON schema: a flat object, additionalProperties false, enums inline, no unions, no $ref. */
void wb_args_schema(struct wb_json_writer *w, const struct wb_args *args);

/* A table for people: one line an argument, then one line a choice of the rules. */
void wb_args_help(struct wb_text *out, const struct wb_args *args);

#endif
