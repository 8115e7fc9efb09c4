/* Tests of sys/ignore.h and sys/wildcard.h by table; check_ignore.py compares with git. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sys/ignore.h"
#include "sys/wildcard.h"

static void test_names(void **state)
{
    (void)state;

    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"abc", "abc", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*c*e", "abcde", true},
        {"a*c*e", "abcdf", false},
        {"*a*b*", "xxaxxbxx", true},
        {"**x", "aax", true},
        {"[abc]", "b", true},
        {"[!abc]", "b", false},
        {"[^abc]", "d", true},
        {"[a-c]x", "bx", true},
        {"[]a]", "]", true},
        {"[!]a]", "b", true},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[a\\-z]", "b", false},
        {"[a\\-z]", "-", true},
        {"[\\]]", "]", true},
        {"[[:digit:]]", "7", true},
        {"[[:digit:]x]", "x", true},
        {"[![:digit:]]", "7", false},
        {"[[:nonsense:]]", "n", false},
        {"[[:digit]", "d", true},
        {"[a-c-e]", "d", false},
        {"[a", "a", false},
        {"[a", "[a", false},
        {"a\\*b", "a*b", true},
        {"a\\*b", "axb", false},
        {"a\\", "a\\", false},
        {"a\\", "a", false},
        {"*[x", "[x", false},
        {"??", "\xC3\xA9", true}, /* bytes, as git */
        {"[\xC3\xA9]?", "\xC3\xA9", true},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        if (wb_wildcard_name(wb_span(rows[i].pattern), wb_span(rows[i].name)) != rows[i].matches) {
            fail_msg("%s against %s", rows[i].pattern, rows[i].name);
        }
    }
}

static void test_paths(void **state)
{
    (void)state;

    static const struct {
        const char *pattern, *path;
        bool matches;
    } rows[] = {
        {"a/b", "a/b", true},
        {"a/*", "a/b/c", false},
        {"*/c", "a/b/c", false},
        {"a?b", "a/b", false},
        {"a[/]b", "a/b", false},
        {"x[a/b]y/z", "xby/z", true},
        {"**/c", "c", true},
        {"**/c", "a/b/c", true},
        {"a/**/c", "a/c", true},
        {"a/**/c", "a/x/y/c", true},
        {"a/**/c", "ac", false},
        {"a/**", "a", false},
        {"a/**", "a/b/c", true},
        {"**", "a/b", true},
        {"a/**b", "a/x/b", false},
        {"a/**b", "a/xb", true},
        {"**/a/**/b/**/c", "a/1/b/2/3/c", true},
        {"**/a/**/b/**/c", "a/1/b/2/3/d", false},
        {"a/**/**/b", "a/b", true},
        {"a/**/b/**", "a/b", false},
        {"a//b", "a/b", false},
        {"a/", "a", false},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        if (wb_wildcard_path(wb_span(rows[i].pattern), wb_span(rows[i].path)) != rows[i].matches) {
            fail_msg("%s against %s", rows[i].pattern, rows[i].path);
        }
    }
}

