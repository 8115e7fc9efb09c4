/* fuzz_args: argument decoding over tables with every kind and with rules: whatever the JSON, it
 * decodes into the structure or gives a sentence. */
#include <assert.h>
#include <stdlib.h>

#include "run/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct item {
    struct wb_span label, file;
    int64_t weight;
};

struct target {
    int action;
    struct wb_span text, path;
    int64_t number;
    bool flag;
    struct wb_arg_list names, items;
    const struct wb_json *env;
};

static const char *const actions[] = {"find", "list", "stop", NULL};

static const struct wb_arg item_table[] = {
    {.key = "label",
     .kind = WB_ARG_STRING,
     .offset = offsetof(struct item, label),
     .required = true},
    {.key = "file", .kind = WB_ARG_PATH, .offset = offsetof(struct item, file)},
    {.key = "weight", .kind = WB_ARG_INT, .offset = offsetof(struct item, weight), .max = 9},
};

static const struct wb_arg table[] = {
    {.key = "action",
     .kind = WB_ARG_ENUM,
     .offset = offsetof(struct target, action),
     .required = true,
     .choices = actions},
    {.key = "text", .kind = WB_ARG_STRING, .offset = offsetof(struct target, text), .max = 64},
    {.key = "path", .kind = WB_ARG_PATH, .offset = offsetof(struct target, path)},
    {.key = "number",
     .kind = WB_ARG_INT,
     .offset = offsetof(struct target, number),
     .min = -5,
     .max = 5},
    {.key = "flag", .kind = WB_ARG_BOOL, .offset = offsetof(struct target, flag)},
    {.key = "names", .kind = WB_ARG_STRINGS, .offset = offsetof(struct target, names), .max = 3},
    {.key = "items",
     .kind = WB_ARG_OBJECTS,
     .offset = offsetof(struct target, items),
     .items = item_table,
     .n_items = WB_COUNT(item_table),
     .item_bytes = sizeof(struct item)},
    {.key = "env", .kind = WB_ARG_OBJECT, .offset = offsetof(struct target, env)},
};

static const struct wb_arg_rule rules[] = {
    {"find", "text|path number", "flag names items env"},
    {"list", NULL, "path"},
};

static const struct wb_args args = {
    .table = table,
    .n = WB_COUNT(table),
    .bytes = sizeof(struct target),
    .rules = rules,
    .n_rules = WB_COUNT(rules),
};

static void check_string(struct wb_span s)
{
    assert(s.ptr == NULL || s.ptr[s.len] == '\0');
}

static void check_target(const struct target *target)
{
    const struct wb_span *names = target->names.items;
    const struct item *items = target->items.items;
    assert(target->action >= 0 && (size_t)target->action < WB_COUNT(actions) - 1);
    assert(target->number >= -5 && target->number <= 5);
    assert(target->names.count <= 3);
    check_string(target->text);
    check_string(target->path);
    for (size_t i = 0; i < target->names.count; i++) {
        check_string(names[i]);
    }
    for (size_t i = 0; i < target->items.count; i++) {
        assert(items[i].label.ptr != NULL && items[i].weight >= 0 && items[i].weight <= 9);
        check_string(items[i].file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_error err = {0};
    void *decoded;
    wb_arena_init(&arena);
    const struct wb_json *json =
        wb_json_parse(&arena, (struct wb_span){(const char *)data, size}, &err);
    if (json == NULL) {
        return 0;
    }
    if (wb_args_decode(&arena, &args, "fuzz", json, &decoded, &err) == 0) {
        check_target(decoded);
    } else {
        assert(err.code == WB_ERROR_INVALID && err.message[0] != '\0');
        assert(wb_utf8_valid(wb_span(err.message)));
    }
    return 0;
}
