/* Tests of sys/commit.h: what is checked, what is kept, and what recovery does. Faults at every
 * system call are tests/commit's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include "../scratch.h"
#include "base/text.h"
#include "sys/commit_internal.h"

struct fixture {
    struct scratch tree, state;
    struct wb_error err;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    scratch_init(&f.tree);
    scratch_init(&f.state);
    setenv("XDG_STATE_HOME", f.state.folder, 1);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    scratch_done(&f->tree);
    scratch_done(&f->state);
    return 0;
}

static struct wb_commit_op create(struct fixture *f, const char *path, const char *content)
{
    return (struct wb_commit_op){.kind = WB_COMMIT_WRITE,
                                 .path = scratch_path(&f->tree, path),
                                 .new_content = wb_span(content)};
}

static struct wb_commit_op change(struct fixture *f, const char *path, const char *old,
                                  const char *new)
{
    struct wb_commit_op op = create(f, path, new);
    op.must_exist = true;
    op.old_content = wb_span(old);
    return op;
}

static struct wb_commit_op move(struct fixture *f, const char *from, const char *to)
{
    return (struct wb_commit_op){.kind = WB_COMMIT_RENAME,
                                 .path = scratch_path(&f->tree, from),
                                 .new_path = scratch_path(&f->tree, to)};
}

static struct wb_commit_op overwrite(struct fixture *f, const char *from, const char *to)
{
    struct wb_commit_op op = move(f, from, to);
    op.overwrite = true;
    return op;
}

static struct wb_commit_op drop(struct fixture *f, const char *path, const char *old)
{
    return (struct wb_commit_op){.kind = WB_COMMIT_DELETE,
                                 .path = scratch_path(&f->tree, path),
                                 .old_content = wb_span(old)};
}

static struct wb_commit_op drop_all(struct fixture *f, const char *path)
{
    struct wb_commit_op op = drop(f, path, "");
    op.recursive = true;
    return op;
}

static int apply(struct fixture *f, const struct wb_commit_op *ops, size_t n)
{
    const struct wb_commit commit = {
        .workspace = f->tree.folder, .boundary = f->tree.folder, .ops = ops, .n_ops = n};
    f->err = (struct wb_error){0};
    return wb_commit_apply(&commit, &f->err);
}

#define APPLY(f, ...)                                                                              \
    ({                                                                                             \
        const struct wb_commit_op ops_[] = {__VA_ARGS__};                                          \
        apply((f), ops_, WB_COUNT(ops_));                                                          \
    })
#define ASSERT_APPLIED(f, ...)                                                                     \
    do {                                                                                           \
        if (APPLY(f, __VA_ARGS__) != 0) {                                                          \
            fail_msg("%s", (f)->err.message);                                                      \
        }                                                                                          \
    } while (0)
#define ASSERT_FILE(f, path, content)                                                              \
    do {                                                                                           \
        const char *found_ = scratch_read(&(f)->tree, (path));                                     \
        assert_non_null(found_);                                                                   \
        assert_string_equal(found_, (content));                                                    \
    } while (0)
#define ASSERT_NONE(f, path) assert_null(scratch_read(&(f)->tree, (path)))

static void assert_refused(struct fixture *f, int status, enum wb_error_code code,
                           const char *sentence)
{
    assert_int_equal(status, -1);
    if (f->err.code != code || strstr(f->err.message, sentence) == NULL) {
        fail_msg("code %s: %s", wb_error_code_name(f->err.code), f->err.message);
    }
}

static size_t n_scanned;

static int scan_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    if (strstr(path, WB_COMMIT_TEMP_PREFIX) != NULL) {
        fail_msg("left behind: %s", path);
    }
    n_scanned++;
    return 0;
}

static void assert_no_leftovers(struct fixture *f)
{
    n_scanned = 0;
    nftw(f->tree.folder, scan_entry, 16, FTW_PHYS);
    assert_true(n_scanned > 0);
}

static void test_single_operations(void **state)
{
    struct fixture *f = *state;
    ASSERT_APPLIED(f, create(f, "a", "one"));
    ASSERT_FILE(f, "a", "one");
    ASSERT_APPLIED(f, change(f, "a", "one", "two"));
    ASSERT_FILE(f, "a", "two");
    ASSERT_APPLIED(f, move(f, "a", "deep/er/b"));
    ASSERT_NONE(f, "a");
    ASSERT_FILE(f, "deep/er/b", "two");
    ASSERT_APPLIED(f, drop(f, "deep/er/b", "two"));
    ASSERT_NONE(f, "deep/er/b");
    ASSERT_APPLIED(f, drop_all(f, "deep"));
    ASSERT_APPLIED(f, create(f, "deep", "a file now"));
    ASSERT_FILE(f, "deep", "a file now");
    ASSERT_APPLIED(f, change(f, "deep", "a file now", "a file now"));
    ASSERT_APPLIED(f, create(f, "empty", ""));
    ASSERT_FILE(f, "empty", "");
    assert_int_equal(apply(f, NULL, 0), 0);
    assert_no_leftovers(f);
}

static void test_names_along_the_list(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "a");
    scratch_write(&f->tree, "b", "b");
    scratch_write(&f->tree, "dir/x", "x");
    scratch_write(&f->tree, "dir/y", "y");
    ASSERT_APPLIED(f, move(f, "a", "t"), move(f, "b", "a"), move(f, "t", "b"),
                   change(f, "b", "a", "A"), /* by the name of that moment */
                   move(f, "dir", "other"), change(f, "other/x", "x", "X"),
                   create(f, "other/new", "n"),      /* into a folder that comes by renaming */
                   create(f, "dir/again", "d"),      /* and one that went by it */
                   change(f, "other/new", "n", "N"), /* a file of the same commit */
                   move(f, "other/new", "other/newer"), drop(f, "other/y", "y"),
                   change(f, "a", "b", "B"), change(f, "a", "B", "BB"));
    ASSERT_FILE(f, "a", "BB");
    ASSERT_FILE(f, "b", "A");
    ASSERT_NONE(f, "t");
    ASSERT_FILE(f, "other/x", "X");
    ASSERT_FILE(f, "other/newer", "N");
    ASSERT_NONE(f, "other/new");
    ASSERT_NONE(f, "other/y");
    ASSERT_FILE(f, "dir/again", "d");
    assert_no_leftovers(f);
}

