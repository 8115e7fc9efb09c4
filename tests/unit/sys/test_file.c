/* Tests of sys/file.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../scratch.h"

static void test_kind(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, "file", "x");
    scratch_link(s, "file", "link");
    scratch_link(s, ".", "folder_link");
    mkfifo(scratch_path(s, "fifo"), 0600);
    assert_int_equal(wb_file_kind(scratch_path(s, "file"), NULL), WB_FILE_REGULAR);
    assert_int_equal(wb_file_kind(scratch_path(s, "link"), NULL), WB_FILE_REGULAR);
    assert_int_equal(wb_file_kind(scratch_path(s, "folder_link"), NULL), WB_FILE_FOLDER);
    assert_int_equal(wb_file_kind(scratch_path(s, "fifo"), NULL), WB_FILE_OTHER);
    assert_int_equal(wb_file_kind(scratch_path(s, "none"), NULL), WB_FILE_MISSING);
}

static void test_read(void **state)
{
    struct scratch *s = *state;
    const char *path = scratch_write_span(s, "file", WB_SPAN("a\0b"));
    struct wb_span content;
    struct wb_file_stamp stamp, now;
    struct wb_error err = {0};
    assert_int_equal(wb_file_read(&s->arena, path, 3, &content, &stamp, &err), 0);
    assert_true(wb_span_equal(content, WB_SPAN("a\0b")));
    assert_int_equal(content.ptr[content.len], '\0');
    wb_file_kind(path, &now);
    assert_true(wb_file_stamp_equal(&stamp, &now));
    scratch_write(s, "file", "longer than before");
    wb_file_kind(path, &now);
    assert_false(wb_file_stamp_equal(&stamp, &now));

    assert_int_equal(wb_file_read(&s->arena, path, 3, &content, NULL, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    assert_non_null(strstr(err.message, "18 bytes"));
    path = scratch_write(s, "empty", "");
    assert_int_equal(wb_file_read(&s->arena, path, 0, &content, NULL, &err), 0);
    assert_int_equal(content.len, 0);
}

static void test_read_refuses(void **state)
{
    struct scratch *s = *state;
    struct wb_span content;
    struct wb_error err = {0};
    mkfifo(scratch_path(s, "fifo"), 0600);
    assert_int_equal(wb_file_read(&s->arena, scratch_path(s, "fifo"), 9, &content, NULL, &err), -1);
    assert_non_null(strstr(err.message, "pipe"));
    assert_int_equal(wb_file_read(&s->arena, s->folder, 9, &content, NULL, &err), -1);
    assert_non_null(strstr(err.message, "is a folder"));
    assert_int_equal(wb_file_read(&s->arena, scratch_path(s, "none"), 9, &content, NULL, &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
}

/* A file whose size fstat does not tell: read to its end all the same, and bounded. */
static void test_read_unknown_size(void **state)
{
    struct scratch *s = *state;
    struct wb_span content;
    struct wb_error err = {0};
    assert_int_equal(wb_file_read(&s->arena, "/proc/self/maps", 1 << 20, &content, NULL, &err), 0);
    assert_true(content.len > 100);
    assert_int_equal(strlen(content.ptr), content.len);
    assert_int_equal(wb_file_read(&s->arena, "/proc/self/maps", 100, &content, NULL, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
}

static void test_text_facts(void **state)
{
    (void)state;

    static const struct {
        struct wb_span content;
        bool binary;
        enum wb_line_end line_end;
        size_t bom;
    } rows[] = {
        {{"", 0}, false, WB_LINE_LF, 0},
        {{"a\nb\n", 4}, false, WB_LINE_LF, 0},
        {{"a\r\nb\r\n", 6}, false, WB_LINE_CRLF, 0},
        {{"a\r\nb\n", 5}, false, WB_LINE_MIXED, 0},
        {{"\n\r\n", 3}, false, WB_LINE_MIXED, 0},
        {{"a\rb", 3}, false, WB_LINE_LF, 0},
        {{"no line end", 11}, false, WB_LINE_LF, 0},
        {{"\xEF\xBB\xBFx", 4}, false, WB_LINE_LF, 3},
        {{"\xEF\xBB", 2}, false, WB_LINE_LF, 0},
        {{"a\0\r\n", 4}, true, WB_LINE_CRLF, 0},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        assert_int_equal(wb_file_is_binary(rows[i].content), rows[i].binary);
        assert_int_equal(wb_file_line_end(rows[i].content), rows[i].line_end);
        assert_int_equal(wb_file_bom(rows[i].content), rows[i].bom);
    }
}

static void test_write_private(void **state)
{
    struct scratch *s = *state;
    struct wb_error err = {0};
    scratch_write(s, "state", "old");
    assert_int_equal(wb_file_write_private(scratch_path(s, "state"), WB_SPAN("new"), &err), 0);
    assert_string_equal(scratch_read(s, "state"), "new");
    struct stat st;
    assert_int_equal(stat(scratch_path(s, "state"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(wb_file_write_private(scratch_path(s, "no/state"), WB_SPAN("x"), &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
}

/* What a real path leads through cannot become a link unseen. */
static void test_real_paths_follow_no_link(void **state)
{
    static const char *const links[] = {"link", "folder_link/file", "folder/../link"};
    struct scratch *s = *state;
    struct wb_span content;
    struct wb_error err = {0};
    const char *path = scratch_write(s, "folder/file", "x");
    scratch_link(s, "folder/file", "link");
    scratch_link(s, "folder", "folder_link");
    assert_int_equal(wb_file_read_real(&s->arena, path, 9, &content, NULL, &err), 0);
    for (size_t i = 0; i < WB_COUNT(links); i++) {
        path = scratch_path(s, links[i]);
        assert_int_equal(wb_file_read(&s->arena, path, 9, &content, NULL, &err), 0);
        assert_int_equal(wb_file_read_real(&s->arena, path, 9, &content, NULL, &err), -1);
        assert_int_equal(wb_file_open_real(path, O_WRONLY | O_CLOEXEC, 0), -1);
        assert_int_equal(errno, ELOOP);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kind, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_read, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_read_refuses, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_read_unknown_size, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_real_paths_follow_no_link, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test(test_text_facts),
        cmocka_unit_test_setup_teardown(test_write_private, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
