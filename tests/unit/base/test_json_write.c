/* Tests of base/json: writing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"

#define FFFD "\xEF\xBF\xBD"

static void commas_and_colons_are_placed(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_json_writer w;

    (void)state;
    wb_json_writer_init(&w, &text);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "s", "x");
    wb_json_member_str(&w, "n", NULL);
    wb_json_member_int(&w, "i", INT64_MIN);
    wb_json_member_bool(&w, "t", true);
    wb_json_member_span(&w, "p", WB_SPAN("a\0b"));
    wb_json_key(&w, "e");
    wb_json_begin_array(&w);
    wb_json_end_array(&w);
    wb_json_key(&w, "a");
    wb_json_begin_array(&w);
    wb_json_put_null(&w);
    wb_json_put_bool(&w, false);
    wb_json_begin_object(&w);
    wb_json_end_object(&w);
    wb_json_begin_array(&w);
    wb_json_put_int(&w, 1);
    wb_json_put_int(&w, -2);
    wb_json_end_array(&w);
    wb_json_put_printf(&w, "%s:%d", "\"", 7);
    wb_json_put_raw(&w, WB_SPAN("{\"raw\":1}"));
    wb_json_put_value(&w, NULL);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    assert_string_equal(wb_text_cstr(&text),
                        "{\"s\":\"x\",\"n\":null,\"i\":-9223372036854775808,\"t\":true,"
                        "\"p\":\"a\\u0000b\",\"e\":[],"
                        "\"a\":[null,false,{},[1,-2],\"\\\":7\",{\"raw\":1},null]}");
}

static void strings_are_escaped(void **state)
{
    static const struct {
        struct wb_span in;
        const char *out;
    } cases[] = {
        {WB_SPAN(""), "\"\""},
        {WB_SPAN("plain text, longer than eight bytes"), "\"plain text, longer than eight bytes\""},
        {WB_SPAN("\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {WB_SPAN("\0\x01\x1F\x7F"), "\"\\u0000\\u0001\\u001f\x7F\""},
        {WB_SPAN("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
         "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {WB_SPAN("\xE2\x80\xA8\xE2\x80\xA9"), "\"\xE2\x80\xA8\xE2\x80\xA9\""}, /* U+2028, U+2029 */
        {WB_SPAN("a\xFFz"), "\"a" FFFD "z\""},
        {WB_SPAN("\xED\xA0\x80"), "\"" FFFD FFFD FFFD "\""},
        {WB_SPAN("12345678\xE2\x82"), "\"12345678" FFFD FFFD "\""},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text text = {0};
        struct wb_json_writer w;

        wb_json_writer_init(&w, &text);
        wb_json_put_span(&w, cases[i].in);
        assert_string_equal(wb_text_cstr(&text), cases[i].out);
    }
}

/* Every byte at every place of a word: the fast path and the slow one must agree. */
static void every_byte_survives_at_every_offset(void **state)
{
    (void)state;
    for (int byte = 0; byte < 0x80; byte++) {
        for (size_t offset = 0; offset < 17; offset++) {
            WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
            WB_AUTO(wb_text_done) struct wb_text text = {0};
            struct wb_json_writer w;
            char bytes[17];

            memset(bytes, 'a', sizeof(bytes));
            bytes[offset] = (char)byte;
            wb_json_writer_init(&w, &text);
            wb_json_put_span(&w, (struct wb_span){bytes, sizeof(bytes)});
            for (size_t i = 0; i < text.len; i++) {
                assert_in_range(text.ptr[i], 0x20, 0x7F);
            }
            struct wb_span back = wb_json_span(wb_json_parse(&arena, wb_text_span(&text), NULL));
            assert_int_equal(back.len, sizeof(bytes));
            assert_memory_equal(back.ptr, bytes, sizeof(bytes));
        }
    }
}

static void doubles_are_short_and_exact(void **state)
{
    static const struct {
        double value;
        const char *out;
    } cases[] = {
        {0, "0.0"},
        {1, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {1e300, "1e300"},
        {5e-324, "5e-324"},
        {0x1p53, "9007199254740992.0"},
        {(double)NAN, "null"},
        {(double)INFINITY, "null"},
        {(double)-INFINITY, "null"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text text = {0};
        struct wb_json_writer w;

        wb_json_writer_init(&w, &text);
        wb_json_put_double(&w, cases[i].value);
        assert_string_equal(wb_text_cstr(&text), cases[i].out);
    }
}

static void values_are_written_in_their_order(void **state)
{
    static const char source[] = "{\"z\":[1,2.5,1e400,\"\xC3\xA4\"],\"a\":{\"b\":null}}";
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    const struct wb_json *value = wb_json_parse(&arena, WB_SPAN(source), NULL);
    struct wb_json_writer w;

    (void)state;
    wb_text_add_str(&text, "head ");
    wb_json_writer_init(&w, &text);
    wb_json_begin_array(&w);
    wb_json_put_value(&w, value);
    wb_json_put_value(&w, wb_json_get(value, "a"));
    wb_json_put_value(&w, wb_json_path(value, "a.b"));
    wb_json_put_value(&w, wb_json_at(wb_json_get(value, "z"), 2));
    wb_json_end_array(&w);
    assert_string_equal(
        wb_text_cstr(&text),
        "head [{\"z\":[1,2.5,1e400,\"\xC3\xA4\"],\"a\":{\"b\":null}},{\"b\":null},null,1e400]");
}

static void pretty_has_two_spaces(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    const struct wb_json *value =
        wb_json_parse(&arena, WB_SPAN("{\"a\":[1,{}],\"b\":\"x\"}"), NULL);

    (void)state;
    assert_string_equal(wb_json_write_pretty(&arena, value).ptr,
                        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\"\n}");
    assert_string_equal(wb_json_write_pretty(&arena, NULL).ptr, "null");
    assert_string_equal(wb_json_write(&arena, NULL).ptr, "null");
}

/* A deepest document within a few levels of ours, as a protocol wraps it. */
static void deepest_document_can_be_rebuilt(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_json_writer w;

    (void)state;
    wb_json_writer_init(&w, &text);
    for (size_t i = 0; i < WB_JSON_DEPTH_MAX + 7; i++) {
        wb_json_begin_array(&w);
    }
    for (size_t i = 0; i < WB_JSON_DEPTH_MAX + 7; i++) {
        wb_json_end_array(&w);
    }
    assert_int_equal(text.len, 2 * (WB_JSON_DEPTH_MAX + 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_colons_are_placed),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(every_byte_survives_at_every_offset),
        cmocka_unit_test(doubles_are_short_and_exact),
        cmocka_unit_test(values_are_written_in_their_order),
        cmocka_unit_test(pretty_has_two_spaces),
        cmocka_unit_test(deepest_document_can_be_rebuilt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