static void test_delete_then_create(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "old");
    scratch_write(&f->tree, "dir/x", "x");
    ASSERT_APPLIED(f, drop(f, "a", "old"), create(f, "a", "new"), drop_all(f, "dir"),
                   create(f, "dir/y", "y"), create(f, "brief", "z"), drop(f, "brief", "z"));
    ASSERT_FILE(f, "a", "new");
    ASSERT_NONE(f, "dir/x");
    ASSERT_FILE(f, "dir/y", "y");
    ASSERT_NONE(f, "brief");
    assert_no_leftovers(f);
}

static void test_overwriting_rename(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "a");
    scratch_write(&f->tree, "b", "b");
    assert_refused(f, APPLY(f, move(f, "a", "b")), WB_ERROR_STALE, "exists already");
    ASSERT_APPLIED(f, overwrite(f, "a", "b"));
    ASSERT_NONE(f, "a");
    ASSERT_FILE(f, "b", "a");
    assert_no_leftovers(f);
}

/* One bad operation among good ones: nothing happens. */
static void test_refusals(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "a");
    scratch_write(&f->tree, "dir/x", "x");
    scratch_link(&f->tree, "/etc", "outside");
    scratch_link(&f->tree, "none", "dangling");
    mkfifo(scratch_path(&f->tree, "fifo"), 0600);

    const struct {
        struct wb_commit_op op;
        enum wb_error_code code;
        const char *sentence;
    } rows[] = {
        {change(f, "a", "b", "c"), WB_ERROR_STALE, "a has changed since"},
        {change(f, "a", "ab", "c"), WB_ERROR_STALE, "read it again"},
        {change(f, "none", "b", "c"), WB_ERROR_STALE, "none does not exist"},
        {change(f, "dir", "b", "c"), WB_ERROR_INVALID, "dir is not a regular file"},
        {change(f, "fifo", "b", "c"), WB_ERROR_INVALID, "fifo is not a regular file"},
        {create(f, "a", "b"), WB_ERROR_STALE, "a exists already"},
        {create(f, "dangling", "b"), WB_ERROR_STALE, "exists already"},
        {create(f, "a/b", "b"), WB_ERROR_INVALID, "a is not a folder"},
        {create(f, "outside/x", "b"), WB_ERROR_DENIED, "outside of"},
        {create(f, "../x", "b"), WB_ERROR_DENIED, "outside of"},
        {create(f, ".", "b"), WB_ERROR_DENIED, "itself"},
        {drop(f, "a", "b"), WB_ERROR_STALE, "has changed"},
        {drop(f, "none", ""), WB_ERROR_STALE, "does not exist"},
        {drop(f, "dir", ""), WB_ERROR_INVALID, "with files in it"},
        {drop(f, "fifo", ""), WB_ERROR_INVALID, "neither a file nor a folder"},
        {drop_all(f, "."), WB_ERROR_DENIED, "itself"},
        {move(f, "none", "x"), WB_ERROR_STALE, "does not exist"},
        {move(f, "dir", "dir/in"), WB_ERROR_INVALID, "one is in the other"},
        {move(f, "a", "../x"), WB_ERROR_DENIED, "outside of"},
        {move(f, "a", "dir"), WB_ERROR_STALE, "exists already"},
        {overwrite(f, "a", "dir"), WB_ERROR_STALE, "exists already"},
        {overwrite(f, "dir", "a"), WB_ERROR_STALE, "exists already"},
        {{.kind = WB_COMMIT_WRITE, .path = "x"}, WB_ERROR_INVALID, "not absolute"},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        int status = APPLY(f, create(f, "good", "x"), change(f, "dir/x", "x", "y"), rows[i].op);
        assert_refused(f, status, rows[i].code, rows[i].sentence);
        ASSERT_NONE(f, "good");
        ASSERT_FILE(f, "dir/x", "x");
        ASSERT_FILE(f, "a", "a");
    }
    assert_refused(f, APPLY(f, create(f, "new/x", "x"), move(f, "new", "newer")), WB_ERROR_INVALID,
                   "made by the same change");
    assert_refused(f, APPLY(f, create(f, "x", "x"), create(f, "x", "y")), WB_ERROR_STALE,
                   "exists already");
    assert_refused(f, APPLY(f, change(f, "a", "a", "b"), change(f, "a", "a", "c")), WB_ERROR_STALE,
                   "written twice");
    assert_refused(f, APPLY(f, drop(f, "a", "a"), change(f, "a", "a", "c")), WB_ERROR_STALE,
                   "does not exist");
    assert_no_leftovers(f);
}

