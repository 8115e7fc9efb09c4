/* Tests of the tools of src/files as calls of a run: text, data, what is on the disk afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>

#include "../run/fixture.h"

extern const struct wb_tool wb_tool_read, wb_tool_write, wb_tool_edit, wb_tool_apply_patch;
extern const struct wb_tool wb_tool_grep, wb_tool_glob, wb_tool_shell;

static const struct wb_tool *const tools[] = {
    &wb_tool_read, &wb_tool_write, &wb_tool_edit,  &wb_tool_apply_patch,
    &wb_tool_grep, &wb_tool_glob,  &wb_tool_shell, NULL,
};

static int set_up(void **state)
{
    static struct fixture f;
    fixture_init(&f, tools);
    wb_host_free(f.host);
    const struct wb_host_options options = {.tools = tools, .guard = getenv("WERKBANK_GUARD")};
    f.host = wb_host_new(&options);
    fixture_open(&f, (struct wb_run_options){.allow = WB_TIER_EXEC});
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_done(*state);
    return 0;
}

struct answer {
    const char *text;
    const struct wb_json *data;
    bool is_error;
};

static struct answer call(struct fixture *f, const char *tool, const char *arguments)
{
    const struct wb_call_options options = {.origin = "operator"};
    struct wb_arena *arena = &f->scratch.arena;
    WB_AUTO(wb_result_done) struct wb_result result;
    wb_run_call(f->run, tool, wb_span(arguments), &options, &result);
    struct answer answer = {wb_arena_strdup(arena, wb_text_cstr(&result.text)), NULL,
                            result.is_error};
    if (result.data.len != 0) {
        answer.data = wb_json_parse(arena, wb_text_span(&result.data), NULL);
        assert_non_null(answer.data);
    }
    return answer;
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
}

/* The call succeeds, and its text holds this. */
static const struct wb_json *expect(struct fixture *f, const char *tool, const char *arguments,
                                    const char *part)
{
    struct answer answer = call(f, tool, arguments);
    if (answer.is_error) {
        fail_msg("%s: %s", tool, answer.text);
    }
    assert_holds(answer.text, part);
    return answer.data;
}

static void expect_error(struct fixture *f, const char *tool, const char *arguments,
                         const char *part)
{
    struct answer answer = call(f, tool, arguments);
    if (!answer.is_error) {
        fail_msg("%s: %s", tool, answer.text);
    }
    assert_holds(answer.text, part);
}

static const char *put(struct fixture *f, const char *path, const char *content)
{
    return scratch_write(&f->scratch, wb_arena_printf(&f->scratch.arena, "ws/%s", path), content);
}

static void assert_file(struct fixture *f, const char *path, const char *content)
{
    const char *found =
        scratch_read(&f->scratch, wb_arena_printf(&f->scratch.arena, "ws/%s", path));
    if (content == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, content);
    }
}

static void test_read(void **state)
{
    struct fixture *f = *state;
    put(f, "a.txt", "one\ntwo\r\nthree\nfour");
    const struct wb_json *data =
        expect(f, "read", "{\"path\": \"a.txt\"}", "one\ntwo\nthree\nfour");
    assert_string_equal(wb_json_str(data), "one\ntwo\r\nthree\nfour");
    data = expect(f, "read", "{\"path\": \"a.txt\", \"offset\": 2, \"limit\": 2}",
                  "two\nthree\n[lines 2-3 of 4; go on with offset 4]");
    assert_string_equal(wb_json_str(data), "two\r\nthree\n");
    data = expect(f, "read", "{\"path\": \"a.txt\", \"offset\": 4}", "four\n[lines 4-4 of 4]");
    assert_string_equal(wb_json_str(data), "four");
    expect_error(f, "read", "{\"path\": \"a.txt\", \"offset\": 5}", "has 4 lines");
    expect_error(f, "read", "{\"path\": \"none\"}", "There is no file none");
    expect_error(f, "read", "{\"path\": \".\"}", "is a folder");
    put(f, "empty", "");
    assert_string_equal(wb_json_str(expect(f, "read", "{\"path\": \"empty\"}", "empty is empty")),
                        "");
    scratch_write_span(&f->scratch, "ws/binary", WB_SPAN("a\0b"));
    expect_error(f, "read", "{\"path\": \"binary\"}", "binary file (3 bytes)");
    put(f, "latin", "caf\xE9\n");
    expect(f, "read", "{\"path\": \"latin\"}", "caf\xEF\xBF\xBD\n");
}

