/* Tests of run/args: what decodes, every sentence, the schema and the help of one table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/args.h"

enum color { RED, GREEN, BLUE };

static const char *const colors[] = {"red", "green", "blue", NULL};

struct item {
    struct wb_span label;
    int64_t weight;
};

static const struct wb_arg item_table[] = {
    {.key = "label",
     .kind = WB_ARG_STRING,
     .offset = offsetof(struct item, label),
     .required = true,
     .doc = "What it is called."},
    {.key = "weight", .kind = WB_ARG_INT, .offset = offsetof(struct item, weight), .otherwise = 7},
};

struct all {
    struct wb_span text, path;
    int64_t number;
    bool flag;
    int color;
    struct wb_arg_list names, items;
    const struct wb_json *env;
};

static const struct wb_arg all_table[] = {
    {.key = "text",
     .kind = WB_ARG_STRING,
     .offset = offsetof(struct all, text),
     .required = true,
     .min = 1,
     .max = 10,
     .doc = "The text to use."},
    {.key = "path", .kind = WB_ARG_PATH, .offset = offsetof(struct all, path), .doc = "A file"},
    {.key = "number",
     .kind = WB_ARG_INT,
     .offset = offsetof(struct all, number),
     .min = 1,
     .max = 100,
     .otherwise = -1,
     .doc = "How many"},
    {.key = "flag", .kind = WB_ARG_BOOL, .offset = offsetof(struct all, flag), .otherwise = true},
    {.key = "color",
     .kind = WB_ARG_ENUM,
     .offset = offsetof(struct all, color),
     .choices = colors,
     .otherwise = BLUE,
     .doc = "Which color"},
    {.key = "names", .kind = WB_ARG_STRINGS, .offset = offsetof(struct all, names), .max = 3},
    {.key = "items",
     .kind = WB_ARG_OBJECTS,
     .offset = offsetof(struct all, items),
     .items = item_table,
     .n_items = WB_COUNT(item_table),
     .item_bytes = sizeof(struct item)},
    {.key = "env", .kind = WB_ARG_OBJECT, .offset = offsetof(struct all, env)},
};

static const struct wb_args all_args = {.table = all_table,
                                        .n = WB_COUNT(all_table),
                                        .bytes = sizeof(struct all)};

static const char *const verbs[] = {"open", "close", "status", NULL};

struct ruled {
    int verb;
    struct wb_span file, query;
    int64_t line;
};

static const struct wb_arg ruled_table[] = {
    {.key = "verb",
     .kind = WB_ARG_ENUM,
     .offset = offsetof(struct ruled, verb),
     .required = true,
     .choices = verbs,
     .doc = "What to do"},
    {.key = "file", .kind = WB_ARG_PATH, .offset = offsetof(struct ruled, file), .doc = "A file."},
    {.key = "query", .kind = WB_ARG_STRING, .offset = offsetof(struct ruled, query)},
    {.key = "line", .kind = WB_ARG_INT, .offset = offsetof(struct ruled, line), .min = 1},
};

static const struct wb_arg_rule rules[] = {
    {"open", "file|query", "line"},
    {"close", "file line", NULL},
    {"status", NULL, NULL},
};

static const struct wb_args ruled_args = {.table = ruled_table,
                                          .n = WB_COUNT(ruled_table),
                                          .bytes = sizeof(struct ruled),
                                          .rules = rules,
                                          .n_rules = WB_COUNT(rules)};
static const struct wb_args no_args = {0};

struct numbered {
    struct wb_arg_list lines;
};

static const struct wb_arg numbered_table[] = {
    {.key = "lines", .kind = WB_ARG_INTS, .offset = offsetof(struct numbered, lines), .max = 3},
};
static const struct wb_args numbered_args = {.table = numbered_table,
                                             .n = WB_COUNT(numbered_table),
                                             .bytes = sizeof(struct numbered)};

static void every_kind_decodes(void **state)
{
    static const char json[] =
        "{\"text\": \"a\\u0000b\", \"path\": \"src/x.c\", \"number\": 100, \"flag\": false,"
        " \"color\": \"green\", \"names\": [\"x\", \"\"], \"items\": [{\"label\": \"one\"},"
        " {\"label\": \"two\", \"weight\": 2.0}], \"env\": {\"A\": \"1\"}}";
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_error err;
    void *decoded;
    (void)state;
    wb_arena_init(&arena);
    const struct wb_json *value = wb_json_parse(&arena, wb_span(json), &err);
    assert_int_equal(wb_args_decode(&arena, &all_args, "demo", value, &decoded, &err), 0);
    const struct all *all = decoded;
    assert_true(wb_span_equal(all->text, (struct wb_span){"a\0b", 3}));
    assert_string_equal(all->path.ptr, "src/x.c");
    assert_int_equal(all->number, 100);
    assert_false(all->flag);
    assert_int_equal(all->color, GREEN);
    const struct wb_span *names = all->names.items;
    assert_int_equal(all->names.count, 2);
    assert_string_equal(names[0].ptr, "x");
    assert_int_equal(names[1].len, 0);
    const struct item *items = all->items.items;
    assert_int_equal(all->items.count, 2);
    assert_string_equal(items[0].label.ptr, "one");
    assert_int_equal(items[0].weight, 7);
    assert_int_equal(items[1].weight, 2);
    assert_string_equal(wb_json_str(wb_json_get(all->env, "A")), "1");
}

static void lists_of_integers_decode(void **state)
{
    static const struct {
        const char *json;
        int64_t numbers[3];
        size_t n;
        const char *error;
    } cases[] = {
        {"{\"lines\": [3, 1, 2.0]}", {3, 1, 2}, 3, NULL},
        {"{\"lines\": []}", {0}, 0, NULL},
        {"{\"lines\": 3}", {0}, 0, "demo: `lines` must be an array of integers, not a number"},
        {"{\"lines\": [1, 0]}", {0}, 0, "demo: `lines[1]` is 0; it must be at least 1"},
        {"{\"lines\": [\"4\"]}",
         {0},
         0,
         "demo: `lines[0]` must be an integer, not a string; send 4 without quotes"},
        {"{\"lines\": [1, 2, 3, 4]}",
         {0},
         0,
         "demo: `lines` is 4 items long; it must be between 0 and 3"},
    };
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_error err;
        void *decoded;
        const struct wb_json *value = wb_json_parse(&arena, wb_span(cases[i].json), NULL);
        int status = wb_args_decode(&arena, &numbered_args, "demo", value, &decoded, &err);
        assert_int_equal(status, cases[i].error != NULL ? -1 : 0);
        if (cases[i].error != NULL) {
            assert_string_equal(err.message, cases[i].error);
            continue;
        }
        const struct numbered *numbered = decoded;
        assert_non_null(numbered->lines.items); /* an empty list is given */
        assert_int_equal(numbered->lines.count, cases[i].n);
        assert_memory_equal(numbered->lines.items, cases[i].numbers, cases[i].n * sizeof(int64_t));
    }
}

