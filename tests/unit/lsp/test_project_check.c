/* Tests of lsp/project_check.h and its parts: what rows read out of output, which rows run where, how
 * a run ends, and that the workspace stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../run/fixture.h"
#include "base/clock.h"
#include "lsp/check.h"
#include "lsp/project_check.h"
#include "sys/child.h"
#include "sys/mirror.h"

static int check_tool(struct wb_call *call, const void *args, struct wb_result *result,
                      struct wb_error *err)
{
    (void)args;
    struct wb_lsp *lsp = wb_lsp_of_run(call->run);
    struct wb_diagnostic_list list = {0};
    struct wb_server_answer *answers;
    size_t n;
    if (wb_project_check(lsp, call, &list, &answers, &n, err) < 0) {
        return -1;
    }
    wb_diagnostics_sort(&list);
    for (size_t i = 0; i < n; i++) {
        wb_text_printf(&result->text, "%s %s%s%s\n", answers[i].server,
                       wb_answer_state_name(answers[i].state),
                       answers[i].reason != NULL ? ": " : "",
                       answers[i].reason != NULL ? answers[i].reason : "");
    }
    for (size_t i = 0; i < list.count; i++) {
        wb_diagnostic_line(&result->text, &list.items[i],
                           wb_path_relative(list.items[i].path, lsp->workspace));
    }
    return 0;
}

static int status_tool(struct wb_call *call, const void *args, struct wb_result *result,
                       struct wb_error *err)
{
    (void)args;
    struct wb_lsp *lsp = wb_lsp_of_run(call->run);
    struct wb_check_status *items;
    size_t n;
    if (wb_project_check_status(lsp, call->arena, &items, &n, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        wb_text_printf(&result->text, "%s at %s: %s\n", items[i].id,
                       wb_path_relative(items[i].root, lsp->workspace),
                       items[i].reason != NULL ? items[i].reason : "runs");
    }
    return 0;
}

static const struct wb_tool tool_check = {.name = "check",
                                          .tier = WB_TIER_READ,
                                          .parallel_safe = true,
                                          .call = check_tool};
static const struct wb_tool tool_status = {.name = "status",
                                           .tier = WB_TIER_READ,
                                           .parallel_safe = true,
                                           .call = status_tool};
static const struct wb_tool *const tools[] = {&tool_check, &tool_status, NULL};

static int set_up(void **state)
{
    static struct fixture f;
    fixture_init(&f, tools);
    setenv("XDG_CACHE_HOME", scratch_path(&f.scratch, "cache"), 1);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_done(*state);
    return 0;
}

static void write_in(struct fixture *f, const char *path, const char *content)
{
    scratch_write(&f->scratch, wb_path_join(&f->scratch.arena, "ws", path), content);
}

/* Opens the run with only these rows of checks, given as JSON with ' for ". */
static void open_with(struct fixture *f, const char *rows, bool trust)
{
    wb_run_close(f->run);
    char *config = wb_arena_printf(&f->scratch.arena, "{'checks': [%s]}", rows);
    for (char *c = config; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    const char *path = scratch_write(&f->scratch, "config.json", config);
    fixture_open(f, (struct wb_run_options){.config_file = path, .trust = trust});
    wb_lsp_attach(f->run);
}

static const char *check(struct fixture *f)
{
    bool is_error;
    const char *text = fixture_call(f, "check", "{}", &is_error);
    return is_error ? wb_arena_printf(&f->scratch.arena, "ERROR %s", text) : text;
}

static const char *get_status(struct fixture *f)
{
    bool is_error;
    return fixture_call(f, "status", "{}", &is_error);
}

/* A row whose program is this shell script; more: further members. */
static const char *script_row(struct fixture *f, const char *id, const char *script,
                              const char *more)
{
    const char *name = wb_arena_printf(&f->scratch.arena, "bin/%s", id);
    const char *path = scratch_write(&f->scratch, name,
                                     wb_arena_printf(&f->scratch.arena, "#!/bin/sh\n%s\n", script));
    assert_int_equal(chmod(path, 0755), 0);
    return wb_arena_printf(&f->scratch.arena,
                           "{'id': '%s', 'languages': ['dart'], 'markers': ['mark'],"
                           " 'priority': 1, 'commands': [['%s', '{root}', '{cache}']],"
                           " 'trusted': false, 'pattern': '^(?P<path>[^:\\n]+):(?P<line>\\\\d+): "
                           "(?P<severity>error|warning): (?P<message>.*)$'%s}",
                           id, path, more);
}

/* Names, kinds, modes, times and content of everything in the workspace. */
static const char *snapshot(struct fixture *f)
{
    const char *command = wb_arena_printf(&f->scratch.arena,
                                          "cd %s && find . -printf '%%p %%y %%m %%T@\\n' | sort && "
                                          "find . -type f -exec cksum {} + | sort",
                                          f->workspace);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    const struct wb_child_options options = {.argv = argv, .guard = getenv("WERKBANK_GUARD")};
    const struct wb_child_run run = {
        .options = &options, .output_bytes_max = WB_MIB, .deadline_ms = WB_NEVER};
    struct wb_child_output output;
    assert_int_equal(wb_child_run(wb_host_loop(f->host), &run, &output, NULL), 0);
    const char *text = wb_arena_strdup(&f->scratch.arena, wb_text_cstr(&output.out));
    wb_child_output_done(&output);
    assert_true(text[0] != '\0');
    return text;
}

static void contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", part, text);
    }
}

