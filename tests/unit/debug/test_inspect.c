/* Looking at a stop, and what the agent reads of it: ids of ours, cuts, the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adapter.h"
#include "debug/report.h"

static const char *source; /* a file of the workspace */
static char frames[2048];  /* of two frames, the outer one in it */

static struct answer answers[] = {
    INITIALIZE,
    ATTACH,
    CONFIGURED,
    {.command = "threads", .body = "{\"threads\":[{\"id\":1,\"name\":\"main\"},{}]}"},
    {.command = "stackTrace", .body = frames},
    {.command = "scopes",
     .body = "{\"scopes\":[{\"name\":\"Locals\",\"variablesReference\":1},"
             "{\"name\":\"Globals\",\"variablesReference\":2,\"expensive\":true},"
             "{\"name\":\"Nothing\",\"variablesReference\":0}]}"},
    {.command = "variables",
     .body = "{\"variables\":[{\"name\":\"a\",\"value\":\"1\",\"type\":\"int\"},"
             "{\"name\":\"list\",\"value\":\"[2]\",\"variablesReference\":1,"
             "\"indexedVariables\":2}]}"},
    {.command = "evaluate", .body = "{\"result\":\"#<NameError>\"}"},
    {.command = "setVariable", .body = "{\"value\":\"7\"}"},
    {.command = NULL}};

static int setup(void **state)
{
    static struct desk desk;
    struct wb_error err;
    desk_init(&desk);
    source = scratch_write(&desk.run.scratch, "ws/main.py", "one\ntwo\nthree\nfour\nfive\nsix\n");
    snprintf(frames, sizeof(frames),
             "{\"stackFrames\":[{\"id\":5,\"name\":\"native\",\"line\":0},"
             "{\"id\":9,\"name\":\"app::parse::h0123456789abcdef\",\"line\":3,"
             "\"source\":{\"path\":\"%s\"}}],\"totalFrames\":40}",
             source);
    *state = &desk;
    assert_int_equal(desk_start(&desk, answers, &err), 0);
    assert_true(wb_debug_session_wait(desk.session, wb_clock_deadline(30000), NULL));
    return 0;
}

static int teardown(void **state)
{
    desk_done(*state);
    return 0;
}

static struct wb_inspect look(struct desk *desk)
{
    return (struct wb_inspect){.session = desk->session,
                               .arena = &desk->run.scratch.arena,
                               .deadline_ms = wb_clock_deadline(30000)};
}

static void ids_are_ours(void **state)
{
    struct wb_inspect it = look(*state);
    struct wb_frame_item *found;
    struct wb_scope_item *scopes;
    struct wb_variable_item *items;
    struct wb_error err;
    size_t n, total;
    assert_int_equal(wb_inspect_stack(&it, NULL, 30, &found, &n, &total, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(total, 40);
    assert_null(found[0].path);
    assert_string_equal(found[1].name, "app::parse");
    assert_ptr_equal(wb_inspect_shown_frame(found, n), &found[1]);
    assert_null(wb_inspect_shown_frame(found, 0));
    assert_int_equal(wb_inspect_scopes(&it, found[1].frame_id, &scopes, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_true(scopes[0].reference > 0 && scopes[1].is_expensive);
    assert_int_equal(scopes[2].reference, 0);
    assert_int_equal(
        wb_inspect_variables(&it, scopes[0].reference, 0, 50, &items, &n, &total, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(items[0].reference, 0);
    assert_true(items[1].reference > 0 && items[1].reference != scopes[0].reference);
    assert_int_equal(wb_inspect_scopes(&it, scopes[0].reference, &scopes, &n, &err), -1);
    assert_int_equal(err.code, WB_ERROR_INVALID);
}

static void threads_need_no_names(void **state)
{
    struct wb_inspect it = look(*state);
    struct wb_thread_item *threads;
    size_t n;
    assert_int_equal(wb_inspect_threads(&it, &threads, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_string_equal(threads[1].name, "");
}

static void what_the_row_says_is_no_value(void **state)
{
    struct wb_inspect it = look(*state);
    struct wb_variable_item item;
    struct wb_error err;
    assert_int_equal(wb_inspect_evaluate(&it, " !shell", 0, &item, &err), -1);
    assert_int_equal(err.code, WB_ERROR_DENIED);
    assert_int_equal(wb_inspect_evaluate(&it, "x", 0, &item, &err), -1);
    assert_string_equal(err.message, "fake: #<NameError>");
}

static void a_variable_is_set(void **state)
{
    struct wb_inspect it = look(*state);
    struct wb_frame_item *found;
    struct wb_scope_item *scopes;
    struct wb_variable_item item;
    size_t n, total;
    assert_int_equal(wb_inspect_stack(&it, NULL, 30, &found, &n, &total, NULL), 0);
    assert_int_equal(wb_inspect_scopes(&it, found[0].frame_id, &scopes, &n, NULL), 0);
    assert_int_equal(wb_inspect_set(&it, scopes[0].reference, "a", "7", &item, NULL), 0);
    assert_string_equal(item.value, "7");
}

static void a_stop_reads_well(void **state)
{
    struct desk *desk = *state;
    WB_AUTO(wb_result_done) struct wb_result result;
    struct wb_report report = {
        .inspect = look(desk), .workspace = desk->run.workspace, .points = &desk->points};
    wb_result_init(&result);
    wb_report_state(&report, &result);
    assert_string_equal(wb_text_cstr(&result.text),
                        "stopped: entry in native()\n"
                        "first frame with source: frame_id 2 at main.py:3 in app::parse()\n"
                        "      1 | one\n      2 | two\n>     3 | three\n      4 | four\n"
                        "      5 | five\n"
                        "locals:\n  a = 1 (int)\n  list = [2] [reference 5]\n");
    assert_non_null(strstr(wb_text_cstr(&result.data), "\"reason\":\"entry\""));
}

static void values_are_cut_at_characters(void **state)
{
    static const struct {
        size_t given, left_out;
    } cases[] = {{0, 0}, {399, 0}, {400, 0}, {401, 1}, {5000, 4600}};

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text value = {0}, cut = {0}, wanted = {0};
        for (size_t n = 0; n < cases[i].given; n++) {
            wb_text_add_str(&value, "\xc3\xa4");
        }
        wb_inspect_add_value(&cut, wb_text_cstr(&value));
        wb_text_add(&wanted, wb_text_cstr(&value), 2 * (cases[i].given - cases[i].left_out));
        if (cases[i].left_out > 0) {
            wb_text_printf(&wanted, " ... (%zu more characters)", cases[i].left_out);
        }
        assert_string_equal(wb_text_cstr(&cut), wb_text_cstr(&wanted));
    }
}

static void source_lines_end_with_the_file(void **state)
{
    struct desk *desk = *state;

    static const struct {
        int64_t line;
        const char *shown;
    } cases[] = {
        {1, ">     1 | one\n      2 | two\n      3 | three\n"},
        {6, "      4 | four\n      5 | five\n>     6 | six\n"},
        {99, ""},
        {-1, "      1 | one\n"},
    };

    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text text = {0};
        wb_report_source(&desk->run.scratch.arena, source, cases[i].line, &text);
        assert_string_equal(wb_text_cstr(&text), cases[i].shown);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(ids_are_ours),
        TEST(threads_need_no_names),
        TEST(what_the_row_says_is_no_value),
        TEST(a_variable_is_set),
        TEST(a_stop_reads_well),
        TEST(values_are_cut_at_characters),
        TEST(source_lines_end_with_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
