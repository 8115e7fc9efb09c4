/* Tests of base/text: the buffer, UTF-8, spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"

#define FFFD "\xEF\xBF\xBD"

static void text_grows_and_stays_terminated(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};

    (void)state;
    assert_string_equal(wb_text_cstr(&text), "");
    assert_int_equal(wb_text_span(&text).len, 0);
    wb_text_clear(&text);
    wb_text_add(&text, NULL, 0);
    assert_string_equal(text.ptr, "");
    for (int i = 0; i < 1000; i++) {
        wb_text_add_char(&text, (char)('a' + i % 26));
        assert_int_equal(text.ptr[text.len], '\0');
    }
    wb_text_add_str(&text, "end");
    assert_int_equal(text.len, 1003);
    assert_true(wb_span_ends(wb_text_span(&text), WB_SPAN("lend")));
    wb_text_clear(&text);
    assert_string_equal(wb_text_cstr(&text), "");
    assert_true(text.capacity > 1003);
}

static void printf_grows(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};

    (void)state;
    for (int width = 1; width < 300; width++) {
        size_t before = text.len;

        wb_text_printf(&text, "%*d", width, 7);
        assert_int_equal(text.len, before + (size_t)width);
        assert_int_equal(text.ptr[text.len - 1], '7');
    }
}

static void cut_and_remove_head(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};

    (void)state;
    wb_text_remove_head(&text, 5);
    wb_text_add_str(&text, "0123456789");
    wb_text_cut(&text, 20);
    assert_int_equal(text.len, 10);
    wb_text_remove_head(&text, 3);
    assert_string_equal(text.ptr, "3456789");
    wb_text_cut(&text, 2);
    assert_string_equal(text.ptr, "34");
    wb_text_remove_head(&text, 99);
    assert_string_equal(text.ptr, "");
}

static void steal_empties(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    WB_AUTO(wb_free_p) char *empty = wb_text_steal(&text);

    (void)state;
    assert_string_equal(empty, "");
    wb_text_add_str(&text, "abc");
    WB_AUTO(wb_free_p) char *stolen = wb_text_steal(&text);
    assert_string_equal(stolen, "abc");
    assert_int_equal(text.len, 0);
    assert_null(text.ptr);
}

struct utf8_case {
    const char *bytes;
    size_t len; /* 0: invalid */
    uint32_t codepoint;
};

static const struct utf8_case utf8_cases[] = {
    {"\x01", 1, 0x01},
    {"\x7F", 1, 0x7F},
    {"\xC2\x80", 2, 0x80},
    {"\xDF\xBF", 2, 0x7FF},
    {"\xE0\xA0\x80", 3, 0x800},
    {"\xED\x9F\xBF", 3, 0xD7FF},
    {"\xEE\x80\x80", 3, 0xE000},
    {"\xEF\xBF\xBF", 3, 0xFFFF},
    {"\xF0\x90\x80\x80", 4, 0x10000},
    {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
    {"\x80", 0, 0xFFFD},             /* continuation alone */
    {"\xC0\x80", 0, 0xFFFD},         /* overlong */
    {"\xC1\xBF", 0, 0xFFFD},         /* overlong */
    {"\xE0\x9F\xBF", 0, 0xFFFD},     /* overlong */
    {"\xF0\x8F\xBF\xBF", 0, 0xFFFD}, /* overlong */
    {"\xED\xA0\x80", 0, 0xFFFD},     /* surrogate */
    {"\xED\xBF\xBF", 0, 0xFFFD},     /* surrogate */
    {"\xF4\x90\x80\x80", 0, 0xFFFD}, /* behind the last plane */
    {"\xF8\x88\x80\x80\x80", 0, 0xFFFD},
    {"\xFF", 0, 0xFFFD},
    {"\xC3", 0, 0xFFFD}, /* ends inside a character */
    {"\xE2\x82", 0, 0xFFFD},
    {"\xF0\x9F\x98", 0, 0xFFFD},
    {"\xC3x", 0, 0xFFFD}, /* another one begins */
    {"\xE2\x82\xC3", 0, 0xFFFD},
};

static void utf8_decodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(utf8_cases); i++) {
        const struct utf8_case *c = &utf8_cases[i];
        uint32_t codepoint = 0;
        char again[4];

        assert_int_equal(wb_utf8_decode(c->bytes, strlen(c->bytes), &codepoint), c->len);
        assert_int_equal(codepoint, c->codepoint);
        assert_int_equal(wb_utf8_valid(wb_span(c->bytes)), c->len != 0);
        if (c->len != 0) {
            assert_int_equal(wb_utf8_encode(codepoint, again), c->len);
            assert_memory_equal(again, c->bytes, c->len);
        }
    }
}

static void encode_replaces_what_is_no_character(void **state)
{
    static const uint32_t wrong[] = {0xD800, 0xDFFF, 0x110000, UINT32_MAX};
    char out[4];

    (void)state;
    for (size_t i = 0; i < WB_COUNT(wrong); i++) {
        assert_int_equal(wb_utf8_encode(wrong[i], out), 3);
        assert_memory_equal(out, FFFD, 3);
    }
}