static void test_limit(void **state)
{
    struct fixture *f = *state;
    const struct wb_commit_op op = create(f, "x", "x");
    const struct wb_commit commit = {.workspace = f->tree.folder, .ops = &op, .n_ops = 1000000};
    assert_refused(f, wb_commit_apply(&commit, &f->err), WB_ERROR_LIMIT, "split it");
}

static void test_permissions_and_attributes(void **state)
{
    struct fixture *f = *state;
    const char *path = scratch_write(&f->tree, "a", "a");
    chmod(path, 04751);
    bool attributes = setxattr(path, "user.note", "kept", 4, 0) == 0;
    bool owner = chown(path, 1234, 4321) == 0;
    chmod(path, 04751);
    mode_t mask = umask(027);
    struct wb_commit_op script = create(f, "script", "x");
    script.mode = 0777;
    ASSERT_APPLIED(f, change(f, "a", "a", "b"), create(f, "plain", "x"), script);
    umask(mask);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 04751);
    if (owner) {
        assert_int_equal(st.st_uid, 1234);
        assert_int_equal(st.st_gid, 4321);
    }
    char value[8];
    if (attributes) {
        assert_int_equal(getxattr(path, "user.note", value, sizeof(value)), 4);
        assert_memory_equal(value, "kept", 4);
    }
    stat(scratch_path(&f->tree, "plain"), &st);
    assert_int_equal(st.st_mode & 07777, 0640);
    stat(scratch_path(&f->tree, "script"), &st);
    assert_int_equal(st.st_mode & 07777, 0750);
}

