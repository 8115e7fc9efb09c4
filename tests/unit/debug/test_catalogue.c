/* The table of adapters, the configuration laid over it, and the folders that rows ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../scratch.h"
#include "debug/catalogue.h"
#include "debug/scratch.h"

static struct scratch scratch;

static int setup(void **state)
{
    (void)state;
    scratch_init(&scratch);
    setenv("XDG_CACHE_HOME", scratch_path(&scratch, "cache"), 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

static struct wb_adapters *load(const char *config)
{
    struct wb_error err;
    const struct wb_json *root = wb_json_parse(&scratch.arena, wb_span(config), NULL);
    assert_non_null(root);
    struct wb_adapters *adapters = wb_adapters_new(root, &err);
    assert_non_null(adapters);
    return adapters;
}

static void rows_come_by_priority(void **state)
{
    struct wb_adapters *adapters = load("{}");
    const struct wb_adapter_row *row, *last = NULL;
    size_t n = 0;
    (void)state;
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL; last = row, n++) {
        assert_true(last == NULL || last->priority < row->priority ||
                    (last->priority == row->priority && strcmp(last->id, row->id) < 0));
        assert_ptr_equal(wb_adapters_find(adapters, row->id), row);
    }
    assert_true(n >= 16);
    assert_null(wb_adapters_find(adapters, "nonesuch"));
    wb_adapters_free(adapters);
}

static void the_quirks_are_read(void **state)
{
    struct wb_adapters *adapters = load(
        "{\"adapters\":[{\"id\":\"x\",\"languages\":[\"python\"],\"extensions\":[\".xx\"],"
        "\"commands\":[[\"x\",\"{port}\"],[\"y\"]],\"transport\":\"dial_in\",\"start_s\":7,"
        "\"launch\":{\"source\":{\"arguments\":{},\"words\":[\"--test\"],\"request\":\"attach\"}},"
        "\"attach\":{\"port\":{\"arguments\":{},\"direct\":true}},\"child_sessions\":true,"
        "\"is_debuggee\":true,\"stops_at_start\":true,\"output_by_pipe\":true,"
        "\"keeps_breakpoints\":true,\"no_crash\":[\"Exit\"],\"exit_text\":[\"code \"]}]}");
    const struct wb_adapter_row *row = wb_adapters_find(adapters, "x");
    (void)state;
    assert_int_equal(row->transport, WB_ADAPTER_DIAL_IN);
    assert_string_equal(row->commands[1][0], "y");
    assert_null(row->commands[2]);
    assert_int_equal(row->start_ms, 7000);
    assert_true(row->launch[WB_TARGET_SOURCE].is_attach);
    assert_string_equal(row->launch[WB_TARGET_SOURCE].words[0], "--test");
    assert_null(row->launch[WB_TARGET_BINARY].arguments);
    assert_true(row->attach[WB_ATTACH_PORT].is_direct && row->attach[WB_ATTACH_PORT].is_attach);
    assert_null(row->attach[WB_ATTACH_PID].arguments);
    assert_true(row->child_sessions && row->is_debuggee && row->stops_at_start);
    assert_true(row->output_by_pipe && row->keeps_breakpoints);
    assert_string_equal(row->no_crash[0], "Exit");
    assert_string_equal(row->exit_text[0], "code ");
    assert_null(row->hidden_output[0]);
    assert_false(row->tested);
    assert_true(wb_adapter_row_speaks(row, "python", NULL));
    assert_true(wb_adapter_row_speaks(row, NULL, "/a/b.xx"));
    assert_false(wb_adapter_row_speaks(row, "ruby", "/a/b.rb"));
    wb_adapters_free(adapters);
}

static void a_row_of_the_configuration_replaces_parts(void **state)
{
    struct wb_adapters *adapters =
        load("{\"adapters\":[{\"id\":\"debugpy\",\"commands\":[[\"mine\"]]}]}");
    const struct wb_adapter_row *row = wb_adapters_find(adapters, "debugpy");
    (void)state;
    assert_string_equal(row->commands[0][0], "mine");
    assert_null(row->commands[1]);
    assert_string_equal(row->languages[0], "python");
    wb_adapters_free(adapters);
}

static void a_folder_has_its_files_and_goes(void **state)
{
    struct wb_error err;
    const struct wb_json *files =
        wb_json_parse(&scratch.arena, WB_SPAN("{\"a.js\":\"x\",\"b\":\"\"}"), NULL);
    (void)state;
    char *folder = wb_debug_scratch_make(&scratch.arena, files, &err);
    assert_non_null(folder);
    char *other = wb_debug_scratch_make(&scratch.arena, NULL, &err);
    assert_string_not_equal(folder, other);
    struct stat info;
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(wb_arena_printf(&scratch.arena, "%s/a.js", folder), &info), 0);
    assert_int_equal(info.st_size, 1);
    wb_debug_scratch_remove(folder);
    wb_debug_scratch_remove(other);
    wb_debug_scratch_remove(NULL);
    assert_int_equal(stat(folder, &info), -1);
    assert_int_equal(stat(other, &info), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rows_come_by_priority),
        TEST(the_quirks_are_read),
        TEST(a_row_of_the_configuration_replaces_parts),
        TEST(a_folder_has_its_files_and_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