static void test_read_bounds(void **state)
{
    struct fixture *f = *state;
    struct wb_text big;
    wb_text_init(&big);
    for (int i = 1; i <= 5000; i++) {
        wb_text_printf(&big, "line %d\n", i);
    }
    put(f, "big", wb_text_cstr(&big));
    const struct wb_json *data =
        expect(f, "read", "{\"path\": \"big\"}",
               "line 2000\n[lines 1-2000 of 5000; go on with offset 2001]");
    assert_string_equal(wb_json_str(data), wb_text_cstr(&big));
    wb_text_clear(&big);
    for (int i = 0; i < 40000; i++) {
        wb_text_add_str(&big, "0123456789");
    }
    put(f, "long", wb_text_cstr(&big));
    expect(f, "read", "{\"path\": \"long\"}", "... [398000 bytes of this line cut]");
    wb_text_done(&big);
}

static void test_write(void **state)
{
    struct fixture *f = *state;
    const struct wb_json *data =
        expect(f, "write", "{\"path\": \"new/deep/a.txt\", \"content\": \"one\\ntwo\\n\"}",
               "Created new/deep/a.txt (2 lines, 8 bytes)");
    assert_string_equal(wb_json_str(wb_json_get(data, "path")), "new/deep/a.txt");
    assert_true(wb_json_bool(wb_json_get(data, "created"), false));
    assert_file(f, "new/deep/a.txt", "one\ntwo\n");
    data = expect(f, "write", "{\"path\": \"new/deep/a.txt\", \"content\": \"x\"}",
                  "Wrote new/deep/a.txt (1 line, 1 bytes)");
    assert_false(wb_json_bool(wb_json_get(data, "created"), true));
    assert_file(f, "new/deep/a.txt", "x");
    expect(f, "write", "{\"path\": \"new/deep/a.txt\", \"content\": \"x\"}", "already");
    expect_error(f, "write", "{\"path\": \"new\", \"content\": \"x\"}", "is a folder");
    expect_error(f, "write", "{\"path\": \"new/deep/a.txt/b\", \"content\": \"x\"}", "a.txt");
    expect_error(f, "write", "{\"path\": \"../outside\", \"content\": \"x\"}",
                 "outside the workspace");
    symlink("/etc", scratch_path(&f->scratch, "ws/etc"));
    expect_error(f, "write", "{\"path\": \"etc/passwd\", \"content\": \"x\"}",
                 "outside the workspace");
}

static void test_edit(void **state)
{
    struct fixture *f = *state;
    put(f, "a.c", "int a;\r\nint b;\r\nint a;\r\n");
    const struct wb_json *data =
        expect(f, "edit",
               "{\"path\": \"a.c\", \"old_text\": \"b;\\n\", \"new_text\": \"c;\\nx\\n\"}",
               "Edited a.c at line 2");
    assert_int_equal(wb_json_int_or(wb_json_get(data, "replacements"), 0), 1);
    assert_file(f, "a.c", "int a;\r\nint c;\r\nx\r\nint a;\r\n");
    expect_error(f, "edit", "{\"path\": \"a.c\", \"old_text\": \"int a\", \"new_text\": \"\"}",
                 "occurs 2 times in a.c (lines 1, 4)");
    expect(f, "edit",
           "{\"path\": \"a.c\", \"old_text\": \"int a\", \"new_text\": \"long a\", "
           "\"replace_all\": true}",
           "Replaced 2 occurrences in a.c, lines 1, 4.");
    assert_file(f, "a.c", "long a;\r\nint c;\r\nx\r\nlong a;\r\n");
    expect_error(f, "edit", "{\"path\": \"a.c\", \"old_text\": \"x\", \"new_text\": \"x\"}",
                 "same");
    expect_error(f, "edit", "{\"path\": \"a.c\", \"old_text\": \"\", \"new_text\": \"x\"}",
                 "old_text");
    expect_error(f, "edit", "{\"path\": \"b.c\", \"old_text\": \"a\", \"new_text\": \"x\"}",
                 "There is no file b.c");
}

static void test_apply_patch(void **state)
{
    struct fixture *f = *state;
    put(f, "a.c", "one\ntwo\n");
    put(f, "gone.c", "x\n");
    put(f, "from.c", "1\n2\n");
    const struct wb_json *data =
        expect(f, "apply_patch",
               "{\"patch\": \"*** Begin Patch\\n*** Update File: a.c\\n@@\\n-two\\n+TWO\\n"
               "*** Add File: sub/new.c\\n+hello\\n*** Delete File: gone.c\\n"
               "*** Update File: from.c\\n*** Move to: to.c\\n@@\\n-2\\n+3\\n"
               "*** Update File: to.c\\n@@\\n-1\\n+0\\n*** End Patch\\n\"}",
               "changed a.c\nadded sub/new.c\ndeleted gone.c\nrenamed to.c (was from.c)\n"
               "changed to.c\n");
    assert_int_equal(wb_json_count(wb_json_get(data, "files")), 5);
    assert_file(f, "a.c", "one\nTWO\n");
    assert_file(f, "sub/new.c", "hello\n");
    assert_file(f, "gone.c", NULL);
    assert_file(f, "from.c", NULL);
    assert_file(f, "to.c", "0\n3\n");
    expect(f, "apply_patch",
           "{\"patch\": \"--- a/a.c\\n+++ b/a.c\\n@@ -1,2 +1,2 @@\\n one\\n-TWO\\n+2\\n"
           "--- a/to.c\\n+++ /dev/null\\n@@ -1,2 +0,0 @@\\n-0\\n-3\\n\"}",
           "changed a.c\ndeleted to.c\n");
    assert_file(f, "a.c", "one\n2\n");
    assert_file(f, "to.c", NULL);
}

