/* The table of grammars: what the catalogue has, a user's own library, and what is wrong with one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/flat_tree.h"
#include "base/clock.h"

static struct wb_grammars *load(struct wb_arena *arena, const char *extra, struct wb_error *err)
{
    const struct wb_json *rows = extra != NULL ? wb_json_parse(arena, wb_span(extra), err) : NULL;
    const struct wb_languages *languages = wb_languages_load(arena, rows, err);
    assert_non_null(languages);
    return wb_grammars_load(languages, err);
}

static void built_in(void **state)
{
    static const char *const ids[] = {
        "bash",       "c",       "cpp",  "csharp", "css",        "dart",  "elixir",
        "go",         "haskell", "hcl",  "html",   "java",       "json",  "javascript",
        "julia",      "kotlin",  "lua",  "make",   "markdown",   "ocaml", "php",
        "powershell", "python",  "r",    "ruby",   "rust",       "scala", "scss",
        "sql",        "swift",   "toml", "tsx",    "typescript", "xml",   "yaml",
        "zig",        "c++",     "py",   "js",     "ts",         "sh"};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_error err;
    (void)state;
    wb_arena_init(&arena);
    struct wb_grammars *grammars = load(&arena, NULL, &err);
    assert_non_null(grammars);
    for (size_t i = 0; i < WB_COUNT(ids); i++) {
        if (wb_grammars_find(grammars, ids[i]) == NULL) {
            fail_msg("there is no grammar `%s`", ids[i]);
        }
    }
    assert_null(wb_grammars_find(grammars, "cobol"));
    wb_grammars_free(grammars);
}

static void own_library(void **state)
{
    static const char row[] =
        "[{\"id\": \"own\", \"name\": \"Own\", \"extensions\": [\".own\"], \"identifier\": \"c\","
        " \"keywords\": [], \"grammar\": {\"parser\": \"own\", \"library\": \"" OWN_GRAMMAR
        "\", \"contexts\": [[\"value\", \"\", \"\"]]}}]";
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    (void)state;
    wb_arena_init(&arena);
    struct wb_grammars *grammars = load(&arena, row, &err);
    if (grammars == NULL) {
        fail_msg("%s", err.message);
    }
    const struct wb_grammar *own = wb_grammars_find(grammars, "own");
    assert_non_null(own);
    assert_ptr_not_equal(own->parser, wb_grammars_find(grammars, "json")->parser);
    struct wb_parser *parser = wb_parser_new();
    assert_int_equal(wb_parser_parse(parser, own, WB_SPAN("[1, 2]"), wb_clock_deadline(60000), NULL,
                                     &tree, &err),
                     0);
    assert_int_equal(tree.n_errors, 0);
    assert_int_equal(tree.count, 7); /* document, array, [ 1 , 2 ] */
    wb_parser_free(parser);
    wb_grammars_free(grammars);
}

static void bad_rows(void **state)
{
    static const struct {
        const char *grammar, *message;
    } cases[] = {
        {"{}", "names no parser"},
        {"{\"parser\": \"none\"}", "no built-in parser `none`"},
        {"{\"parser\": \"x\", \"library\": \"/nowhere/x.so\"}", "cannot be loaded"},
        {"{\"parser\": \"x\", \"library\": \"" OWN_GRAMMAR "\"}", "no function tree_sitter_x"},
        {"{\"parser\": \"old\", \"library\": \"" OLD_GRAMMAR "\"}", "has ABI 9"},
        {"{\"parser\": \"json\", \"joins\": [[\"a\", \"b\"]]}", "a context that it lacks"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        struct wb_error err;
        wb_arena_init(&arena);
        const char *rows =
            wb_arena_printf(&arena,
                            "[{\"id\": \"own\", \"name\": \"Own\", \"extensions\": [\".own\"],"
                            " \"identifier\": \"c\", \"keywords\": [], \"grammar\": %s}]",
                            cases[i].grammar);
        assert_null(load(&arena, rows, &err));
        if (strstr(err.message, cases[i].message) == NULL) {
            fail_msg("case %zu: %s", i, err.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in),
        cmocka_unit_test(own_library),
        cmocka_unit_test(bad_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
