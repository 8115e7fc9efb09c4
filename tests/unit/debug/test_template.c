/* Templates: what stands for what, and what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/template.h"

static const char *const args[] = {"one", "two words", "it's", "", NULL};

static const char *fill(struct wb_arena *arena, const char *template,
                        const struct wb_template_values *values)
{
    const struct wb_json *json = wb_json_parse(arena, wb_span(template), NULL);
    assert_non_null(json);
    return wb_template_fill(arena, json, values).ptr;
}

static void placeholders_become_values(void **state)
{
    static const struct {
        const char *template, *filled;
    } cases[] = {
        {"{\"a\":\"{program}\"}", "{\"a\":\"/w/app\"}"},
        {"{\"a\":\"run {program} now\"}", "{\"a\":\"run /w/app now\"}"},
        {"{\"a\":\"{args}\"}", "{\"a\":[\"one\",\"two words\",\"it's\",\"\"]}"},
        {"{\"a\":[\"-x\",\"{args}\",\"-y\"]}",
         "{\"a\":[\"-x\",\"one\",\"two words\",\"it's\",\"\",\"-y\"]}"},
        {"{\"a\":\"{args_line}\"}", "{\"a\":\"one 'two words' 'it'\\\\''s' ''\"}"},
        {"{\"a\":\"{port}\",\"b\":\"h:{port}\"}", "{\"a\":4711,\"b\":\"h:4711\"}"},
        {"{\"a\":\"{stop_on_entry}\"}", "{\"a\":true}"},
        {"{\"a\":\"{env}\"}", "{\"a\":{\"K\":\"v w\"}}"},
        {"{\"a\":\"{env_list}\"}", "{\"a\":[\"K=v w\"]}"},
        {"{\"a\":\"{core}\",\"b\":1,\"c\":[\"{pid}\",2]}", "{\"b\":1,\"c\":[2]}"},
        {"{\"a\":\"x {core} y\",\"b\":{\"c\":\"{core}\"}}", "{\"b\":{}}"},
        {"{\"a\":\"${port}\",\"b\":\"{nonesuch}\",\"c\":\"{ }\",\"d\":null}",
         "{\"a\":\"${port}\",\"c\":\"{ }\",\"d\":null}"},
    };
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    const struct wb_template_values values = {
        .program = "/w/app",
        .args = args,
        .env = wb_json_parse(&arena, WB_SPAN("{\"K\":\"v w\"}"), NULL),
        .port = 4711,
        .stop_on_entry = true,
    };
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        assert_string_equal(fill(&arena, cases[i].template, &values), cases[i].filled);
    }
}

static void words_are_spliced(void **state)
{
    static const char *const words[] = {"rdbg", "--port={port}", "--", "{program}", "{args}", NULL};
    static const char *const expected[] = {"rdbg", "--port=7",  "--",   "a.rb",
                                           "one",  "two words", "it's", ""};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    const struct wb_template_values values = {.program = "a.rb", .args = args, .port = 7};
    const char *const *filled = wb_template_words(&arena, words, &values);
    for (size_t i = 0; i < WB_COUNT(expected); i++) {
        assert_string_equal(filled[i], expected[i]);
    }
    assert_null(filled[WB_COUNT(expected)]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_become_values),
        cmocka_unit_test(words_are_spliced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