/* Output. */

static void compare_with(struct wb_arena *arena, const char *id,
                         const struct wb_diagnostic_list *list, const struct wb_json *expected)
{
    if (list->count != wb_json_count(expected)) {
        fail_msg("%s: %zu diagnostics; expected %zu", id, list->count, wb_json_count(expected));
    }
    for (struct wb_json_iter it = wb_json_iter(expected); wb_json_next(&it);) {
        const struct wb_diagnostic *got = &list->items[it.index];
        const char *path = wb_json_str(wb_json_get(it.value, "path"));
        path = wb_path_normalize(arena, wb_path_join(arena, "/home/dev/demo", path));
        assert_string_equal(got->path, path);
        assert_int_equal(got->line, wb_json_int_or(wb_json_get(it.value, "line"), 0));
        assert_string_equal(wb_severity_name(got->severity),
                            wb_json_str(wb_json_get(it.value, "severity")));
        assert_string_equal(got->code, wb_json_str_or(wb_json_get(it.value, "code"), ""));
        assert_string_equal(got->message, wb_json_str(wb_json_get(it.value, "message")));
        assert_string_equal(got->source, id);
    }
}

static void test_samples(void **state)
{
    struct fixture *f = *state;
    struct wb_arena *arena = &f->scratch.arena;
    struct wb_check_table table;
    struct wb_error err;
    assert_int_equal(wb_check_table_load(arena, NULL, &table, &err), 0);
    assert_true(table.count >= 40);
    for (size_t i = 0; i < table.count; i++) {
        const char *base = wb_arena_printf(arena, "%s/%s", CHECK_SAMPLES, table.rows[i].id);
        struct wb_span output, json;
        assert_int_equal(wb_file_read(arena, wb_arena_printf(arena, "%s.txt", base), WB_MIB,
                                      &output, NULL, &err),
                         0);
        assert_int_equal(wb_file_read(arena, wb_arena_printf(arena, "%s.expected.json", base),
                                      WB_MIB, &json, NULL, &err),
                         0);
        struct wb_diagnostic_list list = {0};
        const struct wb_check_paths paths = {.cwd = "/home/dev/demo"};
        assert_int_equal(wb_check_parse(arena, &table.rows[i], output, &paths, &list, &err), 0);
        compare_with(arena, table.rows[i].id, &list, wb_json_parse(arena, json, &err));
    }
}

static const char *parse(struct fixture *f, const struct wb_check_row *row, const char *output,
                         const struct wb_check_paths *paths)
{
    struct wb_diagnostic_list list = {0};
    struct wb_error err;
    if (wb_check_parse(&f->scratch.arena, row, wb_span(output), paths, &list, &err) < 0) {
        return wb_arena_printf(&f->scratch.arena, "ERROR %s", err.message);
    }
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    for (size_t i = 0; i < list.count; i++) {
        wb_diagnostic_line(&text, &list.items[i], list.items[i].path);
    }
    return wb_arena_strdup(&f->scratch.arena, wb_text_cstr(&text));
}

