/* The table of breakpoints: wishes, what adapters answer, hits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "debug/breakpoints.h"

#define A "/w/a.c"
#define B "/w/b.c"

static struct wb_breakpoints table;
static struct wb_arena arena;

static int setup(void **state)
{
    (void)state;
    table = (struct wb_breakpoints){0};
    wb_arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wb_breakpoints_done(&table);
    wb_arena_done(&arena);
    return 0;
}

static const struct wb_json *json(const char *text)
{
    const struct wb_json *value = wb_json_parse(&arena, wb_span(text), NULL);
    assert_non_null(value);
    return value;
}

static void set(const char *path, const struct wb_breakpoint_wish *wishes, size_t n)
{
    assert_int_equal(wb_breakpoints_replace(&table, path, wishes, n, NULL), 0);
}

static const char *request(const char *path, bool can_condition, bool can_log)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_breakpoints_request(&table, path, can_condition, can_log, &text);
    return wb_arena_strdup(&arena, wb_text_cstr(&text));
}

static const char *described(size_t i, bool in_session)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_breakpoint_describe(&table.items[i], "/w", in_session, &text);
    return wb_arena_strdup(&arena, wb_text_cstr(&text));
}

static void a_file_is_replaced_whole_and_lines_count_once(void **state)
{
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 9}, {.line = 3}, {.line = 9}}, 3);
    set(B, (const struct wb_breakpoint_wish[]){{.line = 1}}, 1);
    assert_int_equal(table.count, 3);
    assert_int_equal(table.items[0].line, 3);
    set(A, NULL, 0);
    assert_int_equal(table.count, 1);
    assert_string_equal(table.items[0].path, B);
}

static void what_stays_keeps_what_is_known_of_it(void **state)
{
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 3}, {.line = 5}}, 2);
    request(A, true, true);
    wb_breakpoints_answer(&table, A, 0,
                          json("{\"breakpoints\":[{\"id\":1,\"verified\":true,\"line\":3},"
                               "{\"id\":2,\"verified\":true,\"line\":5}]}"));
    wb_breakpoint_count(&table.items[1]);
    set(A, (const struct wb_breakpoint_wish[]){{.line = 5}, {.line = 3, .condition = "x"}}, 2);
    assert_int_equal(table.items[1].hits, 1);
    assert_int_equal(table.items[1].state, WB_BREAKPOINT_BOUND);
    assert_int_equal(table.items[0].state, WB_BREAKPOINT_PENDING);
}

static void answers_become_states(void **state)
{
    static const struct {
        const char *answer;
        enum wb_breakpoint_state state;
        const char *text;
    } cases[] = {
        {"{\"verified\":true,\"line\":3}", WB_BREAKPOINT_BOUND, "a.c:3: bound\n"},
        {"{\"verified\":true}", WB_BREAKPOINT_BOUND, "a.c:3: bound\n"},
        {"{\"verified\":true,\"line\":7}", WB_BREAKPOINT_BOUND,
         "a.c:3: MOVED to line 7 (there is no code to stop at on line 3)\n"},
        {"{\"verified\":false}", WB_BREAKPOINT_PENDING,
         "a.c:3: pending: the program has no code for it so far\n"},
        {"{\"verified\":false,\"message\":\"breakpoint.provisionalBreakpoint\"}",
         WB_BREAKPOINT_PENDING, "a.c:3: pending: the program has no code for it so far\n"},
        {"{\"verified\":false,\"message\":\"no code here\"}", WB_BREAKPOINT_REFUSED,
         "a.c:3: REFUSED: no code here\n"},
        {"{\"verified\":false,\"message\":\"not loaded yet\",\"reason\":\"pending\"}",
         WB_BREAKPOINT_PENDING,
         "a.c:3: pending: the program has no code for it so far (not loaded yet)\n"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        set(A, NULL, 0);
        set(A, (const struct wb_breakpoint_wish[]){{.line = 3}}, 1);
        request(A, true, true);
        wb_breakpoints_answer(
            &table, A, 0, json(wb_arena_printf(&arena, "{\"breakpoints\":[%s]}", cases[i].answer)));
        assert_int_equal(table.items[0].state, cases[i].state);
        assert_string_equal(described(0, true), cases[i].text);
    }
}

static void events_change_them_later(void **state)
{
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 3}}, 1);
    request(A, true, true);
    wb_breakpoints_answer(&table, A, 2, json("{\"breakpoints\":[{\"id\":0,\"verified\":false}]}"));
    static const char event[] =
        "{\"reason\":\"changed\",\"breakpoint\":{\"id\":0,\"verified\":true,\"line\":4}}";
    wb_breakpoints_event(&table, 1, json(event)); /* another connection's 0 */
    assert_int_equal(table.items[0].state, WB_BREAKPOINT_PENDING);
    wb_breakpoints_event(&table, 2, json(event));
    assert_int_equal(table.items[0].bound_line, 4);
    wb_breakpoints_reset(&table);
    assert_string_equal(described(0, false), "a.c:3: pending: set at the launch\n");
}

static void short_answers_and_foreign_ones_harm_nothing(void **state)
{
    static const char *const answers[] = {"{}", "{\"breakpoints\":null}", "{\"breakpoints\":[]}",
                                          "{\"breakpoints\":[1,\"x\",{}]}",
                                          "{\"breakpoints\":[{},{},{},{},{}]}"};
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 3}, {.line = 4}}, 2);
    request(A, true, true);
    for (size_t i = 0; i < WB_COUNT(answers); i++) {
        wb_breakpoints_answer(&table, A, 0, json(answers[i]));
        wb_breakpoints_event(&table, 0, json(answers[i]));
        assert_int_equal(table.items[0].state, WB_BREAKPOINT_PENDING);
    }
}