static void what_is_not_given_has_its_otherwise(void **state)
{
    static const char *const forms[] = {
        "{\"text\": \"x\"}",
        "{\"text\": \"x\", \"path\": null, \"number\": null, \"flag\": null, \"color\": null,"
        " \"names\": null, \"items\": null, \"env\": null}",
    };
    (void)state;
    for (size_t i = 0; i < WB_COUNT(forms); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        struct wb_error err;
        void *decoded;
        wb_arena_init(&arena);
        const struct wb_json *value = wb_json_parse(&arena, wb_span(forms[i]), &err);
        assert_int_equal(wb_args_decode(&arena, &all_args, "demo", value, &decoded, &err), 0);
        const struct all *all = decoded;
        assert_null(all->path.ptr);
        assert_int_equal(all->number, -1);
        assert_true(all->flag);
        assert_int_equal(all->color, BLUE);
        assert_int_equal(all->names.count, 0);
        assert_int_equal(all->items.count, 0);
        assert_null(all->env);
    }
}

static const struct {
    const struct wb_args *args;
    const char *json;
    const char *message; /* NULL: it decodes */
} sentences[] = {
    /* the whole */
    {&all_args, "[]", "demo: the arguments must be one JSON object, not an array"},
    {&all_args, "null", "demo: the arguments must be one JSON object, not null"},
    {&all_args, "\"x\"", "demo: the arguments must be one JSON object, not a string"},
    {&all_args, "true", "demo: the arguments must be one JSON object, not true"},
    /* keys */
    {&all_args, "{\"pat\": 1}", "demo: unknown key `pat`; did you mean `path`?"},
    {&all_args, "{\"nubmer\": 1}", "demo: unknown key `nubmer`; did you mean `number`?"},
    {&all_args, "{\"qqqqq\": 1}",
     "demo: unknown key `qqqqq`; the keys are `text`, `path`, `number`, `flag`, `color`, `names`, "
     "`items`, `env`"},
    {&no_args, "{\"a\": 1}", "demo: unknown key `a`; it takes no arguments"},
    {&no_args, "{}", NULL},
    {&all_args, "{}", "demo: `text` is missing (The text to use)"},
    {&all_args, "{\"text\": null}", "demo: `text` is missing (The text to use)"},
    /* types */
    {&all_args, "{\"text\": 5}", "demo: `text` must be a string, not a number"},
    {&all_args, "{\"text\": \"x\", \"path\": [\"a\"]}",
     "demo: `path` must be a string, not an array"},
    {&all_args, "{\"text\": \"x\", \"number\": \"12\"}",
     "demo: `number` must be an integer, not a string; send 12 without quotes"},
    {&all_args, "{\"text\": \"x\", \"number\": \"many\"}",
     "demo: `number` must be an integer, not a string"},
    {&all_args, "{\"text\": \"x\", \"number\": 1.5}", "demo: `number` must be an integer, not 1.5"},
    {&all_args, "{\"text\": \"x\", \"flag\": \"true\"}",
     "demo: `flag` must be true or false, not a string; send true without quotes"},
    {&all_args, "{\"text\": \"x\", \"flag\": 1}",
     "demo: `flag` must be true or false, not a number"},
    {&all_args, "{\"text\": \"x\", \"color\": 1}", "demo: `color` must be a string, not a number"},
    {&all_args, "{\"text\": \"x\", \"names\": \"a\"}",
     "demo: `names` must be an array of strings, not a string; put it into brackets: [\"...\"]"},
    {&all_args, "{\"text\": \"x\", \"names\": [\"a\", 2]}",
     "demo: `names[1]` must be a string, not a number"},
    {&all_args, "{\"text\": \"x\", \"items\": {}}",
     "demo: `items` must be an array of objects, not an object"},
    {&all_args, "{\"text\": \"x\", \"items\": [1]}",
     "demo: `items[0]` must be an object, not a number"},
    {&all_args, "{\"text\": \"x\", \"items\": [{}]}",
     "demo: `items[0].label` is missing (What it is called)"},
    {&all_args,
     "{\"text\": \"x\", \"items\": [{\"label\": \"a\"}, {\"label\": \"b\", \"lable\": 1}]}",
     "demo: unknown key `items[1].lable`; did you mean `label`?"},
    {&all_args, "{\"text\": \"x\", \"env\": [1]}",
     "demo: `env` must be an object of strings, not an array"},
    {&all_args, "{\"text\": \"x\", \"env\": {\"A\": 1}}",
     "demo: `env.A` must be a string, not a number"},
    /* choices */
    {&all_args, "{\"text\": \"x\", \"color\": \"gren\"}",
     "demo: `color` cannot be `gren`; did you mean `green`? it is one of `red`, `green`, `blue`"},
    {&all_args, "{\"text\": \"x\", \"color\": \"\"}",
     "demo: `color` cannot be ``; it is one of `red`, `green`, `blue`"},
    /* ranges */
    {&all_args, "{\"text\": \"\"}", "demo: `text` is 0 bytes long; it must be between 1 and 10"},
    {&all_args, "{\"text\": \"12345678901\"}",
     "demo: `text` is 11 bytes long; it must be between 1 and 10"},
    {&all_args, "{\"text\": \"x\", \"number\": 0}",
     "demo: `number` is 0; it must be between 1 and 100"},
    {&all_args, "{\"text\": \"x\", \"number\": 101}",
     "demo: `number` is 101; it must be between 1 and 100"},
    {&ruled_args, "{\"verb\": \"status\", \"line\": -3}",
     "demo: `line` is -3; it must be at least 1"},
    {&all_args, "{\"text\": \"x\", \"names\": [\"1\", \"2\", \"3\", \"4\"]}",
     "demo: `names` is 4 items long; it must be between 0 and 3"},
    /* paths */
    {&all_args, "{\"text\": \"x\", \"path\": \"\"}", "demo: `path` is empty (A file)"},
    {&all_args, "{\"text\": \"x\", \"path\": \"a\\u0000b\"}",
     "demo: `path` has a NUL byte; no path has one"},
    {&all_args, "{\"text\": \"x\", \"path\": \"file:///a\"}",
     "demo: `path` is a URI; send a plain path, absolute or relative to the workspace"},
    /* rules */
    {&ruled_args, "{\"verb\": \"open\"}", "demo: verb `open` needs `file` or `query` (A file)"},
    {&ruled_args, "{\"verb\": \"open\", \"query\": \"q\", \"line\": 3}", NULL},
    {&ruled_args, "{\"verb\": \"close\", \"file\": \"a\"}", "demo: verb `close` needs `line`"},
    {&ruled_args, "{\"verb\": \"close\", \"file\": \"a\", \"line\": 1, \"query\": \"q\"}",
     "demo: verb `close` does not take `query`; leave it out"},
    {&ruled_args, "{\"verb\": \"status\"}", NULL},
    {&ruled_args, "{\"verb\": \"status\", \"file\": null}", NULL},
    {&ruled_args, "{\"verb\": \"status\", \"file\": \"a\"}",
     "demo: verb `status` does not take `file`; leave it out"},
    {&ruled_args, "{\"file\": \"a\"}", "demo: `verb` is missing (What to do)"},
};