static void test_output(void **state)
{
    struct fixture *f = *state;
    struct wb_check_row row = {
        .id = "x",
        .pattern = "^(?P<path>[^:\\n]+):(?P<line>\\d+): (?:(?P<severity>\\w+): )?(?P<message>.*)$",
        .severity_map = wb_json_parse(&f->scratch.arena, WB_SPAN("{\"note\": \"hint\"}"), NULL),
        .default_severity = WB_SEVERITY_WARNING,
    };
    const struct wb_check_paths copied = {
        .cwd = "/cache/tree/sub", .copy = "/cache/tree", .workspace = "/ws"};
    assert_string_equal(parse(f, &row, "a.c:3: error: in /cache/tree/b.h\r\n", &copied),
                        "/ws/sub/a.c:3: error: in /ws/b.h [x]\n");
    assert_string_equal(parse(f, &row, "../a.c:3: note: m\n/usr/b.h:1: plain\n", &copied),
                        "/ws/a.c:3: hint: m [x]\n/usr/b.h:1: warning: plain [x]\n");
    assert_string_equal(parse(f, &row, "a\xff.c:3: error: \xfe!\n", &copied),
                        "/ws/sub/a\xff.c:3: error: \xef\xbf\xbd! [x]\n");
    assert_string_equal(parse(f, &row, "nothing\n", &copied), "");
    row.pattern = "(";
    contains(parse(f, &row, "", &copied), "ERROR The pattern of the project check x");
    row.pattern = "(?P<path>.*)";
    contains(parse(f, &row, "", &copied), "`message`");
}

static void test_where_make_is(void **state)
{
    struct fixture *f = *state;
    struct wb_arena *arena = &f->scratch.arena;
    const struct wb_check_row row = {.id = "make",
                                     .default_severity = WB_SEVERITY_ERROR,
                                     .pattern =
                                         "^(?P<path>\\w+\\.c):(?P<line>\\d+): (?P<message>.*)$"};
    const struct wb_check_paths paths = {.cwd = f->workspace};
    write_in(f, "lib/a.c", "");
    const char *output =
        wb_arena_printf(arena,
                        "make[1]: Entering directory '%s/lib'\na.c:1: x\nb.c:2: not there\n"
                        "make[1]: Leaving directory '%s/lib'\na.c:3: y\n",
                        f->workspace, f->workspace);
    assert_string_equal(parse(f, &row, output, &paths),
                        wb_arena_printf(arena,
                                        "%s/lib/a.c:1: error: x [make]\n"
                                        "%s/b.c:2: error: not there [make]\n"
                                        "%s/a.c:3: error: y [make]\n",
                                        f->workspace, f->workspace, f->workspace));
}

/* Runs. */

static void test_how_runs_end(void **state)
{
    struct fixture *f = *state;

    static const struct {
        const char *script, *more, *expected;
    } cases[] = {
        {"exit 0", "", "t clean\n"},
        {"echo a.dart:1: error: bad; exit 1", "", "t findings\na.dart:1: error: bad [t]\n"},
        {"echo a.dart:1: error: bad; exit 0", "", "t findings\na.dart:1: error: bad [t]\n"},
        {"echo a.dart:1: error: bad >&2; exit 1", "", "t findings\na.dart:1: error: bad [t]\n"},
        {"echo a.dart:1: error: bad >&2; exit 0", ", 'output': 'stdout'", "t clean\n"},
        {"echo broken; exit 1", "", "t unknown: t exited with status 1: broken\n"},
        {"echo out; echo err >&2; exit 7", ", 'output': 'stdout'",
         "t unknown: t exited with status 7: err\n"},
        {"exit 1", "", "t unknown: t exited with status 1: it printed nothing\n"},
        {"kill -9 $$", "", "t unknown: t was killed by signal 9 (SIGKILL): it printed nothing\n"},
        {"exit 7", ", 'ok_exit': [0, 7]", "t clean\n"},
        {"echo a.dart:1: error: bad; exit 7", ", 'findings_exit': [7]",
         "t findings\na.dart:1: error: bad [t]\n"},
        /* A compiler's warning does not explain its failure; a linter's does. */
        {"echo a.dart:1: warning: odd; exit 1", "",
         "t unknown: t exited with status 1: a.dart:1: warning: odd\na.dart:1: warning: odd [t]\n"},
        {"echo a.dart:1: warning: odd; exit 1", ", 'warnings_fail': true",
         "t findings\na.dart:1: warning: odd [t]\n"},
        {"echo a.dart:1: warning: odd; exit 0", "", "t findings\na.dart:1: warning: odd [t]\n"},
        {"test -d $1 -a -d $2 -a $PWD = $1 -a \"$A\" = x$2", ", 'env': {'A': 'x{cache}'}",
         "t clean\n"},
    };

    write_in(f, "a.dart", "");
    write_in(f, "mark", "");
    const char *before = snapshot(f);
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        open_with(f, script_row(f, "t", cases[i].script, cases[i].more), false);
        assert_string_equal(check(f), cases[i].expected);
    }
    assert_string_equal(snapshot(f), before);
}

