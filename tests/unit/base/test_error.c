/* Tests of base/error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"

static void set_formats(void **state)
{
    struct wb_error err = {0};

    (void)state;
    assert_int_equal(wb_error_set(&err, WB_ERROR_STALE, "%s has changed %d times", "a.c", 2), -1);
    assert_int_equal(err.code, WB_ERROR_STALE);
    assert_string_equal(err.message, "a.c has changed 2 times");
    assert_int_equal(wb_error_set(&err, WB_ERROR_INVALID, "%s", ""), -1);
    assert_string_equal(err.message, "");
}

static void null_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(wb_error_set(NULL, WB_ERROR_IO, "x"), -1);
    assert_int_equal(wb_error_errno(NULL, ENOENT, "x"), -1);
    assert_int_equal(wb_error_context(NULL, "x"), -1);
}

static void errno_decides_the_code(void **state)
{
    static const struct {
        int errno_value;
        enum wb_error_code code;
        const char *message;
    } cases[] = {
        {ENOENT, WB_ERROR_NOT_FOUND, "open x: No such file or directory"},
        {ENOTDIR, WB_ERROR_NOT_FOUND, "open x: Not a directory"},
        {EACCES, WB_ERROR_DENIED, "open x: Permission denied"},
        {EPERM, WB_ERROR_DENIED, "open x: Operation not permitted"},
        {ENOSPC, WB_ERROR_IO, "open x: No space left on device"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_error err;

        assert_int_equal(wb_error_errno(&err, cases[i].errno_value, "open %s", "x"), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void context_stands_in_front(void **state)
{
    struct wb_error err;

    (void)state;
    wb_error_set(&err, WB_ERROR_PROTOCOL, "no id");
    assert_int_equal(wb_error_context(&err, "%s", "clangd"), -1);
    assert_int_equal(err.code, WB_ERROR_PROTOCOL);
    assert_string_equal(err.message, "clangd: no id");
}

static void own_message_may_be_an_argument(void **state)
{
    struct wb_error err;

    (void)state;
    wb_error_set(&err, WB_ERROR_IO, "inner");
    wb_error_set(&err, WB_ERROR_CLOSED, "outer (%s)", err.message);
    assert_string_equal(err.message, "outer (inner)");
}

/* Every length around the bound, ending in characters of 1 to 4 bytes. */
static void long_messages_are_cut_at_a_character(void **state)
{
    static const char *const characters[] = {"x", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};

    (void)state;
    for (size_t i = 0; i < WB_COUNT(characters); i++) {
        WB_AUTO(wb_text_done) struct wb_text text = {0};
        struct wb_error err;

        while (text.len < WB_ERROR_MESSAGE_BYTES + 8) {
            struct wb_span message;

            wb_error_set(&err, WB_ERROR_INVALID, "%s", wb_text_cstr(&text));
            message = wb_span(err.message);
            assert_true(wb_utf8_valid(message));
            if (text.len < WB_ERROR_MESSAGE_BYTES) {
                assert_string_equal(err.message, wb_text_cstr(&text));
            } else {
                assert_true(wb_span_ends(message, WB_SPAN("...")));
                assert_in_range(message.len, WB_ERROR_MESSAGE_BYTES - 4,
                                WB_ERROR_MESSAGE_BYTES - 1);
            }
            wb_text_add_str(&text, characters[i]);
        }
    }
}

static void messages_are_valid_utf8(void **state)
{
    struct wb_error err;

    (void)state;
    wb_error_set(&err, WB_ERROR_INVALID, "key `%.3s`", "ab\xC3\xA4");
    assert_string_equal(err.message, "key `ab\xEF\xBF\xBD`");
    wb_error_errno(&err, ENOENT, "cannot open a\xFF");
    assert_true(wb_utf8_valid(wb_span(err.message)));
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int code = WB_ERROR_NONE; code <= WB_ERROR_CLOSED; code++) {
        assert_non_null(wb_error_code_name((enum wb_error_code)code));
    }
    assert_string_equal(wb_error_code_name(WB_ERROR_NOT_FOUND), "not_found");
    assert_string_equal(wb_error_code_name((enum wb_error_code)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_formats),
        cmocka_unit_test(null_is_allowed),
        cmocka_unit_test(errno_decides_the_code),
        cmocka_unit_test(context_stands_in_front),
        cmocka_unit_test(own_message_may_be_an_argument),
        cmocka_unit_test(long_messages_are_cut_at_a_character),
        cmocka_unit_test(messages_are_valid_utf8),
        cmocka_unit_test(every_code_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