/* One bad section, and no file is touched. */
static void test_apply_patch_refuses_whole(void **state)
{
    struct fixture *f = *state;
    put(f, "a.c", "one\ntwo\n");
    put(f, "b.c", "b\n");
    symlink("a.c", scratch_path(&f->scratch, "ws/link"));
    static const char *const rows[][2] = {
        {"*** Update File: b.c\\n@@\\n-z\\n+y\\n", "Hunk 1 of b.c (line 7 of the patch)"},
        {"*** Update File: none.c\\n@@\\n-z\\n+y\\n", "There is no file none.c"},
        {"*** Add File: b.c\\n+y\\n", "b.c exists already"},
        {"*** Delete File: none.c\\n", "There is no file none.c"},
        {"*** Update File: b.c\\n*** Move to: a.c\\n", "a.c exists already"},
        {"*** Delete File: link\\n", "symbolic link"},
        {"*** Add File: ../x\\n+y\\n", "outside the workspace"},
        {"*** Update File: b.c\\n*** Move to: ../x\\n", "outside the workspace"},
    };
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        expect_error(f, "apply_patch",
                     wb_arena_printf(&f->scratch.arena,
                                     "{\"patch\": \"*** Begin Patch\\n*** Update File: a.c\\n@@\\n"
                                     "-one\\n+ONE\\n%s*** End Patch\\n\"}",
                                     rows[i][0]),
                     rows[i][1]);
        assert_file(f, "a.c", "one\ntwo\n");
        assert_file(f, "b.c", "b\n");
    }
}

static void test_grep(void **state)
{
    struct fixture *f = *state;
    put(f, "a.c", "foo\nbar\nfoo(1)\n");
    put(f, "sub/b.h", "\tfoo\n");
    put(f, "ignored.c", "foo\n");
    put(f, ".gitignore", "ignored.c\n");
    put(f, ".hidden", "foo\n");
    put(f, "binary", "x");
    scratch_write_span(&f->scratch, "ws/binary", WB_SPAN("foo\0"));
    symlink("/etc/passwd", scratch_path(&f->scratch, "ws/passwd"));
    const struct wb_json *data =
        expect(f, "grep", "{\"pattern\": \"foo\"}",
               "a.c:1: foo\na.c:3: foo(1)\nsub/b.h:1: \tfoo\n"
               "[3 matching lines in 2 of 2 files; skipped: 1 binary, 1 symlinks out of the "
               "workspace]\n");
    assert_int_equal(wb_json_int_or(wb_json_get(data, "total"), 0), 3);
    const struct wb_json *third = wb_json_at(wb_json_get(data, "locations"), 2);
    assert_string_equal(wb_json_str(wb_json_get(third, "path")), "sub/b.h");
    assert_int_equal(wb_json_int_or(wb_json_get(third, "line"), 0), 1);
    assert_string_equal(wb_json_str(wb_json_get(third, "text")), "\tfoo");
    expect(f, "grep", "{\"pattern\": \"foo\", \"glob\": \"*.h\"}", "[1 matching line in 1 of 1");
    expect(f, "grep", "{\"pattern\": \"foo\", \"glob\": \"!*.h\"}", "[2 matching lines in 1 of");
    expect(f, "grep", "{\"pattern\": \"foo\", \"path\": \"sub\"}", "sub/b.h:1: \tfoo");
    expect(f, "grep", "{\"pattern\": \"foo\", \"path\": \"sub\", \"glob\": \"sub/*.h\"}", "b.h:1");
    expect(f, "grep", "{\"pattern\": \"foo\", \"path\": \"ignored.c\"}", "ignored.c:1: foo");
    expect(f, "grep", "{\"pattern\": \"foo\", \"glob\": \".h*\"}", ".hidden:1: foo");
    data = expect(f, "grep", "{\"pattern\": \"nowhere\"}", "[no matching line in 2 files");
    assert_int_equal(wb_json_int_or(wb_json_get(data, "total"), -1), 0);
    expect_error(f, "grep", "{\"pattern\": \"a(b\"}", "missing closing parenthesis, at offset 3");
    expect_error(f, "grep", "{\"pattern\": \"a\", \"path\": \"none\"}", "no file or folder none");
}