static void test_timeout_and_next_command(void **state)
{
    struct fixture *f = *state;
    write_in(f, "a.dart", "");
    write_in(f, "mark", "");
    open_with(f, script_row(f, "t", "echo waiting; sleep 600", ", 'timeout_s': 1"), false);
    assert_string_equal(check(f), "t unknown: t did not end in time (its limit is 1 s): waiting\n");
    const char *row = script_row(f, "t", "[ $1 != old ] || exit 5; exit 0",
                                 wb_arena_printf(&f->scratch.arena,
                                                 ", 'commands': [['%s/bin/t', 'old'],"
                                                 " ['%s/bin/t', 'new']]",
                                                 f->scratch.folder, f->scratch.folder));
    open_with(f, row, false);
    assert_string_equal(check(f), "t clean\n");
}

static void test_coarse_times(void **state)
{
    struct fixture *f = *state;
    write_in(f, "mark", "");
    write_in(f, "a.dart", "");
    const char *row = script_row(f, "t", "[ $(stat -c %Y a.dart) -lt $(date +%s) ] || exit 9",
                                 ", 'coarse_times': true");
    open_with(f, row, false);
    assert_string_equal(check(f), "t clean\n");
}

static void test_cancelled(void **state)
{
    struct fixture *f = *state;
    struct wb_cancel cancel;
    write_in(f, "a.dart", "");
    write_in(f, "mark", "");
    open_with(f, script_row(f, "t", "sleep 600", ""), false);
    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);
    const struct wb_call_options options = {.cancel = &cancel, .origin = "operator"};
    WB_AUTO(wb_result_done) struct wb_result result;
    wb_run_call(f->run, "check", WB_SPAN("{}"), &options, &result);
    assert_true(result.is_error);
    assert_int_equal(result.code, WB_ERROR_CANCELLED);
    wb_cancel_done(&cancel);
}

/* What runs. */

static void test_trust(void **state)
{
    struct fixture *f = *state;
    write_in(f, "a.dart", "");
    write_in(f, "mark", "");
    const char *row = script_row(f, "t", "exit 0", ", 'trusted': true");
    open_with(f, row, false);
    const char *refused = check(f);
    contains(refused, "ERROR No project check can run here");
    contains(refused, "`werkbank trust`");
    open_with(f, row, true);
    assert_string_equal(check(f), "t clean\n");
}

/* A program that lies in the workspace is the project's own code, whoever names it. */
static void test_own_program_needs_trust(void **state)
{
    struct fixture *f = *state;
    write_in(f, "a.dart", "");
    write_in(f, "mark", "");
    write_in(f, "tools/own", "#!/bin/sh\ntouch ran\n");
    assert_int_equal(chmod(scratch_path(&f->scratch, "ws/tools/own"), 0755), 0);
    const char *row =
        script_row(f, "t", "", ", 'local': ['tools'], 'commands': [['own'], ['./tools/own']]");
    open_with(f, row, false);
    contains(check(f), "it runs tools/own, and this workspace is not trusted");
    assert_null(scratch_read(&f->scratch, "ws/ran"));
    open_with(f, row, true);
    assert_string_equal(check(f), "t clean\n");
    assert_non_null(scratch_read(&f->scratch, "ws/ran"));
}

