/* Tests of run/config: merging, what is refused, and whom the program believes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../scratch.h"
#include "run/config.h"

static struct scratch scratch;
static const char *workspace;

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    setenv("XDG_STATE_HOME", scratch_path(&scratch, "state"), 1);
    setenv("XDG_CONFIG_HOME", scratch_path(&scratch, "config"), 1);
    workspace = scratch_folder(&scratch, "ws");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

#define USER_FILE "config/werkbank/config.json"
#define PROJECT_FILE "ws/.werkbank.json"

static struct wb_config *load(const char *config_file, bool trust, struct wb_error *err)
{
    const struct wb_config_options options = {workspace, config_file, trust};
    return wb_config_load(&options, err);
}

/* The value of one key after loading, as a number; -1 without it. */
static int64_t idle_stop(bool trust, bool *ret_trusted, bool *ret_distrust)
{
    struct wb_error err;
    struct wb_config *config = load(NULL, trust, &err);
    assert_non_null(config);
    int64_t value = wb_config_int(config, "lsp.idle_stop_s", -1);
    *ret_trusted = wb_config_trusted(config);
    *ret_distrust = wb_config_distrust(config) != NULL;
    wb_config_free(config);
    return value;
}

static void without_files_there_is_nothing(void **state)
{
    struct wb_error err;
    (void)state;
    struct wb_config *config = load(NULL, false, &err);
    assert_non_null(config);
    assert_null(wb_config_root(config));
    assert_int_equal(wb_config_int(config, "lsp.idle_stop_s", 600), 600);
    assert_string_equal(wb_config_str(config, "allow", "read"), "read");
    assert_false(wb_config_trusted(config));
    assert_null(wb_config_distrust(config));
    wb_config_free(config);
}

static void later_files_win_member_by_member(void **state)
{
    struct wb_error err;
    (void)state;
    scratch_write(&scratch, USER_FILE,
                  "{\"allow\": \"write\", \"lsp\": {\"idle_stop_s\": 10}, \"servers\": ["
                  "{\"id\": \"a\", \"x\": 1, \"y\": 1}, {\"id\": \"b\", \"x\": 1}]}");
    scratch_write(&scratch, PROJECT_FILE,
                  "{\"lsp\": {\"idle_stop_s\": 20}, \"servers\": [{\"id\": \"a\", \"x\": 2},"
                  " {\"id\": \"c\"}]}");
    const char *last = scratch_write(&scratch, "last.json", "{\"allow\": \"exec\"}");
    struct wb_config *config = load(last, true, &err);
    assert_non_null(config);
    assert_string_equal(wb_json_write(&scratch.arena, wb_config_root(config)).ptr,
                        "{\"allow\":\"exec\",\"lsp\":{\"idle_stop_s\":20},\"servers\":["
                        "{\"id\":\"a\",\"x\":2,\"y\":1},{\"id\":\"b\",\"x\":1},{\"id\":\"c\"}]}");
    wb_config_free(config);
}