static void every_mistake_has_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(sentences); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        struct wb_error err = {0};
        void *decoded;
        wb_arena_init(&arena);
        const struct wb_json *value = wb_json_parse(&arena, wb_span(sentences[i].json), &err);
        assert_non_null(value);
        int got = wb_args_decode(&arena, sentences[i].args, "demo", value, &decoded, &err);
        if (sentences[i].message == NULL) {
            assert_int_equal(got, 0);
        } else {
            assert_int_equal(got, -1);
            assert_string_equal(err.message, sentences[i].message);
            assert_int_equal(err.code, WB_ERROR_INVALID);
        }
    }
}

static void a_path_over_the_limit_is_refused(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    struct wb_error err;
    void *decoded;
    (void)state;
    wb_arena_init(&arena);
    wb_text_add_str(&json, "{\"text\": \"x\", \"path\": \"");
    for (size_t i = 0; i < WB_PATH_BYTES_MAX; i++) {
        wb_text_add_char(&json, 'p');
    }
    wb_text_add_str(&json, "\"}");
    const struct wb_json *value = wb_json_parse(&arena, wb_text_span(&json), &err);
    assert_int_equal(wb_args_decode(&arena, &all_args, "demo", value, &decoded, &err), -1);
    assert_string_equal(err.message, "demo: `path` is 4096 bytes long; a path has less than 4096");
}