static void test_nothing_to_run(void **state)
{
    struct fixture *f = *state;
    write_in(f, "notes.txt", "");
    write_in(f, "mark", ""); /* but no file of the language */
    const char *row = script_row(f, "t", "",
                                 ", 'commands': [['no-such-program']]"
                                 ", 'install': 'make install-it'");
    open_with(f, row, false);
    contains(check(f), "ERROR No project check fits this workspace");
    write_in(f, "a.dart", "");
    const char *text = check(f);
    contains(text, "no program no-such-program (looked in PATH)");
    contains(text, "make install-it");
}

static void test_nearest_marker_decides(void **state)
{
    struct fixture *f = *state;
    write_in(f, "mark", "");
    write_in(f, "a.dart", "");
    write_in(f, "sub/mark", "");
    write_in(f, "sub/b.dart", "");
    write_in(f, "web/one/mark.web", "");
    write_in(f, "web/one/c.zig", "");
    write_in(f, "web/one/deeper/mark.web", "");
    write_in(f, "a/b/c/mark.web", ""); /* too deep */
    write_in(f, "a/b/c/c.zig", "");
    const char *rows = wb_arena_printf(
        &f->scratch.arena, "%s, %s, %s", script_row(f, "second", "exit 0", ", 'priority': 2"),
        script_row(f, "first", "exit 0", ""),
        script_row(f, "other", "exit 0", ", 'languages': ['zig'], 'markers': ['mark.*']"));
    open_with(f, rows, false);
    assert_string_equal(get_status(f), "first at .: runs\n"
                                       "second at .: first runs instead\n"
                                       "other at web/one: runs\n");
    assert_string_equal(check(f), "first clean\nother in web/one clean\n");
}

static void test_what_is_missed_is_told(void **state)
{
    struct fixture *f = *state;
    write_in(f, "mark", "");
    write_in(f, "a.dart", "");
    write_in(f, "b.zig", "");
    const char *rows =
        wb_arena_printf(&f->scratch.arena, "%s, %s, %s",
                        script_row(f, "runs", "exit 0", ", 'priority': 2"),
                        script_row(f, "absent", "", ", 'commands': [['no-such-program']]"),
                        script_row(f, "zig", "", ", 'languages': ['zig'], 'trusted': true"));
    open_with(f, rows, false);
    const char *text = check(f);
    contains(text, "zig unknown: zig did not run: it runs code of the project's own");
    contains(text, "runs clean\n");
    assert_null(strstr(text, "absent"));
}

static void test_many_roots(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        write_in(f, wb_arena_printf(&f->scratch.arena, "p%d/mark", i), "");
        write_in(f, wb_arena_printf(&f->scratch.arena, "p%d/a.dart", i), "");
    }
    open_with(f, script_row(f, "t", "exit 0", ""), false);
    const char *text = check(f);
    contains(text, "t in p0 clean\n");
    contains(text, "t in p7 clean\n");
    contains(text, "more projects unknown: 2 more folders");
}

static void test_files(void **state)
{
    struct fixture *f = *state;
    write_in(f, ".gitignore", "left_out.dart\n");
    write_in(f, "mark", "");
    write_in(f, "-a.dart", "");
    write_in(f, "left_out.dart", "");
    write_in(f, "sub/b c.dart", "");
    write_in(f, "sub/d.txt", "");
    const char *row =
        script_row(f, "t", "for i; do echo \"$i:1: error: seen\"; done",
                   wb_arena_printf(&f->scratch.arena, ", 'commands': [['%s/bin/t', '{file_list}']]",
                                   f->scratch.folder));
    open_with(f, row, false);
    assert_string_equal(check(f), "t findings\n-a.dart:1: error: seen [t]\n"
                                  "sub/b c.dart:1: error: seen [t]\n");
}

static void test_rows_are_checked(void **state)
{
    struct fixture *f = *state;
    open_with(f, "{'id': 'mine', 'languages': ['dart'], 'markers': ['x']}", false);
    contains(check(f), "ERROR The project check mine has no usable `commands`");
}

/* Copies. */

/* Tells the warning of a file when it "compiles" it: when it is newer than what was made of it. */
static const char build_script[] =
    "for i in *.dart; do if [ ! -e $i.out -o $i -nt $i.out ]; then\n"
    "grep -q warn $i && echo $i:1: warning: $PWD; cp $i $i.out; fi; done\n"
    "echo changed >> in_place.txt; exit 0";