static void broken_own_files_are_told(void **state)
{
    static const struct {
        const char *content, *message;
    } rows[] = {
        {"[]", "it must hold one JSON object"},
        {"{\"alow\": \"read\"}", "unknown key `alow`; did you mean `allow`?"},
        {"{\"lsp\": {\"idle_stop\": 1}}",
         "unknown key `lsp.idle_stop`; did you mean `lsp.idle_stop_s`?"},
        {"{\"zzzzzzzzz\": 1}", "unknown key `zzzzzzzzz`; see werkbank-config(5)"},
        {"{\"lsp.idle_stop_s\": 5}",
         "`lsp.idle_stop_s`: the dot stands for nesting; write {\"lsp\": {\"idle_stop_s\": ...}}"},
        {"{\"allow\": \"all\"}", "`allow` must be \"read\", \"write\" or \"exec\""},
        {"{\"lsp\": 5}", "`lsp` must be an object"},
        {"{\"lsp\": {\"idle_stop_s\": \"5\"}}",
         "`lsp.idle_stop_s` must be an integer between 1 and 604800"},
        {"{\"lsp\": {\"idle_stop_s\": 0}}",
         "`lsp.idle_stop_s` must be an integer between 1 and 604800"},
        {"{\"eval\": {\"python\": 3}}", "`eval.python` must be a string"},
        {"{\"capsule\": {\"exec_prefix\": \"podman\"}}",
         "`capsule.exec_prefix` must be an array of strings"},
        {"{\"capsule\": {\"exec_prefix\": [\"podman\", 1]}}",
         "`capsule.exec_prefix` must be an array of strings"},
        {"{\"servers\": {}}", "`servers` must be an array of objects"},
        {"{\"servers\": [{\"id\": \"a\"}, {}]}",
         "`servers[1]` must be an object with an `id` of type string"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_error err;
        const char *path = scratch_write(&scratch, USER_FILE, rows[i].content);
        assert_null(load(NULL, false, &err));
        assert_string_equal(err.message,
                            wb_arena_printf(&scratch.arena, "%s: %s", path, rows[i].message));
    }
}

static void a_missing_config_option_file_is_an_error(void **state)
{
    struct wb_error err;
    (void)state;
    assert_null(load(scratch_path(&scratch, "none.json"), false, &err));
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
}

static void a_harmless_project_file_is_believed(void **state)
{
    bool trusted, distrust;
    (void)state;
    scratch_write(&scratch, PROJECT_FILE, "{\"lsp\": {\"idle_stop_s\": 5}}");
    assert_int_equal(idle_stop(false, &trusted, &distrust), 5);
    assert_false(trusted); /* build scripts still do not run */
    assert_false(distrust);
}

static void commands_and_permissions_need_trust(void **state)
{
    static const char *const members[] = {
        "\"allow\": \"exec\"",
        "\"cap\": \"exec\"",
        "\"servers\": [{\"id\": \"clangd\", \"commands\": [[\"./evil\"]]}]",
        "\"languages\": [{\"id\": \"c\"}]",
        "\"checks\": [{\"id\": \"make\", \"command\": [\"./evil\"]}]",
    };
    (void)state;
    for (size_t i = 0; i < WB_COUNT(members); i++) {
        struct wb_error err;
        bool trusted, distrust;
        scratch_write(&scratch, PROJECT_FILE,
                      wb_arena_printf(&scratch.arena, "{\"lsp\": {\"idle_stop_s\": 5}, %s}",
                                      members[i]));
        assert_int_equal(idle_stop(false, &trusted, &distrust), -1);
        assert_true(distrust);
        assert_false(trusted);
        assert_int_equal(idle_stop(true, &trusted, &distrust), 5);
        assert_true(trusted);
        assert_int_equal(wb_config_trust(workspace, &err), 0);
        assert_int_equal(idle_stop(false, &trusted, &distrust), 5);
        assert_true(trusted);
        assert_int_equal(wb_config_distrust_workspace(workspace, &err), 0);
    }
}

static void a_change_asks_again(void **state)
{
    struct wb_error err;
    bool trusted, distrust;
    (void)state;
    scratch_write(&scratch, PROJECT_FILE, "{\"allow\": \"write\", \"lsp\": {\"idle_stop_s\": 5}}");
    assert_int_equal(wb_config_trust(workspace, &err), 0);
    assert_int_equal(idle_stop(false, &trusted, &distrust), 5);
    const char *path = scratch_write(&scratch, PROJECT_FILE,
                                     "{\"allow\": \"exec\", \"lsp\": {\"idle_stop_s\": 5}}");
    assert_int_equal(idle_stop(false, &trusted, &distrust), -1);
    assert_false(trusted);
    struct wb_config *config = load(NULL, false, &err);
    assert_string_equal(
        wb_config_distrust(config),
        wb_arena_printf(&scratch.arena,
                        "%s is ignored: it sets `allow` and has changed since it was trusted; "
                        "read it, then run `werkbank trust`",
                        path));
    wb_config_free(config);
    /* A file that appears after trust without one is a change too; so is one that goes away. */
    unlink(path);
    idle_stop(false, &trusted, &distrust);
    assert_false(trusted);
    assert_int_equal(wb_config_trust(workspace, &err), 0);
    idle_stop(false, &trusted, &distrust);
    assert_true(trusted);
    scratch_write(&scratch, PROJECT_FILE, "{}");
    idle_stop(false, &trusted, &distrust);
    assert_false(trusted);
}

static void trust_is_of_one_workspace(void **state)
{
    struct wb_error err;
    bool trusted, distrust;
    (void)state;
    assert_int_equal(wb_config_trust(workspace, &err), 0);
    workspace = scratch_folder(&scratch, "other");
    idle_stop(false, &trusted, &distrust);
    assert_false(trusted);
    assert_int_equal(wb_config_distrust_workspace(workspace, &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
}

static void a_broken_project_file_is_ignored_and_told(void **state)
{
    struct wb_error err;
    (void)state;
    scratch_write(&scratch, PROJECT_FILE, "{\"lsp\": ");
    struct wb_config *config = load(NULL, false, &err);
    assert_non_null(config);
    assert_null(wb_config_root(config));
    assert_non_null(strstr(wb_config_distrust(config), "is ignored: "));
    wb_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_files_there_is_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(later_files_win_member_by_member, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_own_files_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_config_option_file_is_an_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_harmless_project_file_is_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commands_and_permissions_need_trust, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_asks_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trust_is_of_one_workspace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_project_file_is_ignored_and_told, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