static void requests_hold_what_the_adapter_can(void **state)
{
    (void)state;
    set(A,
        (const struct wb_breakpoint_wish[]){{.line = 3, .condition = "x > 1", .hit = "3"},
                                            {.line = 4, .log_message = "x is {x}"},
                                            {.line = 5}},
        3);
    assert_string_equal(request(A, true, true),
                        "{\"source\":{\"path\":\"/w/a.c\",\"name\":\"a.c\"},\"breakpoints\":["
                        "{\"line\":3,\"condition\":\"x > 1\"},"
                        "{\"line\":4,\"logMessage\":\"x is {x}\"},{\"line\":5}]}");
    assert_string_equal(request(A, false, false),
                        "{\"source\":{\"path\":\"/w/a.c\",\"name\":\"a.c\"},\"breakpoints\":["
                        "{\"line\":5}]}");
    wb_breakpoints_answer(&table, A, 0, json("{\"breakpoints\":[{\"verified\":true}]}"));
    assert_int_equal(table.items[0].state, WB_BREAKPOINT_REFUSED);
    assert_int_equal(table.items[1].state, WB_BREAKPOINT_REFUSED);
    assert_int_equal(table.items[2].state, WB_BREAKPOINT_BOUND);
    set(NULL, (const struct wb_breakpoint_wish[]){{.function = "main"}}, 1);
    assert_string_equal(request(NULL, true, true), "{\"breakpoints\":[{\"name\":\"main\"}]}");
}

static void hits_are_counted_by_rule(void **state)
{
    static const struct {
        const char *hit, *stops; /* of six hits */
    } cases[] = {{"", "111111"},    {NULL, "111111"},  {"3", "001000"},
                 {">=4", "000111"}, {"% 2", "010101"}, {" >= 1", "111111"}};

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        char stops[7] = "";
        set(A, NULL, 0);
        set(A, (const struct wb_breakpoint_wish[]){{.line = 3, .hit = cases[i].hit}}, 1);
        for (size_t hit = 0; hit < 6; hit++) {
            stops[hit] = wb_breakpoint_count(&table.items[0]) ? '1' : '0';
        }
        assert_string_equal(stops, cases[i].stops);
    }
}

static void wrong_hit_counts_are_told_and_change_nothing(void **state)
{
    static const char *const wrong[] = {"x", "0", "-1", ">=", "<3", "3x", "99999999999999999999"};
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 3}}, 1);
    for (size_t i = 0; i < WB_COUNT(wrong); i++) {
        struct wb_error err;
        const struct wb_breakpoint_wish wishes[] = {{.line = 8}, {.line = 9, .hit = wrong[i]}};
        assert_int_equal(wb_breakpoints_replace(&table, A, wishes, 2, &err), -1);
        assert_int_equal(err.code, WB_ERROR_INVALID);
        assert_int_equal(table.count, 1);
        assert_int_equal(table.items[0].line, 3);
    }
}

static void a_stop_is_found_by_id_else_by_place(void **state)
{
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 3}, {.line = 5}}, 2);
    request(A, true, true);
    wb_breakpoints_answer(&table, A, 0,
                          json("{\"breakpoints\":[{\"id\":1,\"verified\":true,\"line\":4},"
                               "{\"id\":2,\"verified\":true,\"line\":5}]}"));
    const int64_t two[] = {9, 2};
    assert_ptr_equal(wb_breakpoints_hit(&table, 0, two, 2, A, 4), &table.items[1]);
    assert_ptr_equal(wb_breakpoints_hit(&table, 1, two, 2, A, 4), &table.items[0]);
    assert_null(wb_breakpoints_hit(&table, 0, NULL, 0, A, 3));
    assert_null(wb_breakpoints_hit(&table, 0, NULL, 0, B, 5));
    assert_null(wb_breakpoints_hit(&table, 0, NULL, 0, NULL, 5));
}

static void a_temporary_one_goes_again(void **state)
{
    (void)state;
    set(A, (const struct wb_breakpoint_wish[]){{.line = 3}}, 1);
    assert_false(wb_breakpoints_add_temporary(&table, A, 3));
    assert_true(wb_breakpoints_add_temporary(&table, A, 8));
    WB_AUTO(wb_free_p) char *path = wb_breakpoints_remove_temporary(&table);
    assert_string_equal(path, A);
    assert_null(wb_breakpoints_remove_temporary(&table));
    assert_int_equal(table.count, 1);
}

static void there_is_a_most(void **state)
{
    (void)state;
    static struct wb_breakpoint_wish wishes[WB_BREAKPOINTS_MAX + 1];
    struct wb_error err;
    for (size_t i = 0; i < WB_COUNT(wishes); i++) {
        wishes[i].line = (int64_t)i + 1;
    }
    set(A, wishes, WB_BREAKPOINTS_MAX);
    assert_int_equal(wb_breakpoints_replace(&table, A, wishes, WB_COUNT(wishes), &err), -1);
    assert_int_equal(wb_breakpoints_replace(&table, B, wishes, 1, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    set(A, wishes, WB_BREAKPOINTS_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced_whole_and_lines_count_once),
        TEST(what_stays_keeps_what_is_known_of_it),
        TEST(answers_become_states),
        TEST(events_change_them_later),
        TEST(short_answers_and_foreign_ones_harm_nothing),
        TEST(requests_hold_what_the_adapter_can),
        TEST(hits_are_counted_by_rule),
        TEST(wrong_hit_counts_are_told_and_change_nothing),
        TEST(a_stop_is_found_by_id_else_by_place),
        TEST(a_temporary_one_goes_again),
        TEST(there_is_a_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
