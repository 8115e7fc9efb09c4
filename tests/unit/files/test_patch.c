/* Tests of files/patch.h: both forms, where hunks land, what stays as it is, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "files/patch.h"

static struct wb_arena arena;

static int set_up(void **state)
{
    (void)state;
    wb_arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wb_arena_done(&arena);
    return 0;
}

struct row {
    const char *what;
    const char *content;
    const char *hunks;  /* behind "*** Update File: f\n" or "--- a/f\n+++ b/f\n" */
    const char *result; /* NULL: refused */
    const char *error;  /* part of the sentence */
};

static void check_rows(const struct row *rows, size_t n, const char *head, const char *tail)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        struct wb_error err = {0};
        struct wb_patch patch;
        struct wb_span result = {0};
        const char *text = wb_arena_printf(&arena, "%s%s%s", head, row->hunks, tail);
        int status = wb_patch_parse(&arena, wb_span(text), &patch, &err);
        if (status == 0) {
            assert_int_equal(patch.n_files, 1);
            assert_string_equal(patch.files[0].path, "f");
            status =
                wb_patch_apply(&arena, &patch.files[0], "f", wb_span(row->content), &result, &err);
        }
        if (row->result == NULL) {
            if (status == 0 || strstr(err.message, row->error) == NULL) {
                fail_msg("%s: %s", row->what, status == 0 ? result.ptr : err.message);
            }
        } else if (status != 0) {
            fail_msg("%s: %s", row->what, err.message);
        } else if (!wb_span_is(result, row->result)) {
            fail_msg("%s: \"%.*s\"", row->what, (int)result.len, result.ptr);
        }
    }
}

static void test_envelope_hunks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"change", "a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n", NULL},
        {"no @@ at first", "a\nb\n", "-b\n+B\n", "a\nB\n", NULL},
        {"two hunks", "a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D\n", "A\nb\nc\nD\n", NULL},
        {"anchor", "x\n1\ny\n1\n", "@@ y\n-1\n+2\n", "x\n1\ny\n2\n", NULL},
        {"anchor by trimmed text", "x\n1\n  y {\n1\n", "@@ y {\n-1\n+2\n", "x\n1\n  y {\n2\n",
         NULL},
        {"two anchors", "c1\nm\n1\nc2\nm\n1\n", "@@ c2\n@@ m\n-1\n+2\n", "c1\nm\n1\nc2\nm\n2\n",
         NULL},
        {"anchor again as context", "x\n1\ny\n1\n", "@@ y\n y\n-1\n+2\n", "x\n1\ny\n2\n", NULL},
        {"insert behind anchor", "x\ny\n", "@@ x\n+new\n", "x\nnew\ny\n", NULL},
        {"append", "x\ny\n", "@@\n+new\n", "x\ny\nnew\n", NULL},
        {"end of file", "1\nx\n1\n", "@@\n-1\n+2\n*** End of File\n", "1\nx\n2\n", NULL},
        {"not at the end", "1\nx\n", "@@\n-1\n+2\n*** End of File\n", NULL, "does not apply"},
        {"delete all", "a\n", "@@\n-a\n", "", NULL},
        {"lost blank", "a\n\nb\n", "@@\n a\n\n-b\n+B\n", "a\n\nB\n", NULL},
        {"blank lines behind", "a\nb\n", "@@\n-a\n+A\n\n", "A\nb\n", NULL},
        {"crlf", "a\r\nb\r\n", "@@\n a\n-b\n+B\n+C\n", "a\r\nB\r\nC\r\n", NULL},
        {"mixed, by the place", "a\r\nb\nc\n", "@@\n b\n+new\n", "a\r\nb\nnew\nc\n", NULL},
        {"bom",
         "\xEF\xBB\xBF"
         "a\nb\n",
         "@@\n-a\n+A\n",
         "\xEF\xBB\xBF"
         "A\nb\n",
         NULL},
        {"no last line end, changed", "a\nb", "@@\n-b\n+B\n", "a\nB", NULL},
        {"no last line end, appended", "a\nb", "@@\n b\n+c\n", "a\nb\nc", NULL},
        {"no last line end, elsewhere", "a\nb", "@@\n-a\n+A\n", "A\nb", NULL},
        {"no last line end, removed", "a\nb", "@@\n a\n-b\n", "a\n", NULL},
        {"ambiguous", "1\nx\n1\n", "@@\n-1\n+2\n", NULL, "line 1 and again at line 3"},
        {"missing", "a\nb\n", "@@\n-z\n+y\n", NULL, "its first line \"z\" is not in the file"},
        {"near", "a\nb\nc\n", "@@\n a\n-X\n+y\n", NULL, "line 2 is \"b\" where \"X\" should be"},
        {"near the end", "a\nb\n", "@@\n b\n-X\n+y\n", NULL, "the file ends where \"X\""},
        {"white space counts", "\ta\n", "@@\n- a\n+b\n", NULL, "Hunk 1 of f (line 3 of the patch)"},
        {"wrong order", "a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n", NULL, "Hunk 2 of f"},
        {"no such anchor", "a\n", "@@ nowhere\n-a\n+b\n", NULL, "there is no line \"nowhere\""},
        {"bad line", "a\n", "@@\n-a\n*bad\n", NULL, "line"},
        {"nothing", "a\n", "", NULL, "has no hunks"},
        {"only anchor", "a\n", "@@ a\n", NULL, "begin with a blank"},
    };
    check_rows(rows, WB_COUNT(rows), "*** Begin Patch\n*** Update File: f\n", "*** End Patch\n");
}

