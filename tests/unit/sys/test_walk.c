/* Tests of sys/walk.h: order, what is left out, and how a walk ends early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../scratch.h"
#include "base/limits.h"
#include "base/text.h"
#include "sys/walk.h"

struct seen {
    struct wb_text names; /* relative paths, each with a space behind; folders with a slash */
    const char *folder;
    size_t left; /* stop after so many */
};

static bool note(void *ctx, const struct wb_walk_entry *entry)
{
    struct seen *seen = ctx;
    assert_true(wb_str_ends(entry->path, entry->relative));
    assert_true(wb_path_is_inside(entry->path, seen->folder));
    wb_text_printf(&seen->names, "%s%s%s ", entry->relative, entry->is_folder ? "/" : "",
                   entry->is_symlink ? "@" : "");
    return --seen->left != 0;
}

static const char *walk(struct scratch *s, const char *below, const struct wb_walk_options *options,
                        struct wb_walk_counts *counts)
{
    const char *folder = below[0] != '\0' ? scratch_path(s, below) : s->folder;
    struct seen seen = {.folder = folder};
    wb_text_init(&seen.names);
    struct wb_error err = {0};
    if (wb_walk(s->folder, folder, options, note, &seen, counts, &err) != 0) {
        fail_msg("%s", err.message);
    }
    const char *names = wb_arena_strdup(&s->arena, wb_text_cstr(&seen.names));
    wb_text_done(&seen.names);
    return names;
}

static void test_order(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, "b", "");
    scratch_write(s, "a.c", "");
    scratch_write(s, "a/z", "");
    scratch_write(s, "a/y/x", "");
    scratch_write(s, "a-b", "");
    scratch_write(s, "ab", "");
    scratch_folder(s, "empty");
    struct wb_walk_counts counts;
    assert_string_equal(walk(s, "", NULL, &counts), "a-b a.c a/y/x a/z ab b ");
    assert_int_equal(counts.files, 6);
    const struct wb_walk_options folders = {.folders = true};
    assert_string_equal(walk(s, "", &folders, NULL), "a-b a.c a/ a/y/ a/y/x a/z ab b empty/ ");
    assert_string_equal(walk(s, "a", NULL, NULL), "y/x z ");
}

static void test_hidden_and_ignored(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, ".gitignore", "*.o\nbuild/\n");
    scratch_write(s, ".ignore", "!keep.o\n");
    scratch_write(s, ".git/info/exclude", "secret\n");
    scratch_write(s, ".git/config", "");
    scratch_write(s, ".hidden/x", "");
    scratch_write(s, "a.o", "");
    scratch_write(s, "keep.o", "");
    scratch_write(s, "secret", "");
    scratch_write(s, "build/x", "");
    scratch_write(s, "sub/.gitignore", "!*.o\n/y\n");
    scratch_write(s, "sub/b.o", "");
    scratch_write(s, "sub/y", "");
    scratch_write(s, "sub/deep/c.o", "");
    struct wb_walk_counts counts;
    assert_string_equal(walk(s, "", NULL, &counts), "keep.o sub/b.o sub/deep/c.o ");
    assert_int_equal(counts.files, 3);
    assert_int_equal(counts.ignored, 4);
    assert_int_equal(counts.hidden, 5);
    /* Rules from above hold below; a folder that is named is walked even when ignored. */
    assert_string_equal(walk(s, "sub/deep", NULL, NULL), "c.o ");
    assert_string_equal(walk(s, "build", NULL, NULL), "x ");
    const struct wb_walk_options all = {.hidden = true, .no_ignore = true};
    assert_string_equal(walk(s, "", &all, NULL),
                        ".gitignore .hidden/x .ignore a.o build/x keep.o secret sub/.gitignore "
                        "sub/b.o sub/deep/c.o sub/y ");
}

static void test_links_and_others(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, "file", "");
    scratch_write(s, "folder/x", "");
    scratch_link(s, "file", "to_file");
    scratch_link(s, "folder", "to_folder");
    scratch_link(s, "..", "folder/up");
    scratch_link(s, "none", "dangling");
    mkfifo(scratch_path(s, "fifo"), 0600);
    assert_string_equal(walk(s, "", NULL, NULL), "file folder/x to_file@ ");
}

static void test_ignore_file_that_is_no_file(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, "rules", "x\n");
    scratch_link(s, "rules", ".gitignore"); /* git does not follow it either */
    scratch_folder(s, "sub/.gitignore");
    scratch_write(s, "sub/x", "");
    scratch_write(s, "x", "");
    assert_string_equal(walk(s, "", NULL, NULL), "rules sub/x x ");
}

static void test_early_ends(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, "a/b/c", "");
    scratch_write(s, "a/b/d", "");
    struct seen seen = {.folder = s->folder, .left = 1};
    wb_text_init(&seen.names);
    struct wb_error err = {0};
    assert_int_equal(wb_walk(s->folder, s->folder, NULL, note, &seen, NULL, &err), 0);
    assert_string_equal(wb_text_cstr(&seen.names), "a/b/c ");

    struct wb_cancel cancel;
    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);
    const struct wb_walk_options cancelled = {.cancel = &cancel};
    assert_int_equal(wb_walk(s->folder, s->folder, &cancelled, note, &seen, NULL, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CANCELLED);
    wb_cancel_done(&cancel);

    const char *none = scratch_path(s, "none");
    assert_int_equal(wb_walk(s->folder, none, NULL, note, &seen, NULL, &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
    const char *file = scratch_path(s, "a/b/c");
    assert_int_equal(wb_walk(s->folder, file, NULL, note, &seen, NULL, &err), -1);
    wb_text_done(&seen.names);
}

static void test_depth(void **state)
{
    struct scratch *s = *state;
    struct wb_text path;
    wb_text_init(&path);
    for (int i = 0; i < WB_WALK_DEPTH_MAX + 1; i++) {
        wb_text_add_str(&path, "d/");
    }
    wb_text_add_str(&path, "too_deep");
    scratch_write(s, wb_text_cstr(&path), "");
    wb_text_cut(&path, 2 * (WB_WALK_DEPTH_MAX));
    wb_text_add_str(&path, "deep");
    scratch_write(s, wb_text_cstr(&path), "");
    struct wb_walk_counts counts;
    const char *names = walk(s, "", NULL, &counts);
    assert_true(wb_str_ends(names, "/deep "));
    assert_int_equal(counts.files, 1);
    assert_int_equal(counts.unreadable, 1);
    wb_text_done(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_hidden_and_ignored, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_links_and_others, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_ignore_file_that_is_no_file, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_early_ends, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_depth, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
