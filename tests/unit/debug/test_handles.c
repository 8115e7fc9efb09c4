/* Our own ids for frames and references: unique through the session, dead with their stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/handles.h"

static struct wb_handle frame(int64_t id, int64_t index)
{
    return (struct wb_handle){.kind = WB_HANDLE_FRAME, .thread_id = 1, .index = index, .id = id};
}

static struct wb_handle scope(int64_t id, int64_t of, const char *name)
{
    return (struct wb_handle){.kind = WB_HANDLE_SCOPE, .id = id, .frame = of, .name = (char *)name};
}

static void the_same_frame_keeps_its_id(void **state)
{
    (void)state;
    struct wb_handles handles;
    wb_handles_init(&handles);
    struct wb_handle top = frame(0, 0), next = frame(1, 1);
    int64_t id = wb_handles_add(&handles, &top);
    assert_int_equal(id, 1);
    assert_int_equal(wb_handles_add(&handles, &next), 2);
    assert_int_equal(wb_handles_add(&handles, &top), id);
    wb_handles_done(&handles);
}

/* lldb-dap: the locals of every frame have the reference 1. */
static void one_reference_of_two_frames_is_two_ids(void **state)
{
    (void)state;
    struct wb_handles handles;
    wb_handles_init(&handles);
    struct wb_handle a = scope(1, 1, "Locals"), b = scope(1, 2, "Locals");
    int64_t id = wb_handles_add(&handles, &a);
    assert_int_not_equal(wb_handles_add(&handles, &b), id);
    const struct wb_handle *found = wb_handles_find(&handles, id, false, NULL);
    assert_int_equal(found->frame, 1);
    wb_handles_done(&handles);
}

static void ids_die_with_their_stop_and_never_return(void **state)
{
    (void)state;
    struct wb_handles handles;
    struct wb_error err;
    wb_handles_init(&handles);
    struct wb_handle top = frame(0, 0);
    int64_t id = wb_handles_add(&handles, &top);
    wb_handles_clear(&handles);
    assert_null(wb_handles_find(&handles, id, true, &err));
    assert_int_equal(err.code, WB_ERROR_STALE);
    assert_non_null(strstr(err.message, "earlier stop"));
    assert_int_not_equal(wb_handles_add(&handles, &top), id);
    wb_handles_done(&handles);
}

static void what_never_was_is_told_apart(void **state)
{
    (void)state;
    struct wb_handles handles;
    struct wb_error err;
    wb_handles_init(&handles);
    struct wb_handle top = frame(0, 0);
    int64_t id = wb_handles_add(&handles, &top);
    static const int64_t never[] = {0, -1, 77, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < WB_COUNT(never); i++) {
        assert_null(wb_handles_find(&handles, never[i], true, &err));
        assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
    }
    assert_null(wb_handles_find(&handles, id, false, &err));
    assert_int_equal(err.code, WB_ERROR_INVALID);
    assert_non_null(strstr(err.message, "is a frame_id"));
    wb_handles_done(&handles);
}

static void there_is_a_most(void **state)
{
    (void)state;
    struct wb_handles handles;
    wb_handles_init(&handles);
    for (int64_t i = 0; i < WB_HANDLES_MAX; i++) {
        struct wb_handle child = {.kind = WB_HANDLE_CHILD, .id = i + 1};
        assert_int_equal(wb_handles_add(&handles, &child), i + 1);
    }
    struct wb_handle more = {.kind = WB_HANDLE_CHILD, .id = WB_HANDLES_MAX + 1};
    assert_int_equal(wb_handles_add(&handles, &more), 0);
    wb_handles_done(&handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_frame_keeps_its_id),
        cmocka_unit_test(one_reference_of_two_frames_is_two_ids),
        cmocka_unit_test(ids_die_with_their_stop_and_never_return),
        cmocka_unit_test(what_never_was_is_told_apart),
        cmocka_unit_test(there_is_a_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
