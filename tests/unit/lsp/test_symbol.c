/* Tests of wb_position_find_symbol (lsp/position.h): contract section 2, "Finding symbol". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lsp/position.h"

#define BOM "\xEF\xBB\xBF"
#define PARTY "\xF0\x9F\x8E\x89"
#define UMLAUT "\xC3\xA4"

/* The hits as "offset:name offset:name", or the error's message. */
static void show_hits(const char *text, int64_t line, const char *symbol, struct wb_text *out)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_line_index index;
    struct wb_symbol_hits hits;
    struct wb_error err;

    wb_line_index_init(&arena, wb_span(text), &index);
    if (wb_position_find_symbol(&arena, &index, line, wb_span(symbol), &hits, &err) != 0) {
        assert_true(err.code == WB_ERROR_NOT_FOUND || err.code == WB_ERROR_INVALID);
        wb_text_add_str(out, err.message);
        return;
    }
    for (size_t i = 0; i < hits.count; i++) {
        wb_text_printf(out, "%s%zu:%.*s", i == 0 ? "" : " ", hits.offsets[i], (int)hits.lengths[i],
                       text + hits.offsets[i]);
    }
}

struct row {
    const char *text, *symbol, *hits;
};

static void expect_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        WB_AUTO(wb_text_done) struct wb_text out = {0};

        show_hits(rows[i].text, 1, rows[i].symbol, &out);
        assert_string_equal(wb_text_cstr(&out), rows[i].hits);
    }
}

