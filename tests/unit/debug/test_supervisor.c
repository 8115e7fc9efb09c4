/* Places of conversations: one session, turns, what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adapter.h"
#include "debug/supervisor.h"

static struct desk desk;
static struct wb_debug_supervisor *supervisor;
static struct wb_debug_place *place;

static int setup(void **state)
{
    (void)state;
    desk_init(&desk);
    fixture_open(&desk.run, (struct wb_run_options){0});
    supervisor = wb_debug_supervisor_of_host(desk.run.host);
    place = wb_debug_place_enter(supervisor, desk.run.run);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wb_debug_place_leave(place, desk.run.run);
    wb_run_close(desk.run.run);
    desk_done(&desk);
    return 0;
}

static const struct answer answers[] = {INITIALIZE, ATTACH, CONFIGURED, {.command = NULL}};

static void a_second_session_is_refused_while_one_lives(void **state)
{
    struct wb_error err;
    (void)state;
    assert_null(wb_debug_place_session(place));
    desk_make(&desk, answers);
    assert_int_equal(wb_debug_place_put(place, desk.run.run, desk.session, &err), 0);
    assert_int_equal(wb_debug_session_start(desk.session, &desk.options, wb_clock_deadline(20000),
                                            NULL, &err),
                     0);
    struct wb_debug_session *second = wb_debug_session_new(&desk.options);
    assert_int_equal(wb_debug_place_put(place, desk.run.run, second, &err), -1);
    assert_non_null(strstr(err.message, "under way already"));
    wb_debug_session_end(desk.session, "it was terminated");
    assert_int_equal(wb_debug_place_put(place, desk.run.run, second, &err), 0);
    struct wb_debug_session *present = wb_debug_place_session(place);
    assert_ptr_equal(present, second);
    wb_debug_session_unref(present);
    wb_debug_session_abandon(second);
    wb_debug_session_unref(second);
}

static void runs_of_a_conversation_share_its_place(void **state)
{
    struct wb_error err;
    const struct wb_run_options options = {.workspace = desk.run.workspace, .conversation_id = "c"};
    (void)state;
    struct wb_run *other = wb_run_open(desk.run.host, &options, &err);
    struct wb_debug_place *same = wb_debug_place_enter(supervisor, other);
    assert_ptr_equal(same, place);
    desk_make(&desk, answers);
    assert_int_equal(wb_debug_place_put(place, other, desk.session, &err), 0);
    assert_int_equal(wb_debug_session_start(desk.session, &desk.options, wb_clock_deadline(20000),
                                            NULL, &err),
                     0);
    wb_debug_place_leave(same, other); /* ends what it started, and the place stays */
    assert_true(wb_debug_session_is_over(desk.session));
    struct wb_debug_session *last = wb_debug_place_session(place);
    assert_ptr_equal(last, desk.session);
    wb_debug_session_unref(last);
    wb_run_close(other);
}

static void a_turn_is_waited_for(void **state)
{
    struct wb_error err;
    struct wb_cancel cancel;
    (void)state;
    wb_cancel_init(&cancel);
    assert_int_equal(wb_debug_place_take_turn(place, WB_NEVER, NULL, &err), 0);
    assert_int_equal(wb_debug_place_take_turn(place, wb_clock_deadline(10), NULL, &err), -1);
    wb_cancel_fire(&cancel);
    assert_int_equal(wb_debug_place_take_turn(place, WB_NEVER, &cancel, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CANCELLED);
    wb_debug_place_give_turn(place);
    assert_int_equal(wb_debug_place_take_turn(place, WB_NEVER, NULL, &err), 0);
    wb_debug_place_give_turn(place);
    wb_cancel_done(&cancel);
}

static void a_launch_and_a_cursor_are_kept(void **state)
{
    (void)state;
    assert_null(wb_debug_place_last_launch(place));
    wb_debug_place_keep_launch(place, "{\"program\":\"a\"}");
    wb_debug_place_keep_launch(place, "{\"program\":\"b\"}");
    WB_AUTO(wb_free_p) char *kept = wb_debug_place_last_launch(place);
    assert_string_equal(kept, "{\"program\":\"b\"}");
    wb_debug_place_set_seen(place, 17);
    assert_int_equal(wb_debug_place_seen(place), 17);
}

static void one_catalogue_a_configuration(void **state)
{
    const struct wb_json *config =
        wb_json_parse(&desk.run.scratch.arena, wb_span(ADAPTER_CONFIG), NULL);
    (void)state;
    const struct wb_adapters *plain = wb_debug_supervisor_adapters(supervisor, NULL, NULL);
    const struct wb_adapters *other = wb_debug_supervisor_adapters(supervisor, config, NULL);
    assert_non_null(plain);
    assert_ptr_not_equal(plain, other);
    assert_ptr_equal(plain, wb_debug_supervisor_adapters(supervisor, NULL, NULL));
    assert_null(wb_adapters_find(plain, "fake"));
    assert_non_null(wb_adapters_find(other, "fake"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_second_session_is_refused_while_one_lives),
        TEST(runs_of_a_conversation_share_its_place),
        TEST(a_turn_is_waited_for),
        TEST(a_launch_and_a_cursor_are_kept),
        TEST(one_catalogue_a_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