static void test_unified_hunks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"change", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n", NULL},
        {"counts left out", "a\n", "@@ -1 +1 @@ section\n-a\n+b\n", "b\n", NULL},
        {"where it says", "1\nx\n1\nx\n", "@@ -3,2 +3,2 @@\n-1\n+2\n x\n", "1\nx\n2\nx\n", NULL},
        {"shifted", "new\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "new\na\nB\n", NULL},
        {"both shifted", "n\n1\nx\n1\nx\n1\n",
         "@@ -2,2 +2,2 @@\n x\n-1\n+A\n@@ -4,2 +4,2 @@\n x\n-1\n+B\n", NULL,
         "and not where it says"},
        {"shifted as the one before", "n\nu\n1\nx\n1\nx\n1\n",
         "@@ -1,2 +1,2 @@\n u\n-1\n+A\n@@ -5,2 +5,2 @@\n x\n-1\n+B\n", "n\nu\nA\nx\n1\nx\nB\n",
         NULL},
        {"shifted, ambiguous", "n\n1\nx\n1\n", "@@ -1,1 +1,1 @@\n-1\n+2\n", NULL,
         "again at line 4, and not where it says"},
        {"wrong counts", "a\nb\nc\n", "@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n", NULL},
        {"counts too small", "a\nb\nc\n", "@@ -1,1 +1,1 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n", NULL},
        {"insert", "a\nb\n", "@@ -1,0 +2,1 @@\n+new\n", "a\nnew\nb\n", NULL},
        {"insert at the top", "a\n", "@@ -0,0 +1,1 @@\n+new\n", "new\na\n", NULL},
        {"insert behind the end", "a\n", "@@ -9,0 +9,1 @@\n+new\n", NULL, "the file has 1 lines"},
        {"removal of dashes", "-- x\nb\n", "@@ -1,2 +1,1 @@\n--- x\n b\n", "b\n", NULL},
        {"dashes, then pluses", "-- x\nb\n", "@@ -1,2 +1,2 @@\n--- x\n+++ y\n b\n", "++ y\nb\n",
         NULL},
        {"signature behind", "a\n", "@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n", "b\n", NULL},
        {"lost blank", "a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nB\n", NULL},
        {"blank lines behind", "a\nb\n", "@@ -1,9 +1,9 @@\n-a\n+A\n b\n\n\n", "A\nb\n", NULL},
        {"end lost", "a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n", NULL},
        {"end gained", "a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b", NULL},
        {"end kept", "a",
         "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "b",
         NULL},
        {"end not spoken of", "a", "@@ -1 +1 @@\n-a\n+b\n", "b", NULL},
        {"crlf, patch with LF", "a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nB\r\n", NULL},
        {"crlf, as git writes it", "a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n",
         "a\r\nB\r\n", NULL},
        {"missing", "a\n", "@@ -1 +1 @@\n-z\n+b\n", NULL, "\"z\" is not in the file"},
        {"no fuzz", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n z\n", NULL,
         "line 3 is \"c\" where \"z\" should be"},
        {"lost first character", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n-a\n+A\nb\n c\n", NULL,
         "not with \"b\""},
        {"bad header", "a\n", "@@ -x +1 @@\n-a\n", NULL, "a hunk begins with"},
        {"no lines", "a\n", "@@ -1 +1 @@\n", NULL, "the hunk is empty"},
        {"nothing", "a\n", "", NULL, "has no hunks"},
    };
    check_rows(rows, WB_COUNT(rows), "--- a/f\n+++ b/f\n", "");
}

struct expected_file {
    enum wb_patch_action action;
    const char *path, *new_path;
    int mode;
};