static void test_copy(void **state)
{
    struct fixture *f = *state;
    write_in(f, "mark", "");
    write_in(f, ".hidden", "");
    write_in(f, ".gitignore", "junk\n");
    write_in(f, "junk/file", "");
    write_in(f, "in_place.txt", "");
    write_in(f, "a.dart", "warn");
    write_in(f, "b.dart", "");
    scratch_link(&f->scratch, "a.dart", "ws/link.dart");
    const char *before = snapshot(f);
    const char *findings =
        wb_arena_printf(&f->scratch.arena,
                        "t findings\na.dart:1: warning: %s [t]\nlink.dart:1: warning: %s [t]\n",
                        f->workspace, f->workspace);
    open_with(f, script_row(f, "t", build_script, ", 'copy': true"), false);
    assert_string_equal(check(f), findings);
    assert_string_equal(check(f), findings); /* although nothing is newer */
    assert_string_equal(snapshot(f), before);
    unlink(scratch_path(&f->scratch, "ws/link.dart"));
    write_in(f, "a.dart", "mended");
    assert_string_equal(check(f), "t clean\n");
    unlink(scratch_path(&f->scratch, "ws/b.dart"));
    assert_string_equal(check(f), "t clean\n");
}

static void test_mirror(void **state)
{
    struct fixture *f = *state;
    struct scratch *s = &f->scratch;
    struct wb_error err;
    write_in(f, "run.sh", "#!/bin/sh\n");
    chmod(scratch_path(s, "ws/run.sh"), 0755);
    write_in(f, "sub/a", "1");
    write_in(f, ".git/config", "");
    write_in(f, ".gitignore", "*.tmp\n");
    write_in(f, "x.tmp", "");
    scratch_link(s, scratch_path(s, "ws/sub/a"), "ws/absolute");
    scratch_link(s, "../outside", "ws/out");
    scratch_write(s, "outside", "o");
    const char *folder = scratch_folder(s, "copy");
    assert_int_equal(wb_mirror_update(f->workspace, folder, false, NULL, &err), 0);
    struct stat st, original;
    assert_int_equal(stat(scratch_path(s, "copy/tree/run.sh"), &st), 0);
    assert_int_equal(stat(scratch_path(s, "ws/run.sh"), &original), 0);
    assert_int_equal(st.st_mode, original.st_mode);
    assert_int_equal(st.st_mtim.tv_nsec, original.st_mtim.tv_nsec);
    assert_int_not_equal(st.st_ino, original.st_ino);
    assert_null(scratch_read(s, "copy/tree/.git/config"));
    assert_null(scratch_read(s, "copy/tree/x.tmp"));
    assert_string_equal(scratch_read(s, "copy/tree/out"), "o");

    /* A build wrote through its link and over its files; a folder stands where a file was. */
    scratch_write(s, "copy/tree/absolute", "built");
    assert_string_equal(scratch_read(s, "ws/sub/a"), "1");
    unlink(scratch_path(s, "copy/tree/run.sh"));
    scratch_write(s, "copy/tree/run.sh/made", "");
    scratch_write(s, "copy/tree/sub/product", "p");
    write_in(f, "sub/b", "2");
    unlink(scratch_path(s, "ws/out"));
    assert_int_equal(wb_mirror_update(f->workspace, folder, true, NULL, &err), 0);
    assert_string_equal(scratch_read(s, "copy/tree/run.sh"), "#!/bin/sh\n");
    assert_string_equal(scratch_read(s, "copy/tree/sub/a"), "1");
    assert_string_equal(scratch_read(s, "copy/tree/sub/b"), "2");
    assert_non_null(scratch_read(s, "copy/tree/x.tmp"));
    assert_null(scratch_read(s, "copy/tree/out"));

    scratch_write(s, "copy/tree/sub/product", "p");
    unlink(scratch_path(s, "ws/sub/b"));
    const char *again[] = {"sub/a"};
    wb_mirror_compile_again(folder, again, 1);
    assert_int_equal(wb_mirror_update(f->workspace, folder, true, NULL, &err), 0);
    assert_string_equal(scratch_read(s, "copy/tree/sub/product"), "p");
    assert_null(scratch_read(s, "copy/tree/sub/b"));
    assert_int_equal(stat(scratch_path(s, "copy/tree/sub/a"), &st), 0);
    assert_int_equal(stat(scratch_path(s, "ws/sub/a"), &original), 0);
    assert_true(st.st_mtim.tv_sec > original.st_mtim.tv_sec ||
                st.st_mtim.tv_nsec > original.st_mtim.tv_nsec);
}