static void test_words(void **state)
{
    static const struct row rows[] = {
        {"int foo = 1;", "foo", "4:foo"},
        {"int foo = 1;", " foo\t", "4:foo"},
        {"foo(foo, foo)", "foo", "0:foo 4:foo 9:foo"},
        /* Whole words come before hits inside longer ones, which count only alone. */
        {"foobar foo", "foo", "7:foo"},
        {"foobar xfoo", "foo", "0:foo 8:foo"},
        {"foo_bar bar", "bar", "8:bar"},
        {"foo2 foo", "foo", "5:foo"},
        {"aaa aa", "aa", "4:aa"},
        {"aaaa", "aa", "0:aa 2:aa"},
        {"aaa", "aa", "0:aa"},
        /* A dollar and every character above ASCII belong to words. */
        {"$foo foo", "foo", "5:foo"},
        {"$foo", "foo", "1:foo"},
        {"$foo x$foo", "$foo", "0:$foo"},
        {UMLAUT "foo foo", "foo", "6:foo"},
        {"foo" UMLAUT " foo", "foo", "6:foo"},
        {"cafe\xCC\x81 cafe", "cafe", "7:cafe"}, /* a combining accent behind the e */
        {PARTY " foo", "foo", "5:foo"},
        {"x = " UMLAUT "pfel + 1", UMLAUT "pfel", "4:" UMLAUT "pfel"},
        {"\tif (\xE5\x90\x8D\xE5\x89\x8D) {", "\xE5\x90\x8D\xE5\x89\x8D",
         "5:\xE5\x90\x8D\xE5\x89\x8D"},
        {BOM "foo", "foo", "3:foo"},
        {"foo\r\n", "foo", "0:foo"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_numbers(void **state)
{
    static const struct row rows[] = {
        {"foo(foo, foo)", "foo#1", "0:foo"},
        {"foo(foo, foo)", "foo#3", "9:foo"},
        {"foobar foo xfoo foo", "foo#2", "16:foo"},
        /* Behind the whole words the others are counted on. */
        {"foobar foo xfoo foo", "foo#3", "0:foo"},
        {"foobar foo xfoo foo", "foo#4", "12:foo"},
        /* Not a number behind the #: plain text. */
        {"this.#name = #name;", "#name", "6:name 14:name"},
        {"this.#name = #name;", "#name#2", "14:name"},
        {"#foo#x", "#foo#x", "1:foo"},
        {"#1 foo", "#1", "1:1"},
        {"foo#", "foo#", "0:foo"},
        /* Only the text with its number is there. */
        {"issue#2 is fixed", "issue#2", "0:issue"},
        {"see a#7", "a#7", "4:a"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_chains(void **state)
{
    static const struct row rows[] = {
        {"a.bc = 1", "a.bc", "2:bc"},
        {"x = a::b::c();", "a::b::c", "10:c"},
        {"p->next->prev", "p->next", "3:next"},
        {"p->next->prev", "p->next->prev", "9:prev"},
        {"a?.b ?? a!.b", "a?.b", "3:b"},
        {"$this->name", "$this->name", "7:name"},
        {"new App\\User()", "App\\User", "8:User"},
        {"this.#secret", "this.#secret", "6:secret"},
        {"Foo::~Foo()", "Foo::~Foo", "6:Foo"},
        {"a.b a.b", "a.b#2", "6:b"},
        {"aa.b a.b", "a.b", "7:b"},
        /* Calls, indexes and type arguments inside a chain. */
        {"f(a.b).g()", "f(a.b).g", "7:g"},
        {"v[i].x", "v[i].x", "5:x"},
        {"std::vector<int>::size_type n", "std::vector<int>::size_type", "18:size_type"},
        {"std::vector<int> n", "std::vector<int>", "5:vector"},
        /* Only a chain moves on to its last name. */
        {"foo(bar.baz)", "foo(bar.baz)", "0:foo"},
        {"foo(bar", "foo(bar", "0:foo"},
        {"return foo + bar;", "foo + bar", "7:foo"},
        {"(foo)", "(foo)", "1:foo"},
        {"a.foo", ".foo", "2:foo"},
        {"a. b", "a.", "0:a"},
        {"a...b", "a...b", "0:a"},
        {"std::string s", "std::", "0:std"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_operators(void **state)
{
    static const struct row rows[] = {
        {"a + b", "+", "2:+"},
        {"a == b == c", "==", "2:== 7:=="},
        {"a->b", "->", "1:->"},
        {"x = 42", "42", "4:42"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        int64_t line;
        const char *symbol, *message;
    } rows[] = {
        {"a\nb\n", 3, "a", "there is no line 3: the file has 2 lines"},
        {"a\nb", 3, "a", "there is no line 3: the file has 2 lines"},
        {"a", 2, "a", "there is no line 2: the file has 1 line"},
        {"a", INT64_MAX, "a", "there is no line 9223372036854775807: the file has 1 line"},
        {"a", 0, "a", "lines are counted from 1"},
        {"a", INT64_MIN, "a", "lines are counted from 1"},
        {"", 1, "a", "the file is empty"},
        {BOM, 1, "a", "the file is empty"},
        {"  int x;\n", 1, " ",
         "`symbol` is empty: give a piece of the text of line 1, which reads:\n1:   int x;"},
        {"x\n\tint y;\n", 2, "foo",
         "line 2 has no `foo`; it reads:\n2: \tint y;\nThe file does not have it anywhere."},
        {"foo\nx\nfood\nfoo\n", 2, "foo",
         "line 2 has no `foo`; it reads:\n2: x\nThe nearest lines that have it:\n1: foo\n4: foo"},
        {"food\r\nx\r\n", 2, "foo",
         "line 2 has no `foo`; it reads:\n2: x\nThe nearest lines that have it:\n1: food"},
        {"foo#2\nx\n", 2, "foo#2",
         "line 2 has no `foo`; it reads:\n2: x\nThe nearest lines that have it:\n1: foo#2"},
        {"f1 f\nf2 f\nf3 f\nx\nf5 f\nf6 f\nf7 f\nf8 f", 4, "f",
         "line 4 has no `f`; it reads:\n4: x\nThe nearest lines that have it:\n1: f1 f\n2: f2 f\n"
         "3: f3 f\n5: f5 f\n6: f6 f"},
        {"foo foo", 1, "foo#3",
         "line 1 has `foo` 2 times, so there is no #3; it reads:\n1: foo foo"},
        {"foo", 1, "foo#2", "line 1 has `foo` 1 time, so there is no #2; it reads:\n1: foo"},
        {"x\xFFy", 1, "foo",
         "line 1 has no `foo`; it reads:\n1: x\xEF\xBF\xBDy\nThe file does not have it anywhere."},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_text_done) struct wb_text out = {0};

        show_hits(rows[i].text, rows[i].line, rows[i].symbol, &out);
        assert_string_equal(wb_text_cstr(&out), rows[i].message);
    }
}

/* Whatever the line and the symbol are, the message stays readable. */
static void test_long_lines_are_cut(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    WB_AUTO(wb_text_done) struct wb_text out = {0};

    (void)state;
    for (int i = 0; i < 20; i++) {
        wb_text_add_str(&text, i == 10 ? "nothing " : "foo ");
        for (int j = 0; j < 1000; j++) {
            wb_text_add_str(&text, UMLAUT);
        }
        wb_text_add_char(&text, '\n');
    }
    show_hits(wb_text_cstr(&text), 11, "foo", &out);
    assert_true(wb_str_starts(wb_text_cstr(&out), "line 11 has no `foo`; it reads:\n11: nothing "));
    assert_true(wb_span_find(wb_text_span(&out), WB_SPAN("\n13: foo "), 0) != SIZE_MAX);
    assert_true(wb_utf8_valid(wb_text_span(&out)));
    assert_true(out.len < 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),  cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_chains), cmocka_unit_test(test_operators),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_long_lines_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