static void test_links(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "real/file", "a");
    scratch_link(&f->tree, "real/file", "link");
    scratch_link(&f->tree, "real", "folder_link");
    scratch_write(&f->tree, "hard", "h");
    const char *hard = scratch_path(&f->tree, "hard");
    assert_int_equal(link(hard, scratch_path(&f->tree, "hard_too")), 0);
    ASSERT_APPLIED(f, change(f, "link", "a", "b"), change(f, "hard_too", "h", "a longer text"),
                   create(f, "folder_link/new", "n"));
    struct stat st;
    lstat(scratch_path(&f->tree, "link"), &st);
    assert_true(S_ISLNK(st.st_mode));
    ASSERT_FILE(f, "real/file", "b");
    ASSERT_FILE(f, "real/new", "n");
    ASSERT_FILE(f, "hard", "a longer text");
    stat(hard, &st);
    assert_int_equal(st.st_nlink, 2);
    ASSERT_APPLIED(f, change(f, "hard", "a longer text", "s"), change(f, "hard_too", "s", "t"));
    ASSERT_FILE(f, "hard_too", "t");
    /* Renaming and deleting mean the link, not what it leads to. */
    ASSERT_APPLIED(f, move(f, "link", "moved"));
    ASSERT_FILE(f, "moved", "b");
    ASSERT_APPLIED(f, drop(f, "moved", "b"));
    ASSERT_FILE(f, "real/file", "b");
    assert_no_leftovers(f);
}

/* A file that is not ours stays its owner's, also where nobody may put another in its place. Only
 * root can make one; others test that their own file is treated likewise. */
static void test_files_of_others(void **state)
{
    struct fixture *f = *state;
    const char *path = scratch_write(&f->tree, "shared/file", "a");
    struct stat st;
    chmod(path, 0666);
    chmod(scratch_path(&f->tree, "shared"), 01777);
    bool as_root = chown(path, 4321, 4321) == 0;
    if (as_root) {
        chmod(f->tree.folder, 0711);
        assert_int_equal(chown(f->state.folder, 1234, 1234), 0);
        assert_int_equal(seteuid(1234), 0);
    }
    ASSERT_APPLIED(f, change(f, "shared/file", "a", "b"));
    if (as_root) {
        assert_refused(f, APPLY(f, drop(f, "shared/file", "b")), WB_ERROR_DENIED,
                       "shared/file: Operation not permitted");
        ASSERT_APPLIED(f, change(f, "shared/file", "b", "c"), create(f, "shared/new", "n"));
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, 4321);
        ASSERT_FILE(f, "shared/file", "c");
    }
    assert_no_leftovers(f);
}

/* An append-only folder takes our names and does not give them back: the change is refused, and the
 * next one is none the worse. Root alone can make one, and not on every file system. */
