/* Output: cleaned on its way in, kept to a bound, read by cursor and category. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "debug/output.h"

#define ALL (WB_DEBUG_STDOUT | WB_DEBUG_STDERR | WB_DEBUG_CONSOLE)

static void add(struct wb_debug_output *output, enum wb_debug_category category, const char *text)
{
    wb_debug_output_add(output, category, wb_span(text));
}

static void assert_reads(const struct wb_debug_output *output, uint64_t since, unsigned categories,
                         const char *expected)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    assert_int_equal(wb_debug_output_read(output, since, categories, &text), 0);
    assert_string_equal(wb_text_cstr(&text), expected);
}

static void text_is_cleaned_however_it_is_cut(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain\n", "plain\n"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"50%\r60%\n", "50%\r60%\n"},
        {"\x1b[31mred\x1b[0m!", "red!"},
        {"\x1b]0;title\atext", "text"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80.",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80."},
        {"bad \xff end", "bad \xef\xbf\xbd end"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        size_t len = strlen(cases[i].in);
        for (size_t cut = 0; cut <= len; cut++) {
            struct wb_debug_output output = {0};
            wb_debug_output_add(&output, WB_DEBUG_STDOUT, (struct wb_span){cases[i].in, cut});
            wb_debug_output_add(&output, WB_DEBUG_STDOUT,
                                (struct wb_span){cases[i].in + cut, len - cut});
            assert_reads(&output, 0, ALL, cases[i].out);
            wb_debug_output_done(&output);
        }
    }
}

static void categories_and_cursors_choose(void **state)
{
    (void)state;
    struct wb_debug_output output = {0};
    add(&output, WB_DEBUG_STDOUT, "out1 ");
    add(&output, WB_DEBUG_STDERR, "err1 ");
    uint64_t middle = wb_debug_output_end(&output);
    add(&output, WB_DEBUG_STDERR, "err2 ");
    add(&output, WB_DEBUG_CONSOLE, "con ");
    add(&output, WB_DEBUG_STDOUT, "out2");
    assert_reads(&output, 0, ALL, "out1 err1 err2 con out2");
    assert_reads(&output, 0, WB_DEBUG_STDOUT, "out1 out2");
    assert_reads(&output, middle, WB_DEBUG_STDERR, "err2 ");
    assert_reads(&output, middle + 2, WB_DEBUG_STDERR, "r2 ");
    assert_reads(&output, wb_debug_output_end(&output), ALL, "");
    assert_reads(&output, wb_debug_output_end(&output) + 100, ALL, "");
    wb_debug_output_done(&output);
}

static void the_oldest_goes_first_and_the_loss_is_counted(void **state)
{
    (void)state;
    struct wb_debug_output output = {0};
    char line[64];
    for (int i = 0; i < 100000; i++) {
        snprintf(line, sizeof(line), "line %06d of many that are printed\n", i);
        add(&output, i % 2 == 0 ? WB_DEBUG_STDOUT : WB_DEBUG_STDERR, line);
    }
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    uint64_t lost = wb_debug_output_read(&output, 0, ALL, &text);
    assert_int_equal(lost + text.len, wb_debug_output_end(&output));
    assert_true(text.len <= WB_DEBUG_OUTPUT_BYTES_MAX);
    assert_true(text.len >= WB_DEBUG_OUTPUT_BYTES_MAX / 2 - 64);
    assert_non_null(strstr(wb_text_cstr(&text), "line 099999 "));
    assert_true(output.pieces_capacity < 32768);
    wb_debug_output_done(&output);
}

static void one_huge_piece_keeps_its_end(void **state)
{
    (void)state;
    struct wb_debug_output output = {0};
    size_t len = 4 * WB_DEBUG_OUTPUT_BYTES_MAX;
    char *huge = wb_alloc(len);
    memset(huge, 'x', len);
    memcpy(huge + len - 4, "end\n", 4);
    wb_debug_output_add(&output, WB_DEBUG_STDOUT, (struct wb_span){huge, len});
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_debug_output_read(&output, 0, ALL, &text);
    assert_true(text.len > 0 && text.len <= WB_DEBUG_OUTPUT_BYTES_MAX);
    assert_memory_equal(text.ptr + text.len - 4, "end\n", 4);
    free(huge);
    wb_debug_output_done(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_cleaned_however_it_is_cut),
        cmocka_unit_test(categories_and_cursors_choose),
        cmocka_unit_test(the_oldest_goes_first_and_the_loss_is_counted),
        cmocka_unit_test(one_huge_piece_keeps_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
