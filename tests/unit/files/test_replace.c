/* Tests of files/replace.h and files/regex.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/text.h"
#include "files/regex.h"
#include "files/replace.h"

static void test_replace(void **state)
{
    (void)state;

    static const struct {
        const char *content, *old_text, *new_text;
        bool all;
        const char *result, *error; /* result NULL: refused, the error holds this */
    } rows[] = {
        {"a b c", "b", "x", false, "a x c", NULL},
        {"a b c", "b", "", false, "a  c", NULL},
        {"a b a", "a", "x", true, "x b x", NULL},
        {"aaaa", "aa", "b", true, "bb", NULL},
        {"a\nb\na\n", "a", "x", false, NULL, "occurs 2 times in f (lines 1, 3)"},
        {"a\nb\n", "z", "x", false, NULL, "does not occur in f"},
        /* line ends */
        {"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", NULL},
        {"a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n", NULL},
        {"a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", NULL},
        {"a\nb\n", "a\r\nb", "x\r\ny", false, "x\ny\n", NULL},
        {"a\r\nb\nc\n", "b\nc", "x\ny", false, "a\r\nx\ny\n", NULL},
        {"a\r\nb\r\nc\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\n", NULL},
        {"a\nb\r\nc\n", "a\nb\r\nc", "x\ny\r\nz", false, "x\ny\r\nz\n", NULL},
        {"a\nb\nx\r\na\r\nb\r\n", "a\r\nb", "c", false, "a\nb\nx\r\nc\r\n", NULL},
        /* the last line's end */
        {"a\nb\n", "b\n\n", "x", false, NULL, "does not occur in f"},
        {"a\r\nb\n", "b\r\n", "x\n", false, "a\r\nx\n", NULL},
        {"a\nb", "b\n", "x\n", false, "a\nx", NULL},
        {"a\nb", "b\n", "x", false, "a\nx", NULL},
        {"a\nb", "a\n", "x\n", false, "x\nb", NULL},
        {"b\nb", "b\n", "x\n", false, "x\nb", NULL},
        {"a\r\nb", "b\n", "x\n", false, "a\r\nx", NULL},
        /* byte order mark */
        {"\xEF\xBB\xBF"
         "a\n",
         "a\n", "b\n", false,
         "\xEF\xBB\xBF"
         "b\n",
         NULL},
        /* hints */
        {"int  main(void)\n{\n", "int main(void)\n{", "x", false, NULL, "does not occur"},
        {"\tint x;\n\tint y;\n", "  int x;\n  int y;", "z", false, NULL,
         "Lines 1-2 differ from it only in white space"},
        {"one\nstatic int foo(int a)\ntwo\n", "static int foo(long b)", "z", false, NULL,
         "f:2: static int foo(int a)"},
        {"x = 1;\n", "\n\n  \n", "z", false, NULL, "does not occur in f."},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        struct wb_replacement made;
        struct wb_error err = {0};
        int status =
            wb_replace_text(&arena, wb_span(rows[i].content), "f", wb_span(rows[i].old_text),
                            wb_span(rows[i].new_text), rows[i].all, &made, &err);
        if (rows[i].result != NULL) {
            if (status != 0 || !wb_span_is(made.content, rows[i].result)) {
                fail_msg("row %zu: %s", i, status != 0 ? err.message : made.content.ptr);
            }
        } else if (status == 0 || strstr(err.message, rows[i].error) == NULL) {
            fail_msg("row %zu: %s", i, status == 0 ? made.content.ptr : err.message);
        }
    }
}

/* The numbers of the matching lines, each with a blank behind. */
static const char *matching_lines(struct wb_arena *arena, const char *pattern,
                                  struct wb_span content)
{
    struct wb_error err = {0};
    WB_AUTO(wb_regex_free_p) struct wb_regex *regex = wb_regex_new(wb_span(pattern), &err);
    if (regex == NULL) {
        return wb_arena_strdup(arena, err.message);
    }
    struct wb_span line;
    size_t skipped, number = 0;
    const char *found = "";
    int status;
    while ((status = wb_regex_next_line(regex, &content, &line, &skipped)) == 1) {
        number += skipped + 1;
        found = wb_arena_printf(arena, "%s%zu ", found, number);
    }
    return status == 0 ? found : "too many steps";
}

static void test_regex(void **state)
{
    (void)state;

    static const struct {
        const char *pattern, *content, *lines;
    } rows[] = {
        {"b", "a\nb\nbb\nc", "2 3 "},
        {"^b$", "a\nb\nbb\nb", "2 4 "},
        {"b$", "ab\r\nb\r\n", "1 2 "},
        {"^", "a\n\nb\n", "1 2 3 "},
        {"$", "a\n\nb\n", "1 2 3 "},
        {"^$", "a\n\nb\n", "2 "},
        {"x*", "a\nb", "1 2 "},
        {"a.*c", "a\nc\nabc\n", "3 "},
        {"a[^x]*c", "a\nc\nabc\n", "3 "},
        {"a\\s*c", "a\nc\na c\n", "3 "},
        {"a\\nc", "a\nc\n", ""},
        {"(?s)a.c", "a\nc\nabc\n", "3 "},
        {"a[^x]*+", "ab\nxa\n", "1 2 "},
        {"(?i)ABC", "xabc\n", "1 "},
        {"(?=b)b", "b\n", "1 "},
        {"(a|b)\\1", "ab\nbb\n", "2 "},
        {"\\bfoo\\b", "foo\nfoobar\na.foo.b\n", "1 3 "},
        {"\\w+\xC3\xA9", "caf\xC3\xA9\n", "1 "},
        {"^.$", "\xC3\xA9\nab\n", "1 "},
        {"b",
         "\xFF"
         "b\nb\n",
         "1 2 "},
        {"[\\w-]+=", "a-b=1\nc\n", "1 "},
        {"[\t-z]", "\n\n", ""},
        {"\\R", "a\r\nb\n", ""},
        {"a\\Z", "a\nb\na", "1 3 "},
        {"b", "", ""},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        const char *found = matching_lines(&arena, rows[i].pattern, wb_span(rows[i].content));
        if (!wb_str_equal(found, rows[i].lines)) {
            fail_msg("%s on row %zu: %s", rows[i].pattern, i, found);
        }
    }
}

static void test_regex_bounds(void **state)
{
    (void)state;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    assert_non_null(strstr(matching_lines(&arena, "a(b", WB_SPAN("x")), "at offset 3"));
    char *content = wb_arena_alloc(&arena, 100000);
    memset(content, 'a', 99999);
    struct wb_span whole = {content, 99999};
    assert_string_equal(matching_lines(&arena, "(a+)+[bc]", whole), "too many steps");
    assert_string_equal(matching_lines(&arena, "([^x]+)+[bc]", whole), "too many steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_regex_bounds),
    };
    return cmocka_run_group_tests_name("replace", tests, NULL, NULL);
}
