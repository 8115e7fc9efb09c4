/* commit_program apply|recover FOLDER: the change that test_commit_faults.py lets fail everywhere.
 *
 * The folder's files are made by the test. Exit status 0: done; 1: refused, with the sentence on
 * stderr. */
#include <stdio.h>

#include "sys/commit.h"
#include "sys/file.h"
#include "sys/path.h"

#define CONTENT_BYTES_MAX 1000000

static struct wb_arena arena;
static const char *top;

static const char *in_top(const char *relative)
{
    return wb_path_join(&arena, top, relative);
}

/* What is in a file now; the change below is planned on it. */
static struct wb_span content_of(const char *relative)
{
    struct wb_span content = {0};
    if (wb_file_read(&arena, in_top(relative), CONTENT_BYTES_MAX, &content, NULL, NULL) != 0) {
        fprintf(stderr, "no %s\n", relative);
    }
    return content;
}

static struct wb_commit_op change(const char *relative, const char *now_at)
{
    struct wb_span old = content_of(now_at);
    char *new = wb_arena_printf(&arena, "changed: %.*s", (int)old.len, old.ptr);
    return (struct wb_commit_op){.kind = WB_COMMIT_WRITE,
                                 .path = in_top(relative),
                                 .must_exist = true,
                                 .old_content = old,
                                 .new_content = wb_span(new)};
}

static struct wb_commit_op move(const char *from, const char *to)
{
    return (struct wb_commit_op){
        .kind = WB_COMMIT_RENAME, .path = in_top(from), .new_path = in_top(to)};
}

static int apply(struct wb_error *err)
{
    const struct wb_commit_op ops[] = {
        {.kind = WB_COMMIT_WRITE,
         .path = in_top("new/folder/created.txt"),
         .new_content = WB_SPAN("created\n")},
        change("changed.txt", "changed.txt"),
        move("renamed.txt", "moved/renamed.txt"),
        change("moved/renamed.txt", "renamed.txt"), /* by its name at that point */
        {.kind = WB_COMMIT_DELETE,
         .path = in_top("deleted.txt"),
         .old_content = content_of("deleted.txt")},
        change("linked.txt", "linked.txt"),
        change("symlink.txt", "symlink.txt"),
        move("folder", "folder2"),
        change("folder2/inside.txt", "folder/inside.txt"),
        {.kind = WB_COMMIT_DELETE, .path = in_top("gone"), .recursive = true},
        move("swap_a.txt", "swap_t.txt"),
        move("swap_b.txt", "swap_a.txt"),
        move("swap_t.txt", "swap_b.txt"),
    };
    const struct wb_commit commit = {
        .workspace = top, .boundary = top, .ops = ops, .n_ops = WB_COUNT(ops)};
    return wb_commit_apply(&commit, err);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    wb_arena_init(&arena);
    top = argv[2];
    struct wb_error err = {0};
    int status = wb_str_equal(argv[1], "apply") ? apply(&err) : wb_commit_recover(top, &err);
    if (status < 0) {
        fprintf(stderr, "%s\n", err.message);
    }
    wb_arena_done(&arena);
    return status < 0 ? 1 : 0;
}