static void test_folder_that_keeps_everything(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "log/file", "a");
    scratch_write(&f->tree, "file", "a");
    int folder = open(scratch_path(&f->tree, "log"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0;
    assert_true(folder >= 0);
    if (ioctl(folder, FS_IOC_GETFLAGS, &flags) == 0) {
        int append_only = flags | FS_APPEND_FL;
        if (ioctl(folder, FS_IOC_SETFLAGS, &append_only) == 0) {
            assert_refused(f, APPLY(f, change(f, "log/file", "a", "b")), WB_ERROR_DENIED,
                           "log/file: Operation not permitted");
            ioctl(folder, FS_IOC_SETFLAGS, &flags);
        }
    }
    close(folder);
    ASSERT_APPLIED(f, change(f, "file", "a", "b"));
    ASSERT_FILE(f, "log/file", "a");
}

static void test_no_boundary(void **state)
{
    struct fixture *f = *state;
    const char *outside = scratch_write(&f->state, "outside", "a");
    const struct wb_commit_op op = {.kind = WB_COMMIT_WRITE,
                                    .path = outside,
                                    .must_exist = true,
                                    .old_content = WB_SPAN("a"),
                                    .new_content = WB_SPAN("b")};
    const struct wb_commit commit = {.workspace = f->tree.folder, .ops = &op, .n_ops = 1};
    assert_int_equal(wb_commit_apply(&commit, &f->err), 0);
    assert_string_equal(scratch_read(&f->state, "outside"), "b");
}

static void test_many_files(void **state)
{
    struct fixture *f = *state;

    enum { N = 300 };
    struct wb_commit_op ops[2 * N];
    for (int i = 0; i < N; i++) {
        const char *name = wb_arena_printf(&f->tree.arena, "d%d/f%d", i % 7, i);
        scratch_write(&f->tree, name, "old");
        ops[2 * i] = change(f, name, "old", "new");
        ops[2 * i + 1] = create(f, wb_arena_printf(&f->tree.arena, "n%d/f%d", i % 9, i), "created");
    }
    assert_int_equal(apply(f, ops, WB_COUNT(ops)), 0);
    for (int i = 0; i < N; i++) {
        ASSERT_FILE(f, wb_arena_printf(&f->tree.arena, "d%d/f%d", i % 7, i), "new");
        ASSERT_FILE(f, wb_arena_printf(&f->tree.arena, "n%d/f%d", i % 9, i), "created");
    }
    assert_no_leftovers(f);
}

/* Goes as far as a process that is killed after n_steps steps, and leaves everything so. */
static void crash_after(struct fixture *f, const struct wb_commit_op *ops, size_t n_ops,
                        size_t n_steps)
{
    const struct wb_commit commit = {.workspace = f->tree.folder, .ops = ops, .n_ops = n_ops};
    struct wb_commit_plan plan = {.arena = &f->tree.arena};
    struct wb_commit_journal journal;
    assert_int_equal(wb_commit_journal_open(&journal, f->tree.folder, false, &f->err), 0);
    assert_int_equal(wb_commit_plan_make(&plan, &commit, &f->err), 0);
    assert_int_equal(wb_commit_journal_write(&journal, &plan, true, &f->err), 0);
    assert_int_equal(wb_commit_stage(&plan, &f->err), 0);
    assert_true(n_steps <= plan.n_steps);
    for (size_t i = 0; i < n_steps; i++) {
        assert_int_equal(wb_commit_step_do(&plan.steps[i], &f->err), 0);
    }
    wb_commit_journal_close(&journal);
}

static void test_recovery(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 0);
    for (size_t n_steps = 0; n_steps <= 5; n_steps++) {
        scratch_write(&f->tree, "a", "a");
        scratch_write(&f->tree, "b", "b");
        scratch_write(&f->tree, "c", "c");
        const struct wb_commit_op ops[] = {
            change(f, "a", "a", "A"),
            move(f, "b", "b2"),
            drop(f, "c", "c"),
            create(f, "new/d", "d"),
        };
        crash_after(f, ops, WB_COUNT(ops), n_steps);
        assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 1);
        ASSERT_FILE(f, "a", "a");
        ASSERT_FILE(f, "b", "b");
        ASSERT_FILE(f, "c", "c");
        ASSERT_NONE(f, "new/d");
        assert_int_equal(wb_file_kind(scratch_path(&f->tree, "new"), NULL), WB_FILE_MISSING);
        assert_no_leftovers(f);
        assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 0);
    }
}