static void invalid_bytes_are_replaced_one_by_one(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain ascii, more than eight bytes", "plain ascii, more than eight bytes"},
        {"\xC3\xA4\xE2\x82\xAC", "\xC3\xA4\xE2\x82\xAC"},
        {"a\xFF"
         "b",
         "a" FFFD "b"},
        {"\xED\xA0\x80", FFFD FFFD FFFD},
        {"12345678\xC3", "12345678" FFFD},
        {"\xE2\x82"
         "abcdefgh",
         FFFD FFFD "abcdefgh"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text text = {0};

        wb_text_add_utf8(&text, wb_span(cases[i].in));
        assert_string_equal(wb_text_cstr(&text), cases[i].out);
        assert_true(wb_utf8_valid(wb_text_span(&text)));
    }
}

static void cut_is_never_inside_a_character(void **state)
{
    static const struct {
        const char *bytes;
        size_t max, cut;
    } cases[] = {
        {"", 0, 0},
        {"abc", 5, 3},
        {"abc", 3, 3},
        {"abc", 2, 2},
        {"abc", 0, 0},
        {"a\xC3\xA4"
         "b",
         2, 1},
        {"a\xC3\xA4"
         "b",
         3, 3},
        {"\xE2\x82\xAC", 2, 0},
        {"\xE2\x82\xAC", 1, 0},
        {"x\xF0\x9F\x98\x80y", 4, 1},
        {"x\xF0\x9F\x98\x80y", 3, 1},
        {"x\xF0\x9F\x98\x80y", 2, 1},
        {"x\xF0\x9F\x98\x80y", 5, 5},
        {"\x80\x80\x80\x80\x80", 4, 4}, /* invalid bytes stand alone */
        {"\xF0\x9F"
         "ab",
         1, 1},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        assert_int_equal(wb_utf8_cut(wb_span(cases[i].bytes), cases[i].max), cases[i].cut);
    }
}

static void characters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(wb_utf8_count(WB_SPAN("")), 0);
    assert_int_equal(wb_utf8_count(WB_SPAN("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")), 4);
    assert_int_equal(wb_utf8_count(WB_SPAN("\xE2\x82z\xFF")), 4);
}

static void word_characters(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x80; c++) {
        const char *word = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

        assert_int_equal(wb_utf8_is_word(c), c != 0 && strchr(word, (int)c) != NULL);
    }
    assert_true(wb_utf8_is_word(0xE4));
    assert_true(wb_utf8_is_word(0x10FFFF));
}

static void trim_takes_white_space_at_both_ends(void **state)
{
    (void)state;
    assert_true(wb_span_is(wb_span_trim(WB_SPAN(" \t\r\n a b \v\f")), "a b"));
    assert_true(wb_span_is(wb_span_trim(WB_SPAN("  \n ")), ""));
    assert_true(wb_span_is(wb_span_trim(WB_SPAN("")), ""));
}

static void lines_are_taken_off(void **state)
{
    static const struct {
        const char *text;
        const char *lines[4]; /* up to NULL */
    } cases[] = {
        {"", {NULL}},
        {"a", {"a"}},
        {"a\n", {"a"}},
        {"a\nb", {"a", "b"}},
        {"a\r\nb\r\n", {"a", "b"}},
        {"\n\n", {"", ""}},
        {"\r\n", {""}},
        {"a\rb\r", {"a\rb\r"}},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_span rest = wb_span(cases[i].text);
        struct wb_span line;
        size_t n = 0;

        while (wb_span_next_line(&rest, &line)) {
            assert_non_null(cases[i].lines[n]);
            assert_true(wb_span_is(line, cases[i].lines[n]));
            n++;
        }
        assert_null(cases[i].lines[n]);
    }
}

static void find_starts_ends(void **state)
{
    struct wb_span s = WB_SPAN("abcabc");

    (void)state;
    assert_int_equal(wb_span_find(s, WB_SPAN("bc"), 0), 1);
    assert_int_equal(wb_span_find(s, WB_SPAN("bc"), 2), 4);
    assert_true(wb_span_find(s, WB_SPAN("bc"), 5) == SIZE_MAX);
    assert_true(wb_span_find(s, WB_SPAN("x"), 0) == SIZE_MAX);
    assert_true(wb_span_find(s, WB_SPAN("a"), 7) == SIZE_MAX);
    assert_int_equal(wb_span_find(s, WB_SPAN(""), 6), 6);
    assert_true(wb_span_find((struct wb_span){NULL, 0}, WB_SPAN("a"), 0) == SIZE_MAX);
    assert_true(wb_span_starts(s, WB_SPAN("abca")));
    assert_false(wb_span_starts(s, WB_SPAN("abcabcd")));
    assert_true(wb_span_ends(s, WB_SPAN("cabc")));
    assert_false(wb_span_ends(s, WB_SPAN("abcabcd")));
}

static void integers_are_read_whole(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"007", true, 7},
        {"-12", true, -12},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1x", false, 0},
        {"1.0", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        int64_t value = 42;

        assert_int_equal(wb_span_int64(wb_span(cases[i].text), &value), cases[i].ok);
        assert_true(value == (cases[i].ok ? cases[i].value : 42));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(printf_grows),
        cmocka_unit_test(cut_and_remove_head),
        cmocka_unit_test(steal_empties),
        cmocka_unit_test(utf8_decodes),
        cmocka_unit_test(encode_replaces_what_is_no_character),
        cmocka_unit_test(invalid_bytes_are_replaced_one_by_one),
        cmocka_unit_test(cut_is_never_inside_a_character),
        cmocka_unit_test(characters_are_counted),
        cmocka_unit_test(word_characters),
        cmocka_unit_test(trim_takes_white_space_at_both_ends),
        cmocka_unit_test(lines_are_taken_off),
        cmocka_unit_test(find_starts_ends),
        cmocka_unit_test(integers_are_read_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