static void test_grep_bounds(void **state)
{
    struct fixture *f = *state;
    struct wb_text big;
    wb_text_init(&big);
    for (int i = 0; i < 201; i++) {
        wb_text_add_str(&big, "hit\n");
    }
    put(f, "hits", wb_text_cstr(&big));
    const struct wb_json *data = expect(f, "grep", "{\"pattern\": \"hit\"}",
                                        "hits:200: hit\n[200 of 201 matching lines shown");
    assert_int_equal(wb_json_count(wb_json_get(data, "locations")), 201);
    wb_text_clear(&big);
    for (int i = 0; i < 1000; i++) {
        wb_text_add_str(&big, "aaaaaaaaaa");
    }
    put(f, "hits", wb_text_cstr(&big));
    expect(f, "grep", "{\"pattern\": \"a\"}", "... [9600 bytes of this line cut]");
    expect_error(f, "grep", "{\"pattern\": \"(a+)+[bc]\"}", "takes too many steps on hits");
    wb_text_done(&big);
}

static void test_glob(void **state)
{
    struct fixture *f = *state;
    put(f, "b.c", "");
    put(f, "a/x.c", "");
    put(f, "a/y.h", "");
    put(f, ".github/z.yml", "");
    const struct wb_json *data =
        expect(f, "glob", "{\"pattern\": \"*.c\"}", "a/x.c\nb.c\n[2 files]");
    assert_int_equal(wb_json_int_or(wb_json_get(data, "total"), 0), 2);
    assert_string_equal(wb_json_str(wb_json_at(wb_json_get(data, "paths"), 0)), "a/x.c");
    expect(f, "glob", "{\"pattern\": \"a/**/*.{c,h}\"}", "a/x.c\na/y.h\n[2 files]");
    expect(f, "glob", "{\"pattern\": \"*\", \"path\": \"a\"}", "a/x.c\na/y.h\n[2 files]");
    expect(f, "glob", "{\"pattern\": \".github/**\"}", ".github/z.yml\n[1 file]");
    expect(f, "glob",
           wb_arena_printf(&f->scratch.arena, "{\"pattern\": \"%s/a/*.h\"}", f->workspace),
           "a/y.h\n[1 file]");
    expect(f, "glob", "{\"pattern\": \"*.none\"}", "No file fits *.none among 3 files");
    expect_error(f, "glob", "{\"pattern\": \"*\", \"path\": \"none\"}", "no file or folder none");
}

static void test_shell(void **state)
{
    struct fixture *f = *state;
    put(f, "a.txt", "content");
    const struct wb_json *data =
        expect(f, "shell", "{\"command\": \"cat a.txt; echo; echo problem >&2; pwd\"}",
               wb_arena_printf(&f->scratch.arena, "content\nproblem\n%s\n[exit status 0]\n",
                               f->workspace));
    assert_int_equal(wb_json_int_or(wb_json_get(data, "exit_code"), -1), 0);
    assert_false(wb_json_bool(wb_json_get(data, "timed_out"), true));
    expect_error(f, "shell", "{\"command\": \"echo no; exit 3\"}", "no\n[exit status 3]\n");
    expect_error(f, "shell", "{\"command\": \"kill -9 $$\"}",
                 "[the command was killed by signal 9");
    expect_error(f, "shell", "{\"command\": \"echo begun; sleep 60\", \"timeout_seconds\": 1}",
                 "begun\n[stopped after 1 seconds");
    expect(f, "shell", "{\"command\": \"cat\"}", "[exit status 0]"); /* standard input is empty */
    expect_error(f, "shell", "{\"command\": \"x\\u0000y\"}", "NUL");
    data = expect(f, "shell", "{\"command\": \"seq 100000\"}", "bytes of output left out");
    assert_true(wb_str_ends(wb_json_str(wb_json_get(data, "output")), "99999\n100000\n"));
    struct answer long_one = call(f, "shell", "{\"command\": \"seq 100000\"}");
    assert_true(wb_str_starts(long_one.text, "1\n2\n3\n"));
    assert_true(wb_str_ends(long_one.text, "\n99999\n100000\n[exit status 0]\n"));
    assert_true(strlen(long_one.text) < 40000);
}

/* What a command leaves behind is gone when the call returns. */
static void test_shell_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    expect(f, "shell",
           "{\"command\": \"(setsid sleep 1000 & echo $! > pid) > /dev/null 2>&1; echo done\"}",
           "done\n[exit status 0]");
    int64_t pid;
    assert_true(wb_span_int64(wb_span_trim(wb_span(scratch_read(&f->scratch, "ws/pid"))), &pid));
    assert_int_equal(kill((pid_t)pid, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_edit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_apply_patch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_apply_patch_refuses_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grep_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_glob, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shell_leaves_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}
