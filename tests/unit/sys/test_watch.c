/* Tests of sys/watch.h: what a look tells of the changes since the last one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../scratch.h"
#include "base/text.h"
#include "sys/watch.h"

struct fixture {
    struct scratch s;
    struct wb_watch *watch;
};

static int set_up(void **state)
{
    static struct fixture f;
    scratch_init(&f.s);
    f.watch = NULL;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wb_watch_free(f->watch);
    scratch_done(&f->s);
    return 0;
}

static void begin(struct fixture *f)
{
    f->watch = wb_watch_new(f->s.folder, NULL);
    assert_non_null(f->watch);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "+created ~changed -deleted ", sorted. */
static const char *look(struct fixture *f, bool *ret_complete)
{
    struct wb_watch_event *events;
    size_t n;
    wb_watch_look(f->watch, &f->s.arena, &events, &n, ret_complete);
    const char **lines = wb_arena_alloc_array(&f->s.arena, n + 1, sizeof(*lines));
    for (size_t i = 0; i < n; i++) {
        lines[i] = wb_arena_printf(&f->s.arena, "%c%s ", " +~-"[events[i].kind],
                                   wb_path_relative(events[i].path, f->s.folder));
    }
    qsort(lines, n, sizeof(*lines), compare_strings);
    const char *all = "";
    for (size_t i = 0; i < n; i++) {
        all = wb_arena_printf(&f->s.arena, "%s%s", all, lines[i]);
    }
    return all;
}

static void expect(struct fixture *f, const char *events)
{
    bool complete;
    assert_string_equal(look(f, &complete), events);
    assert_true(complete);
}

static void move(struct fixture *f, const char *from, const char *to)
{
    assert_int_equal(rename(scratch_path(&f->s, from), scratch_path(&f->s, to)), 0);
}

static void drop(struct fixture *f, const char *path)
{
    assert_int_equal(remove(scratch_path(&f->s, path)), 0);
}

static void test_files(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->s, "a", "1");
    scratch_write(&f->s, "sub/b", "1");
    begin(f);
    expect(f, "");
    scratch_write(&f->s, "a", "2");
    scratch_write(&f->s, "sub/c", "1");
    drop(f, "sub/b");
    expect(f, "+sub/c -sub/b ~a ");
    expect(f, "");
    scratch_write(&f->s, "new", "1");
    move(f, "new", "a"); /* as editors save */
    move(f, "sub/c", "sub/d");
    expect(f, "+sub/d -sub/c ~a ");
}

static void test_several_events_of_a_path(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->s, "a", "1");
    begin(f);
    scratch_write(&f->s, "short", "1");
    drop(f, "short");
    drop(f, "a");
    scratch_write(&f->s, "a", "2");
    scratch_write(&f->s, "b", "1");
    scratch_write(&f->s, "b", "2");
    expect(f, "+b ~a ");
    scratch_write(&f->s, "a", "3");
    drop(f, "a");
    expect(f, "-a ");
}

static void test_new_folders(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->s, "top", "");
    begin(f);
    scratch_write(&f->s, "x/y/z/deep", "");
    scratch_write(&f->s, "x/first", "");
    scratch_write(&f->s, "gone/file", "");
    drop(f, "gone/file");
    drop(f, "gone");
    expect(f, "+x/first +x/y/z/deep ");
    scratch_write(&f->s, "x/y/z/deep", "1");
    scratch_write(&f->s, "x/y/more", "");
    expect(f, "+x/y/more ~x/y/z/deep ");
    drop(f, "x/y/z/deep");
    drop(f, "x/y/z");
    expect(f, "-x/y/z/deep ");
}

static void test_moved_folders(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->s, "a/b/file", "");
    scratch_write(&f->s, "a/c", "");
    struct scratch outside;
    scratch_init(&outside);
    scratch_write(&outside, "in/deep/x", "");
    begin(f);
    move(f, "a", "new");
    scratch_write(&f->s, "new/c", "1");
    expect(f, "+new/b/file +new/c -a/b/file -a/c ");
    scratch_write(&f->s, "new/b/file", "1");
    expect(f, "~new/b/file ");
    assert_int_equal(rename(scratch_path(&outside, "in"), scratch_path(&f->s, "in")), 0);
    assert_int_equal(rename(scratch_path(&f->s, "new"), scratch_path(&outside, "new")), 0);
    scratch_write(&outside, "new/c", "2");
    expect(f, "+in/deep/x -new/b/file -new/c ");
    scratch_write(&f->s, "in/deep/x", "1");
    expect(f, "~in/deep/x ");
    scratch_done(&outside);
}

static void test_left_out(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->s, ".gitignore", "*.o\nbuild/\n");
    scratch_write(&f->s, "build/x", "");
    scratch_write(&f->s, "sub/.gitignore", "!keep.o\n");
    begin(f);
    scratch_write(&f->s, "build/x", "1");
    scratch_write(&f->s, "a.o", "");
    scratch_write(&f->s, "sub/b.o", "");
    scratch_write(&f->s, "sub/keep.o", "");
    scratch_write(&f->s, "sub/build/y", "");
    scratch_write(&f->s, ".werkbank-1a2b", "");
    scratch_write(&f->s, ".hidden/file", "");
    scratch_link(&f->s, "nowhere", "dangling");
    scratch_link(&f->s, "sub", "to_folder");
    scratch_link(&f->s, "sub/keep.o", "to_file");
    expect(f, "+sub/keep.o +to_file ");
    scratch_write(&f->s, ".werkbank-1a2b", "1");
    move(f, ".werkbank-1a2b", "sub/c");
    expect(f, "+sub/c ");
    move(f, "sub/c", ".hidden/c");
    expect(f, "-sub/c ");
}

/* More events than the kernel queues: what was made and removed is found all the same. */
static void test_overflow(void **state)
{
    struct fixture *f = *state;
    int max = 0;
    FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    assert_non_null(limit);
    assert_int_equal(fscanf(limit, "%d", &max), 1);
    fclose(limit);
    const char *busy[] = {scratch_write(&f->s, "b0", ""), scratch_write(&f->s, "b1", "")};
    scratch_write(&f->s, "removed", "");
    scratch_write(&f->s, "same", "");
    scratch_write(&f->s, "sub/changed", "");
    begin(f);
    int fds[] = {open(busy[0], O_WRONLY | O_CLOEXEC), open(busy[1], O_WRONLY | O_CLOEXEC)};
    for (int i = 0; i <= max; i++) { /* in turns: equal neighbours are one event */
        assert_int_equal(write(fds[i % 2], "x", 1), 1);
    }
    close(fds[0]);
    close(fds[1]);
    drop(f, "removed");
    scratch_write(&f->s, "sub/changed", "1");
    scratch_write(&f->s, "fresh/file", "");
    bool complete;
    const char *events = look(f, &complete);
    assert_false(complete);
    assert_non_null(strstr(events, "+fresh/file "));
    assert_non_null(strstr(events, "-removed "));
    assert_non_null(strstr(events, "~sub/changed "));
    scratch_write(&f->s, "fresh/file", "1");
    scratch_write(&f->s, "sub/changed", "2");
    expect(f, "~fresh/file ~sub/changed ");
}

static void test_no_workspace(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->s, "sub/a", "");
    f->watch = wb_watch_new(scratch_path(&f->s, "sub"), NULL);
    assert_non_null(f->watch);
    drop(f, "sub/a");
    drop(f, "sub");
    bool complete;
    assert_string_equal(look(f, &complete), "-sub/a ");
    assert_false(complete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_events_of_a_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_workspace, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