/* What a backtracking matcher would not finish in this life. */
static void test_hostile_patterns(void **state)
{
    (void)state;
    char pattern[2001] = {0}, path[4001] = {0};
    for (size_t i = 0; i + 2 < sizeof(pattern); i += 2) {
        memcpy(pattern + i, "*a", 2);
    }
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 2] = 'b';
    assert_false(wb_wildcard_name(wb_span(pattern), wb_span(path)));
    for (size_t i = 0; i + 5 < sizeof(pattern); i += 5) {
        memcpy(pattern + i, "**/a/", 5);
    }
    for (size_t i = 0; i + 2 < sizeof(path); i += 2) {
        memcpy(path + i, "a/", 2);
    }
    pattern[sizeof(pattern) - 2] = '\0';
    path[sizeof(path) - 2] = 'b';
    assert_false(wb_wildcard_path(wb_span(pattern), wb_span(path)));
    assert_false(wb_ignore_glob("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "x"));
    assert_false(wb_ignore_glob("{{{{{{{{{{{{{{{{{{{{{{{{", "x"));
}

static void test_rules(void **state)
{
    (void)state;

    static const struct {
        const char *rules, *path;
        bool is_folder, ignored;
    } rows[] = {
        {"*.o\n", "a/b.o", false, true},
        {"*.o\n!b.o\n", "a/b.o", false, false},
        {"!b.o\n*.o\n", "a/b.o", false, true},
        {"build/\n", "build", true, true},
        {"build/\n", "build", false, false},
        {"build/\n", "x/build", true, true},
        {"/build\n", "x/build", true, false},
        {"x/build\n", "y/x/build", true, false},
        {"# a\n", "# a", false, false},
        {"\\#a\n", "#a", false, true},
        {"\\!a\n", "!a", false, true},
        {"a  \n", "a", false, true},
        {"a\\ \n", "a ", false, true},
        {"a\t\n", "a", false, false},
        {"a\r\n", "a", false, true},
        {"a\r", "a", false, true},
        {"\xEF\xBB\xBF"
         "a\n",
         "a", false, true},
        {"\n\n/\n!\n//\n", "a", true, false},
        {"a", "a", false, true},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        const struct wb_ignore *rules = wb_ignore_push(&arena, NULL, "", wb_span(rows[i].rules));
        if (wb_ignore_matches(rules, rows[i].path, rows[i].is_folder) != rows[i].ignored) {
            fail_msg("%s on %s", rows[i].rules, rows[i].path);
        }
    }
}

static void test_nested_sets(void **state)
{
    (void)state;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const struct wb_ignore *top = wb_ignore_push(&arena, NULL, "", WB_SPAN("*.log\n/a/x\n"));
    const struct wb_ignore *sub = wb_ignore_push(&arena, top, "a", WB_SPAN("!keep.log\n/y\n"));
    assert_ptr_equal(wb_ignore_push(&arena, top, "a", WB_SPAN("# nothing\n")), top);
    assert_true(wb_ignore_matches(sub, "a/b.log", false));
    assert_false(wb_ignore_matches(sub, "a/keep.log", false));
    assert_true(wb_ignore_matches(sub, "a/x", false));
    assert_true(wb_ignore_matches(sub, "a/y", false));
    assert_false(wb_ignore_matches(sub, "a/b/y", false));
    assert_false(wb_ignore_matches(NULL, "a", false));
}

static void test_globs(void **state)
{
    (void)state;

    static const struct {
        const char *pattern, *path;
        bool matches;
    } rows[] = {
        {"*.c", "a/b/c.c", true},
        {"*.c", "a/b/c.cc", false},
        {"a/*.c", "a/b.c", true},
        {"a/*.c", "a/b/c.c", false},
        {"/a/*.c", "a/b.c", true},
        {"./a/*.c", "a/b.c", true},
        {"**/*.c", "b.c", true},
        {"src/**", "src/a/b", true},
        {"*.{c,h}", "x.h", true},
        {"*.{c,h}", "x.o", false},
        {"{a,b}/*.{c,h}", "b/x.c", true},
        {"{a,b/c}/x", "b/c/x", true},
        {"x{a,{b,c}}y", "xcy", true},
        {"x{a,{b,c}}y", "x{b,c}y", false},
        {"x{,s}", "x", true},
        {"x{,s}", "xs", true},
        {"x{s}", "xs", true},
        {"x{a", "x{a", true},
        {"x\\{a,b}", "x{a,b}", true},
        {"x}", "x}", true},
        {"**", "a/b/c", true},
        {"", "a", false},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        if (wb_ignore_glob(rows[i].pattern, rows[i].path) != rows[i].matches) {
            fail_msg("%s against %s", rows[i].pattern, rows[i].path);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_hostile_patterns),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_nested_sets),
        cmocka_unit_test(test_globs),
    };
    return cmocka_run_group_tests_name("ignore", tests, NULL, NULL);
}