static void test_cache_in_workspace(void **state)
{
    struct fixture *f = *state;
    write_in(f, "a.dart", "");
    write_in(f, "mark", "");
    setenv("XDG_CACHE_HOME", scratch_path(&f->scratch, "ws/cache"), 1);
    open_with(f, script_row(f, "t", "exit 0", ""), false);
    contains(check(f), "set XDG_CACHE_HOME to a folder elsewhere");
}

/* compile_commands.json */

static void test_compile_commands(void **state)
{
    struct fixture *f = *state;
    write_in(f, "src/a.c", "#include \"h.h\"\nint f(void) { return absent; }\n");
    write_in(f, "src/b.c", "int g(void)\n{\n    int unused = 1 + TWO;\n    return 0;\n}\n");
    write_in(f, "inc dir/h.h", "");
    write_in(f, "evil/cc", "#!/bin/sh\ntouch ran\n");
    chmod(scratch_path(&f->scratch, "ws/evil/cc"), 0755);
    write_in(f, "compile_commands.json",
             wb_arena_printf(
                 &f->scratch.arena,
                 "[{\"directory\": \"%s\", \"file\": \"src/a.c\", \"command\": "
                 "\"cc -I'inc dir' -MD -MF dep.d -fplugin=x.so -o a.o -c src/a.c\"},\n"
                 "{\"directory\": \"%s/gone\", \"file\": \"../src/b.c\", \"arguments\": "
                 "[\"/nowhere/cc\", \"-D\", \"TWO=2\", \"-Wall\", \"-Wp,-MD,dep.d\", \"-wrapper\", "
                 "\"touch,ran\", \"-g\", \"--coverage\", \"-c\", \"../src/b.c\"]},\n"
                 "{\"directory\": \"/tmp\", \"file\": \"/etc/x.c\", \"command\": \"cc -c x.c\"}]",
                 f->workspace, f->workspace));
    const char *before = snapshot(f);
    open_with(f, "{'id': 'compile-commands', 'priority': 1}", false);
    const char *text = check(f);
    contains(text, "compile-commands findings\n");
    contains(text, "src/a.c:2: error: ");
    contains(text, "src/b.c:3: warning: ");
    assert_string_equal(snapshot(f), before);

    write_in(f, "compile_commands.json",
             "[{\"directory\": \".\", \"file\": \"src/b.c\", \"command\": \"evil/cc -DTWO=2 -c\"},"
             "{\"directory\": \".\", \"file\": \"src/a.c\", \"command\": \"touch ran\"}]");
    text = check(f);
    contains(text, "compile-commands unknown: compile-commands: 1 of 2 entries could not be "
                   "checked; src/a.c: touch is no compiler");
    assert_null(scratch_read(&f->scratch, "ws/ran"));

    write_in(f, "compile_commands.json", "[]");
    contains(check(f), "the database names no file of this workspace");
    write_in(f, "compile_commands.json", "{");
    contains(check(f), "compile_commands.json");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_samples),
        TEST(test_output),
        TEST(test_where_make_is),
        TEST(test_how_runs_end),
        TEST(test_timeout_and_next_command),
        TEST(test_coarse_times),
        TEST(test_cancelled),
        TEST(test_trust),
        TEST(test_own_program_needs_trust),
        TEST(test_nothing_to_run),
        TEST(test_nearest_marker_decides),
        TEST(test_what_is_missed_is_told),
        TEST(test_many_roots),
        TEST(test_files),
        TEST(test_rows_are_checked),
        TEST(test_copy),
        TEST(test_mirror),
        TEST(test_cache_in_workspace),
        TEST(test_compile_commands),
    };
    return cmocka_run_group_tests_name("project_check", tests, NULL, NULL);
}
