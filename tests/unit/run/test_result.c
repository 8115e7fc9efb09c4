/* Tests of run/result: what is cut, where notes and members land, base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/result.h"

static void data_takes_members_when_it_is_an_object(void **state)
{
    static const struct {
        const char *data, *merged;
    } rows[] = {
        {"", "{\"a\":1,\"b\":[2]}"},
        {"{}", "{\"a\":1,\"b\":[2]}"},
        {"{\"x\":0}", "{\"x\":0,\"a\":1,\"b\":[2]}"},
        {"[1]", "[1]"},
        {"\"text\"", "\"text\""},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_result_done) struct wb_result result;
        wb_result_init(&result);
        wb_result_add_member(&result, "a", WB_SPAN("1"));
        wb_result_add_member(&result, "b", WB_SPAN("[2]"));
        wb_text_add_str(&result.data, rows[i].data);
        wb_result_finish(&result);
        assert_string_equal(wb_text_cstr(&result.data), rows[i].merged);
    }
}

static void notes_come_behind_the_text_on_a_line_of_their_own(void **state)
{
    WB_AUTO(wb_result_done) struct wb_result result;
    (void)state;
    wb_result_init(&result);
    wb_text_add_str(&result.notes, "note\n");
    wb_text_add_str(&result.text, "text");
    wb_result_finish(&result);
    assert_string_equal(wb_text_cstr(&result.text), "text\nnote\n");
    wb_result_finish(&result);
    assert_string_equal(wb_text_cstr(&result.text), "text\nnote\n");
}

static void an_error_keeps_the_text_in_front(void **state)
{
    WB_AUTO(wb_result_done) struct wb_result result;
    struct wb_error err;
    (void)state;
    wb_result_init(&result);
    wb_text_add_str(&result.text, "half done");
    wb_error_set(&err, WB_ERROR_STALE, "it has changed");
    wb_result_fail(&result, &err);
    assert_string_equal(wb_text_cstr(&result.text), "half done\nit has changed");
    assert_true(result.is_error);
    assert_int_equal(result.code, WB_ERROR_STALE);
}

/* Three-byte characters, so that every offset of the cut falls inside one at some length. */
static void long_text_is_cut_in_the_middle_between_characters(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 4; extra++) {
        WB_AUTO(wb_result_done) struct wb_result result;
        wb_result_init(&result);
        wb_text_add(&result.text, "xxxx", extra);
        while (result.text.len <= WB_RESULT_TEXT_BYTES_MAX) {
            wb_text_add_str(&result.text, "\xE2\x82\xAC");
        }
        wb_text_add_str(&result.text, "end");
        wb_result_bound(&result);
        assert_true(result.text.len <= WB_RESULT_TEXT_BYTES_MAX);
        assert_true(wb_utf8_valid(wb_text_span(&result.text)));
        assert_non_null(strstr(result.text.ptr, " bytes cut here"));
        assert_true(wb_str_ends(result.text.ptr, "end"));
    }
}

static void text_of_exactly_the_limit_stays(void **state)
{
    WB_AUTO(wb_result_done) struct wb_result result;
    (void)state;
    wb_result_init(&result);
    while (result.text.len < WB_RESULT_TEXT_BYTES_MAX) {
        wb_text_add_char(&result.text, 'x');
    }
    wb_result_bound(&result);
    assert_int_equal(result.text.len, WB_RESULT_TEXT_BYTES_MAX);
    assert_null(strstr(result.text.ptr, "cut"));
}

static void attachments_are_base64(void **state)
{
    static const struct {
        const char *bytes, *base64;
    } rows[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xFF\xFE\xFB", "//77"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_text_done) struct wb_text out = {0};
        const struct wb_attachment attachment = {"image/png", wb_span(rows[i].bytes)};
        wb_attachment_base64(&out, &attachment);
        assert_string_equal(wb_text_cstr(&out), rows[i].base64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_takes_members_when_it_is_an_object),
        cmocka_unit_test(notes_come_behind_the_text_on_a_line_of_their_own),
        cmocka_unit_test(an_error_keeps_the_text_in_front),
        cmocka_unit_test(long_text_is_cut_in_the_middle_between_characters),
        cmocka_unit_test(text_of_exactly_the_limit_stays),
        cmocka_unit_test(attachments_are_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
