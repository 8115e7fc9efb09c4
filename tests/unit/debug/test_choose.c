/* Which adapter fits: markers, programs, the sentences when one is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../scratch.h"
#include "debug/choose.h"

static struct scratch scratch;
static struct wb_adapters *adapters;
static const char *workspace;

static void make_program(const char *relative)
{
    scratch_write(&scratch, relative, "#!/bin/sh\nexit 0\n");
    assert_int_equal(chmod(scratch_path(&scratch, relative), 0755), 0);
}

static int setup(void **state)
{
    (void)state;
    scratch_init(&scratch);
    workspace = scratch_folder(&scratch, "ws");
    setenv("PATH", scratch_folder(&scratch, "bin"), 1);
    adapters = wb_adapters_new(NULL, NULL);
    assert_non_null(adapters);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wb_adapters_free(adapters);
    scratch_done(&scratch);
    return 0;
}

static int choose(struct wb_target target, const char *adapter, struct wb_adapter_choice *ret,
                  struct wb_error *err)
{
    target.from = target.path;
    return wb_choose_for_launch(&scratch.arena, adapters, workspace, &target, adapter, ret, err);
}

static struct wb_target python(const char *relative)
{
    return (struct wb_target){
        .kind = WB_TARGET_SOURCE, .path = scratch_path(&scratch, relative), .language = "python"};
}

static struct wb_target binary(const char *relative, bool is_go)
{
    return (struct wb_target){.kind = WB_TARGET_BINARY,
                              .path = scratch_path(&scratch, relative),
                              .program = {.is_binary = true, .is_go = is_go}};
}

static void every_row_reads_well(void **state)
{
    const struct wb_adapter_row *row;
    size_t n = 0;
    (void)state;
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL; n++) {
        size_t n_templates = 0;
        for (size_t i = 0; i < WB_TARGET_KINDS; i++) {
            n_templates += row->launch[i].arguments != NULL;
        }
        assert_true(n_templates > 0);
        assert_non_null(row->commands[0]);
        assert_non_null(row->markers[0]);
        assert_true(*row->install != '\0');
    }
    assert_true(n >= 16);
}

static void both_tests_are_told(void **state)
{
    struct wb_adapter_choice choice;
    struct wb_error err;
    (void)state;
    assert_int_equal(choose(python("ws/app.py"), NULL, &choice, &err), -1);
    assert_non_null(strstr(err.message, "debugpy: no root marker"));
    assert_non_null(strstr(err.message, "pyproject.toml"));
    assert_non_null(
        strstr(err.message, "no program python3 (looked in .venv/bin, venv/bin and PATH)"));
    assert_non_null(strstr(err.message, "pip install debugpy"));
    make_program("bin/python3");
    assert_int_equal(choose(python("ws/app.py"), NULL, &choice, &err), -1);
    assert_non_null(strstr(err.message, "no root marker"));
    assert_null(strstr(err.message, "no program"));
    scratch_write(&scratch, "ws/pyproject.toml", "");
    assert_int_equal(choose(python("ws/app.py"), NULL, &choice, &err), 0);
    assert_string_equal(choice.row->id, "debugpy");
    assert_string_equal(choice.marker, "pyproject.toml");
    assert_string_equal(choice.root, workspace);
    assert_null(choice.interpreter);
}

static void the_projects_own_python_comes_first(void **state)
{
    struct wb_adapter_choice choice;
    (void)state;
    make_program("ws/.venv/bin/python");
    assert_int_equal(choose(python("ws/sub/app.py"), NULL, &choice, NULL), 0);
    assert_string_equal(choice.interpreter, scratch_path(&scratch, "ws/.venv/bin/python"));
    assert_string_equal(choice.commands[0][0], choice.interpreter);
    assert_string_equal(choice.commands[1][0], scratch_path(&scratch, "bin/python3"));
    assert_null(choice.commands[2]);
}

static void priority_and_wishes_decide(void **state)
{
    struct wb_adapter_choice choice;
    struct wb_error err;
    (void)state;
    scratch_write(&scratch, "ws/CMakeLists.txt", "");
    make_program("bin/codelldb");
    assert_int_equal(choose(binary("ws/app", false), NULL, &choice, NULL), 0);
    assert_string_equal(choice.row->id, "codelldb");
    make_program("bin/lldb-dap-19");
    make_program("bin/lldb-dap-22");
    assert_int_equal(choose(binary("ws/app", false), NULL, &choice, NULL), 0);
    assert_string_equal(choice.row->id, "lldb");
    assert_string_equal(wb_path_base(choice.commands[0][0]), "lldb-dap-22");
    assert_int_equal(choose(binary("ws/app", false), "codelldb", &choice, NULL), 0);
    assert_string_equal(choice.row->id, "codelldb");
    assert_int_equal(choose(binary("ws/app", false), "debugpy", &choice, &err), -1);
    assert_int_equal(err.code, WB_ERROR_INVALID);
    assert_int_equal(choose(binary("ws/app", false), "nonesuch", &choice, &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.message, "codelldb, "));
}

static void go_programs_go_to_who_knows_go(void **state)
{
    struct wb_adapter_choice choice;
    (void)state;
    assert_int_equal(choose(binary("ws/app", true), NULL, &choice, NULL), 0);
    assert_string_equal(choice.row->id, "lldb");
    make_program("bin/dlv");
    scratch_write(&scratch, "ws/go.mod", "");
    assert_int_equal(choose(binary("ws/app", true), NULL, &choice, NULL), 0);
    assert_string_equal(choice.row->id, "delve");
    assert_int_equal(choose(binary("ws/app", false), NULL, &choice, NULL), 0);
    assert_string_equal(choice.row->id, "lldb");
}

static void compiled_source_is_told_apart(void **state)
{
    struct wb_adapter_choice choice;
    struct wb_error err;
    (void)state;
    const struct wb_target target = {
        .kind = WB_TARGET_SOURCE, .path = scratch_path(&scratch, "ws/main.c"), .language = "c"};
    assert_int_equal(choose(target, NULL, &choice, &err), -1);
    assert_int_equal(err.code, WB_ERROR_INVALID);
    assert_non_null(strstr(err.message, "build it with debug information"));
}

static void attaching_asks_where_several_fit(void **state)
{
    struct wb_adapter_choice choice;
    struct wb_error err;
    (void)state;
    assert_int_equal(wb_choose_for_attach(&scratch.arena, adapters, workspace, WB_ATTACH_PORT, NULL,
                                          &choice, &err),
                     -1);
    assert_non_null(strstr(err.message, "several adapters"));
    assert_int_equal(wb_choose_for_attach(&scratch.arena, adapters, workspace, WB_ATTACH_PORT,
                                          "debugpy", &choice, &err),
                     0);
    assert_int_equal(wb_choose_for_attach(&scratch.arena, adapters, workspace, WB_ATTACH_PID,
                                          "js-debug", &choice, &err),
                     -1);
    assert_non_null(strstr(err.message, "cannot attach by pid"));
}

int main(void)
{
    /* One workspace that grows: the order counts. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_reads_well),
        cmocka_unit_test(both_tests_are_told),
        cmocka_unit_test(the_projects_own_python_comes_first),
        cmocka_unit_test(priority_and_wishes_decide),
        cmocka_unit_test(go_programs_go_to_who_knows_go),
        cmocka_unit_test(compiled_source_is_told_apart),
        cmocka_unit_test(attaching_asks_where_several_fit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