/* The next commit recovers by itself. */
static void test_commit_after_crash(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "a");
    scratch_write(&f->tree, "b", "b");
    const struct wb_commit_op ops[] = {change(f, "a", "a", "A"), change(f, "b", "b", "B")};
    crash_after(f, ops, 2, 1);
    ASSERT_APPLIED(f, change(f, "a", "a", "after"));
    ASSERT_FILE(f, "a", "after");
    ASSERT_FILE(f, "b", "b");
    assert_no_leftovers(f);
}

/* Somebody changed a file between the crash and the start: hands off. */
static void test_recovery_refuses(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "a");
    scratch_write(&f->tree, "b", "b");
    const struct wb_commit_op ops[] = {change(f, "a", "a", "A"), change(f, "b", "b", "B"),
                                       create(f, "c", "c")};
    crash_after(f, ops, 3, 3);
    scratch_write(&f->tree, "c", "edited by hand");
    assert_refused(f, wb_commit_recover(f->tree.folder, &f->err), WB_ERROR_STALE,
                   "/c has been changed since");
    assert_non_null(strstr(f->err.message, "/journal"));
    ASSERT_FILE(f, "a", "A");
    ASSERT_FILE(f, "b", "B");
    ASSERT_FILE(f, "c", "edited by hand");
    assert_refused(f, APPLY(f, create(f, "d", "d")), WB_ERROR_STALE, "half done");
    ASSERT_NONE(f, "d");
    /* A file that the interrupted commit had not reached may be anything. */
    scratch_write(&f->tree, "c", "c");
    assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 1);
    crash_after(f, ops, 3, 1);
    scratch_write(&f->tree, "b", "edited by hand");
    assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 1);
    ASSERT_FILE(f, "a", "a");
    ASSERT_FILE(f, "b", "edited by hand");
    assert_no_leftovers(f);
}

/* The trap of recognising new files by content: the old file has the same. */
static void test_recovery_of_a_copy(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "same");
    const struct wb_commit_op ops[] = {move(f, "a", "b"), create(f, "a", "same")};
    for (size_t n_steps = 0; n_steps <= 2; n_steps++) {
        crash_after(f, ops, 2, n_steps);
        assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 1);
        ASSERT_FILE(f, "a", "same");
        ASSERT_NONE(f, "b");
        assert_no_leftovers(f);
    }
}

static void test_recovery_of_a_half_written_link(void **state)
{
    struct fixture *f = *state;
    const char *a = scratch_write(&f->tree, "a", "old content");
    assert_int_equal(link(a, scratch_path(&f->tree, "a_too")), 0);
    const struct wb_commit_op ops[] = {change(f, "a", "old content", "NEW CONTENT, LONGER"),
                                       create(f, "b", "b")};
    crash_after(f, ops, 2, 0);
    scratch_write(&f->tree, "a", "NEW content");
    assert_int_equal(wb_commit_recover(f->tree.folder, &f->err), 1);
    ASSERT_FILE(f, "a_too", "old content");
    crash_after(f, ops, 2, 0);
    scratch_write(&f->tree, "a", "something else");
    assert_refused(f, wb_commit_recover(f->tree.folder, &f->err), WB_ERROR_STALE, "changed since");
    ASSERT_FILE(f, "a", "something else");
}