static void check_files(const char *text, const struct expected_file *expected, size_t n)
{
    struct wb_patch patch;
    struct wb_error err = {0};
    if (wb_patch_parse(&arena, wb_span(text), &patch, &err) != 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(patch.n_files, n);
    for (size_t i = 0; i < n; i++) {
        const struct wb_patch_file *file = &patch.files[i];
        assert_int_equal(file->action, expected[i].action);
        assert_string_equal(file->path, expected[i].path);
        assert_int_equal(file->new_path != NULL, expected[i].new_path != NULL);
        if (file->new_path != NULL) {
            assert_string_equal(file->new_path, expected[i].new_path);
        }
        assert_int_equal(file->mode, expected[i].mode);
    }
}

static void test_envelope_files(void **state)
{
    (void)state;
    static const struct expected_file expected[] = {
        {WB_PATCH_ADD, "new file.txt", NULL, 0},
        {WB_PATCH_UPDATE, "a.c", "b.c", 0},
        {WB_PATCH_UPDATE, "only moved", "moved", 0},
        {WB_PATCH_DELETE, "gone", NULL, 0},
        {WB_PATCH_ADD, "empty", NULL, 0},
    };
    check_files("\n*** Begin Patch\n"
                "*** Add File: new file.txt\n+a\n+\n"
                "*** Update File: a.c\n*** Move to: b.c\n@@\n-a\n+b\n\n"
                "*** Update File: only moved\n*** Move to: moved\n"
                "*** Delete File: gone\n"
                "*** Add File: empty\n"
                "*** End Patch\n",
                expected, WB_COUNT(expected));
    check_files("*** Begin Patch\r\n*** Add File: f\r\n+x\r\n*** End Patch\r\n",
                (const struct expected_file[]){{WB_PATCH_ADD, "f", NULL, 0}}, 1);
}

static void test_unified_files(void **state)
{
    (void)state;
    static const struct expected_file expected[] = {
        {WB_PATCH_ADD, "new", NULL, 0777},    {WB_PATCH_ADD, "empty", NULL, 0666},
        {WB_PATCH_DELETE, "gone", NULL, 0},   {WB_PATCH_UPDATE, "from", "to", 0},
        {WB_PATCH_UPDATE, "from2", "to2", 0}, {WB_PATCH_COPY, "source", "copy", 0},
        {WB_PATCH_UPDATE, "mode", NULL, 0},   {WB_PATCH_UPDATE, "sp\303\251 \"x", NULL, 0},
    };
    check_files("A message before the diff.\n\n"
                "diff --git a/new b/new\nnew file mode 100755\nindex 000..123\n"
                "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
                "diff --git a/empty b/empty\nnew file mode 100644\nindex 000..e69\n"
                "diff --git a/gone b/gone\ndeleted file mode 100644\n"
                "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
                "diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n"
                "diff --git a/from2 b/to2\nsimilarity index 80%\nrename from from2\nrename to to2\n"
                "--- a/from2\n+++ b/to2\n@@ -1 +1 @@\n-x\n+y\n"
                "diff --git a/source b/copy\ncopy from source\ncopy to copy\n"
                "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"
                "diff --git \"a/sp\\303\\251 \\\"x\" \"b/sp\\303\\251 \\\"x\"\n"
                "--- \"a/sp\\303\\251 \\\"x\"\n+++ \"b/sp\\303\\251 \\\"x\"\n"
                "@@ -1 +1 @@\n-x\n+y\n",
                expected, WB_COUNT(expected));
    static const struct expected_file plain[] = {
        {WB_PATCH_UPDATE, "a/x", NULL, 0},
        {WB_PATCH_UPDATE, "y", NULL, 0},
        {WB_PATCH_ADD, "z", NULL, 0},
    };
    check_files("--- a/x\t2026-01-01 00:00:00\n+++ a/x\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n\n"
                "--- y\n+++ y\n@@ -1 +1 @@\n-x\n+y\n"
                "--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+z\n",
                plain, WB_COUNT(plain));
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "names no file"},
        {"hello\nworld\n", "names no file"},
        {"*** Begin Patch\n*** End Patch\n", "names no file"},
        {"*** Begin Patch\n*** Add File: a\n+x\n", "*** End Patch"},
        {"*** Begin Patch\nnonsense\n*** End Patch\n", "Line 2 of the patch"},
        {"*** Begin Patch\n*** Add File: a\nx\n*** End Patch\n", "Line 3 of the patch"},
        {"*** Begin Patch\n*** Add File:\n+x\n*** End Patch\n", "Line 2 of the patch names no"},
        {"@@ -1 +1 @@\n-a\n+b\n", "no \"--- PATH\""},
        {"--- a/x\nnonsense\n", "must follow"},
        {"diff --git a/x b/x\nGIT binary patch\nliteral 5\n", "binary files"},
        {"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n",
         "Line 2 of the patch: only regular files"},
        {"diff --git a/x b/x\nnew file mode 160000\n", "only regular files"},
        {"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary files"},
        {"diff --git a/x b/x\nindex 1..2\n", "has no hunks"},
    };
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_patch patch;
        struct wb_error err = {0};
        int status = wb_patch_parse(&arena, wb_span(rows[i][0]), &patch, &err);
        if (status == 0 || strstr(err.message, rows[i][1]) == NULL) {
            fail_msg("%s: %s", rows[i][0], err.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_envelope_hunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unified_hunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_envelope_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unified_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
