/* What a cell prints: folded at carriage returns, bounded at both ends, whole in its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/output.h"
#include "sys/file.h"

static void print(struct wb_output *output, uint64_t from, uint64_t to, const char *expected)
{
    struct wb_text text = {0};
    wb_output_print(output, from, to, &text);
    assert_string_equal(wb_text_cstr(&text), expected);
    wb_text_done(&text);
}

static void carriage_returns_are_folded(void **state)
{
    static const struct {
        const char *given, *expected;
    } cases[] = {
        {"", ""},
        {"plain\n", "plain\n"},
        {"10%\r50%\r100%\n", "100%\n"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"a\r\r\nb", "a\nb"},
        {"left over\r", "left over"},
        {"one\n20%\r40%", "one\n40%"},
        {"\r\r\rx", "x"},
        {"a\n\rb", "a\nb"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        size_t len = strlen(cases[i].given);
        for (size_t piece = 1; piece <= len + 1; piece++) {
            struct wb_output output;
            wb_output_init(&output, 1000, NULL);
            for (size_t at = 0; at < len; at += piece) {
                wb_output_add(&output, cases[i].given + at, WB_MIN(piece, len - at));
            }
            print(&output, 0, wb_output_offset(&output), cases[i].expected);
            wb_output_done(&output);
        }
    }
}

static void a_display_ends_the_folding(void **state)
{
    (void)state;
    struct wb_output output;
    wb_output_init(&output, 1000, NULL);
    wb_output_add(&output, "before", 6);
    assert_int_equal(wb_output_offset(&output), 6);
    wb_output_add(&output, "\rafter", 6);
    print(&output, 0, wb_output_offset(&output), "beforeafter");
    print(&output, 6, 11, "after");
    wb_output_done(&output);
}

static void both_ends_are_kept(void **state)
{
    (void)state;
    struct wb_output output;
    wb_output_init(&output, 20, NULL);
    for (int i = 0; i < 1000; i++) {
        char line[8];
        wb_output_add(&output, line, (size_t)snprintf(line, sizeof(line), "%04d\n", i));
    }
    assert_int_equal(wb_output_offset(&output), 5000);
    print(&output, 0, 5000 - 20, "0000\n0001\n\n[... 4970 bytes left out ...]\n");
    print(&output, 5, 10, "0001\n");
    print(&output, 4990, 5000, "0998\n0999\n");
    print(&output, 100, 200, "\n[... 100 bytes left out ...]\n");
    wb_output_done(&output);
}

static void characters_are_not_cut(void **state)
{
    (void)state;
    struct wb_output output;
    wb_output_init(&output, 10, NULL);
    wb_output_add(&output, "ab\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 10);
    wb_output_offset(&output);
    print(&output, 0, 5, "ab\xc3\xa4");
    print(&output, 5, 6, "");
    print(&output, 0, 10, "ab\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
    wb_output_done(&output);
    wb_output_init(&output, 100, NULL);
    wb_output_add(&output, "\xff\x00z", 3);
    struct wb_text text = {0};
    wb_output_print(&output, 0, wb_output_offset(&output), &text);
    assert_int_equal(text.len, 5);
    assert_true(wb_utf8_valid(wb_text_span(&text)));
    wb_text_done(&text);
    wb_output_done(&output);
}

static void a_long_line_is_bounded(void **state)
{
    (void)state;
    struct wb_output output;
    char block[4096];
    memset(block, 'x', sizeof(block));
    wb_output_init(&output, 8192, NULL);
    for (int i = 0; i < 1000; i++) {
        wb_output_add(&output, block, sizeof(block));
        assert_true(output.line.len < 100000);
    }
    assert_int_equal(wb_output_offset(&output), 4096000);
    wb_output_done(&output);
}

static void the_file_has_it_as_it_came(void **state)
{
    char path[] = "/tmp/test-output-XXXXXX";
    bool is_whole;
    struct wb_output output;
    struct wb_arena arena;
    struct wb_span content;
    (void)state;
    close(mkstemp(path));
    unlink(path);
    wb_output_init(&output, 100, path);
    wb_output_add(&output, "short\r", 6);
    assert_null(wb_output_spill(&output, &is_whole));
    for (int i = 0; i < 10000; i++) {
        wb_output_add(&output, "\xff 50%\r", 6);
    }
    assert_string_equal(wb_output_spill(&output, &is_whole), path);
    assert_true(is_whole);
    wb_output_done(&output);
    wb_arena_init(&arena);
    assert_int_equal(wb_file_read(&arena, path, 1 << 20, &content, NULL, NULL), 0);
    assert_int_equal(content.len, 60006);
    assert_memory_equal(content.ptr, "short\r\xff 50%\r", 12);
    wb_arena_done(&arena);
    /* One that nobody was told of goes with its output; one that is there already is not touched. */
    wb_output_init(&output, 100, path);
    for (int i = 0; i < 10000; i++) {
        wb_output_add(&output, "again\n", 6);
    }
    assert_null(wb_output_spill(&output, &is_whole));
    wb_output_done(&output);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    wb_output_init(&output, 100, path);
    for (int i = 0; i < 10000; i++) {
        wb_output_add(&output, "again\n", 6);
    }
    wb_output_done(&output);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carriage_returns_are_folded), cmocka_unit_test(a_display_ends_the_folding),
        cmocka_unit_test(both_ends_are_kept),          cmocka_unit_test(characters_are_not_cut),
        cmocka_unit_test(a_long_line_is_bounded),      cmocka_unit_test(the_file_has_it_as_it_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