static void test_journal_format(void **state)
{
    struct fixture *f = *state;
    struct wb_arena *arena = &f->tree.arena;
    struct wb_commit_step steps[] = {
        {.kind = WB_STEP_REPLACE,
         .path = "/a b%\n",
         .temp = "/t\xFF",
         .aside = "/s",
         .device = 7,
         .inode = UINT64_MAX,
         .old_hash = wb_sha256(WB_SPAN("old")),
         .new_hash = wb_sha256(WB_SPAN("new"))},
        {.kind = WB_STEP_INPLACE, .path = "/p", .temp = "/t", .aside = "/s"},
        {.kind = WB_STEP_MOVE, .path = "/from", .to = "/to", .inode = 3},
        {.kind = WB_STEP_MKDIR, .path = "/folder"},
    };
    struct wb_commit_temp temp = {.path = "/temp"};
    const char *dropped = "/drop";
    struct wb_commit_plan plan = {.arena = arena,
                                  .steps = steps,
                                  .n_steps = 4,
                                  .temps = &temp,
                                  .n_temps = 1,
                                  .drops = &dropped,
                                  .n_drops = 1};
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    wb_commit_journal_format(&text, &plan);
    struct wb_commit_plan back = {.arena = arena};
    bool done = true;
    assert_int_equal(wb_commit_journal_parse(wb_text_span(&text), &back, &done), 0);
    assert_false(done);
    assert_int_equal(back.n_steps, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(back.steps[i].kind, steps[i].kind);
        assert_string_equal(back.steps[i].path, steps[i].path);
        assert_int_equal(back.steps[i].device, steps[i].device);
        assert_int_equal(back.steps[i].inode, steps[i].inode);
        assert_true(wb_sha256_equal(&back.steps[i].new_hash, &steps[i].new_hash));
        assert_true(wb_sha256_equal(&back.steps[i].old_hash, &steps[i].old_hash));
    }
    assert_string_equal(back.steps[0].temp, "/t\xFF");
    assert_string_equal(back.steps[0].aside, "/s");
    assert_string_equal(back.steps[2].to, "/to");
    assert_string_equal(back.temps[0].path, "/temp");
    assert_string_equal(back.drops[0], "/drop");
    /* Half a journal, and one with a flipped bit, are none. */
    for (size_t len = 0; len < text.len; len++) {
        struct wb_commit_plan half = {.arena = arena};
        assert_int_equal(wb_commit_journal_parse((struct wb_span){text.ptr, len}, &half, &done),
                         -1);
    }
    text.ptr[40] ^= 1;
    assert_int_equal(wb_commit_journal_parse(wb_text_span(&text), &back, &done), -1);
}

enum { WRITERS = 6, ROUNDS = 20 };

struct writer {
    struct fixture *f;
    int n_applied, n_stale, n_failed;
};

/* Each round adds one letter to both files; whoever comes second finds them changed. */
static void *write_rounds(void *ctx)
{
    struct writer *w = ctx;
    for (int i = 0; i < ROUNDS; i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        struct wb_span a, b;
        const char *path_a = wb_path_join(&arena, w->f->tree.folder, "a");
        const char *path_b = wb_path_join(&arena, w->f->tree.folder, "b");
        if (wb_file_read(&arena, path_a, 1000, &a, NULL, NULL) != 0 ||
            wb_file_read(&arena, path_b, 1000, &b, NULL, NULL) != 0) {
            w->n_failed++;
            continue;
        }
        const struct wb_commit_op ops[] = {
            {.kind = WB_COMMIT_WRITE,
             .path = path_a,
             .must_exist = true,
             .old_content = a,
             .new_content = wb_span(wb_arena_printf(&arena, "%sx", a.ptr))},
            {.kind = WB_COMMIT_WRITE,
             .path = path_b,
             .must_exist = true,
             .old_content = b,
             .new_content = wb_span(wb_arena_printf(&arena, "%sx", b.ptr))},
        };
        const struct wb_commit commit = {
            .workspace = w->f->tree.folder, .ops = ops, .n_ops = WB_COUNT(ops)};
        struct wb_error err = {0};
        if (wb_commit_apply(&commit, &err) == 0) {
            w->n_applied++;
        } else if (err.code == WB_ERROR_STALE) {
            w->n_stale++;
        } else {
            w->n_failed++;
        }
    }
    return NULL;
}