static void schema_is_flat_and_closed(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_json_writer w;
    (void)state;
    wb_json_writer_init(&w, &out);
    wb_args_schema(&w, &all_args);
    assert_string_equal(
        wb_text_cstr(&out),
        "{\"type\":\"object\",\"properties\":{"
        "\"text\":{\"type\":\"string\",\"description\":\"The text to use.\"},"
        "\"path\":{\"type\":\"string\",\"description\":\"A file\"},"
        "\"number\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
        "\"description\":\"How many\"},"
        "\"flag\":{\"type\":\"boolean\"},"
        "\"color\":{\"type\":\"string\",\"enum\":[\"red\",\"green\",\"blue\"],"
        "\"description\":\"Which color\"},"
        "\"names\":{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":\"string\"}},"
        "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
        "\"label\":{\"type\":\"string\",\"description\":\"What it is called.\"},"
        "\"weight\":{\"type\":\"integer\",\"minimum\":0}},"
        "\"required\":[\"label\"],\"additionalProperties\":false}},"
        "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}},"
        "\"required\":[\"text\"],\"additionalProperties\":false}");
}

static void schema_of_nothing(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_json_writer w;
    (void)state;
    wb_json_writer_init(&w, &out);
    wb_args_schema(&w, &no_args);
    assert_string_equal(wb_text_cstr(&out),
                        "{\"type\":\"object\",\"properties\":{},\"required\":[],"
                        "\"additionalProperties\":false}");
}

static void help_lists_arguments_and_rules(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    (void)state;
    wb_args_help(&out, &ruled_args);
    assert_string_equal(wb_text_cstr(&out), "  verb   choice        What to do (required)\n"
                                            "  file   path          A file.\n"
                                            "  query  text          \n"
                                            "  line   number        \n"
                                            "\n"
                                            "  open    file or query [line]\n"
                                            "  close   file, line\n"
                                            "  status \n");
    wb_text_clear(&out);
    wb_args_help(&out, &all_args);
    assert_non_null(strstr(wb_text_cstr(&out), "one of: red, green, blue\n"));
    assert_non_null(strstr(wb_text_cstr(&out), "    label"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_decodes),
        cmocka_unit_test(lists_of_integers_decode),
        cmocka_unit_test(what_is_not_given_has_its_otherwise),
        cmocka_unit_test(every_mistake_has_its_sentence),
        cmocka_unit_test(a_path_over_the_limit_is_refused),
        cmocka_unit_test(schema_is_flat_and_closed),
        cmocka_unit_test(schema_of_nothing),
        cmocka_unit_test(help_lists_arguments_and_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