static void test_commits_exclude_one_another(void **state)
{
    struct fixture *f = *state;
    scratch_write(&f->tree, "a", "");
    scratch_write(&f->tree, "b", "");
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.f = f};
        assert_int_equal(pthread_create(&threads[i], NULL, write_rounds, &writers[i]), 0);
    }
    int n_applied = 0;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(writers[i].n_failed, 0);
        assert_int_equal(writers[i].n_applied + writers[i].n_stale, ROUNDS);
        n_applied += writers[i].n_applied;
    }
    assert_true(n_applied >= ROUNDS);
    assert_int_equal(strlen(scratch_read(&f->tree, "a")), n_applied);
    assert_int_equal(strlen(scratch_read(&f->tree, "b")), n_applied);
    assert_no_leftovers(f);
}

static void test_sha256(void **state)
{
    (void)state;

    static const struct {
        const char *content, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    char hex[WB_SHA256_HEX_BYTES];
    struct wb_sha256 hash, parsed;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        hash = wb_sha256(wb_span(rows[i].content));
        wb_sha256_hex(&hash, hex);
        assert_string_equal(hex, rows[i].hex);
        assert_true(wb_sha256_parse(wb_span(hex), &parsed));
        assert_true(wb_sha256_equal(&hash, &parsed));
    }
    char *million = wb_alloc(1000000);
    memset(million, 'a', 1000000);
    hash = wb_sha256((struct wb_span){million, 1000000});
    wb_sha256_hex(&hash, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    wb_free_p(&million);
    assert_false(wb_sha256_parse(WB_SPAN("xyz"), &parsed));
}

/* Between the checks and the steps a link to a folder elsewhere takes a folder's place. */
static void test_a_folder_becomes_a_link(void **state)
{
    struct fixture *f = *state;
    const struct wb_commit_op ops[] = {change(f, "folder/a", "same", "new"),
                                       create(f, "folder/b", "b"), move(f, "folder/c", "folder/d")};
    scratch_write(&f->tree, "folder/a", "same");
    scratch_write(&f->tree, "folder/c", "c");
    scratch_write(&f->state, "elsewhere/a", "same");
    scratch_write(&f->state, "elsewhere/c", "c");
    const char *folder = scratch_path(&f->tree, "folder");
    const struct wb_commit commit = {.workspace = f->tree.folder,
                                     .boundary = f->tree.folder,
                                     .ops = ops,
                                     .n_ops = WB_COUNT(ops)};
    struct wb_commit_plan plan = {.arena = &f->tree.arena};
    assert_int_equal(wb_commit_plan_make(&plan, &commit, &f->err), 0);
    assert_int_equal(rename(folder, scratch_path(&f->tree, "moved")), 0);
    assert_int_equal(symlink(scratch_path(&f->state, "elsewhere"), folder), 0);
    assert_int_equal(wb_commit_stage(&plan, &f->err), -1);
    assert_true(plan.n_steps >= 3);
    for (size_t i = 0; i < plan.n_steps; i++) {
        plan.steps[i].inode = 0; /* as if it were the same file */
        (void)wb_file_kind(plan.steps[i].path, &plan.steps[i].stamp);
        assert_int_equal(wb_commit_step_do(&plan.steps[i], &f->err), -1);
    }
    assert_string_equal(scratch_read(&f->state, "elsewhere/a"), "same");
    assert_string_equal(scratch_read(&f->state, "elsewhere/c"), "c");
    assert_null(scratch_read(&f->state, "elsewhere/d"));
    assert_int_equal(rmdir(scratch_path(&f->state, "elsewhere")), -1);
    assert_int_equal(unlink(scratch_path(&f->state, "elsewhere/a")), 0);
    assert_int_equal(unlink(scratch_path(&f->state, "elsewhere/c")), 0);
    assert_int_equal(rmdir(scratch_path(&f->state, "elsewhere")), 0); /* nothing else was there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test_setup_teardown(test_single_operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_along_the_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_delete_then_create, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_overwriting_rename, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_permissions_and_attributes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_becomes_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_that_keeps_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_boundary, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recovery, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commit_after_crash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recovery_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recovery_of_a_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recovery_of_a_half_written_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_journal_format, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commits_exclude_one_another, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
