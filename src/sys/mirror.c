/* mirror: copies a workspace and keeps the copy up to date.
 *
 * Beside the copy stand two lists of NUL-terminated paths relative to the workspace: `files`, what
 * was copied, so that a file that is gone leaves the copy while what a build made there stays; and
 * `again`, the files that shall look new to the next build.
 *
 * Files are copied and never linked: a build may write into them. */
#include "sys/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/path.h"
#include "sys/walk.h"

struct copier {
    struct wb_arena *arena;
    const char *workspace, *tree;
    struct wb_map old;    /* copied before, and not seen yet */
    struct wb_text files; /* the new list */
    size_t n_files;
    int64_t bytes;
    struct wb_error *err;
    bool failed;
};

static const char *read_list(struct wb_arena *arena, const char *folder, const char *name,
                             struct wb_map *ret)
{
    const char *path = wb_path_join(arena, folder, name);
    struct wb_span list;
    if (wb_file_read(arena, path, WB_FILE_BYTES_MAX, &list, NULL, NULL) < 0) {
        return path;
    }
    while (list.len > 0) {
        size_t len = strnlen(list.ptr, list.len);
        if (len > 0 && len < list.len) {
            wb_map_set(ret, list.ptr, ret);
        }
        list = (struct wb_span){list.ptr + WB_MIN(len + 1, list.len),
                                list.len - WB_MIN(len + 1, list.len)};
    }
    return path;
}

static void add_to_list(struct wb_text *list, const char *relative)
{
    wb_text_add(list, relative, strlen(relative) + 1);
}

static int fail(struct copier *copier, const char *what, const char *path)
{
    return wb_error_errno(copier->err, errno, "Cannot copy the workspace: %s %s", what, path);
}

static int copy_folder(struct copier *copier, const char *to)
{
    struct stat st;
    if (mkdir(to, 0700) == 0) {
        return 0;
    }
    if (errno != EEXIST || lstat(to, &st) != 0) {
        return fail(copier, "making the folder", to);
    }
    if (S_ISDIR(st.st_mode)) {
        return 0;
    }
    return unlink(to) == 0 && mkdir(to, 0700) == 0 ? 0 : fail(copier, "making the folder", to);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int copy_bytes(int from, int to)
{
    ssize_t n;
    while ((n = sendfile(to, from, NULL, WB_MIB)) > 0) {
    }
    return n == 0 ? 0 : -1;
}

static int copy_open_file(struct copier *copier, int from, const struct stat *st, const char *to)
{
    if (unlink(to) != 0 && errno != ENOENT) {
        return fail(copier, "replacing", to);
    }
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return fail(copier, "writing", to);
    }
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    bool copied = copy_bytes(from, fd) == 0 && fchmod(fd, st->st_mode & 07777) == 0 &&
                  futimens(fd, times) == 0;
    int reason = errno;
    close(fd);
    errno = reason;
    return copied ? 0 : fail(copier, "writing", to);
}

static int copy_file(struct copier *copier, const char *from, const char *to)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st, old;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int failed = errno == ENOENT ? 0 : fail(copier, "reading", from);
        if (fd >= 0) {
            close(fd);
        }
        return failed;
    }
    int result = 0;
    copier->bytes += st.st_size;
    if (copier->bytes > (int64_t)WB_MIRROR_BYTES_MAX) {
        result = wb_error_set(copier->err, WB_ERROR_LIMIT,
                              "The workspace has more than %zu MB to copy; the ignore files can "
                              "leave out what the build does not need",
                              WB_MIRROR_BYTES_MAX / WB_MIB);
    } else if (lstat(to, &old) != 0 || !is_same(&st, &old)) {
        result = copy_open_file(copier, fd, &st, to);
    }
    close(fd);
    return result;
}

/* Where the link in the copy shall lead: into the copy, wherever the original leads into the
 * workspace; a relative link out of the workspace becomes absolute. */
static const char *link_target(struct copier *copier, const char *from, const char *target)
{
    const char *folder = wb_path_dir(copier->arena, from);
    const char *absolute =
        wb_path_normalize(copier->arena, wb_path_join(copier->arena, folder, target));
    if (!wb_path_is_inside(absolute, copier->workspace)) {
        return absolute;
    }
    return target[0] == '/' ? wb_path_join(copier->arena, copier->tree,
                                           wb_path_relative(absolute, copier->workspace))
                            : target;
}

static int copy_link(struct copier *copier, const char *from, const char *to)
{
    char target[WB_PATH_BYTES_MAX], old[WB_PATH_BYTES_MAX];
    ssize_t len = readlink(from, target, sizeof(target) - 1);
    if (len < 0) {
        return errno == ENOENT ? 0 : fail(copier, "reading the link", from);
    }
    target[len] = '\0';
    const char *wanted = link_target(copier, from, target);
    len = readlink(to, old, sizeof(old) - 1);
    old[WB_MAX(len, 0)] = '\0';
    if (wb_str_equal(old, wanted)) {
        return 0;
    }
    if ((unlink(to) != 0 && errno != ENOENT) || symlink(wanted, to) != 0) {
        return fail(copier, "writing the link", to);
    }
    return 0;
}

static bool visit(void *ctx, const struct wb_walk_entry *entry)
{
    struct copier *copier = ctx;
    const char *to = wb_path_join(copier->arena, copier->tree, entry->relative);
    int result;
    if (entry->is_folder) {
        result = copy_folder(copier, to);
    } else if (++copier->n_files > WB_MIRROR_FILES_MAX) {
        result = wb_error_set(copier->err, WB_ERROR_LIMIT,
                              "The workspace has more than %d files to copy; the ignore files can "
                              "leave out what the build does not need",
                              WB_MIRROR_FILES_MAX);
    } else {
        add_to_list(&copier->files, entry->relative);
        wb_map_remove(&copier->old, entry->relative);
        result = entry->is_symlink ? copy_link(copier, entry->path, to)
                                   : copy_file(copier, entry->path, to);
    }
    copier->failed = result < 0;
    return result == 0;
}

static void drop_old(struct copier *copier)
{
    size_t cursor = 0;
    const char *relative;
    void *value;
    while (wb_map_next(&copier->old, &cursor, &relative, &value)) {
        unlink(wb_path_join(copier->arena, copier->tree, relative));
    }
}

/* Brings the copy up to date. */
static int copy_once(struct copier *copier, const char *folder, bool ignored,
                     struct wb_cancel *cancel)
{
    const struct wb_walk_options options = {
        .hidden = true, .no_ignore = ignored, .folders = true, .cancel = cancel};
    const char *list = read_list(copier->arena, folder, "files", &copier->old);
    if (copy_folder(copier, copier->tree) < 0 ||
        wb_walk(copier->workspace, copier->workspace, &options, visit, copier, NULL, copier->err) <
            0 ||
        copier->failed) {
        return -1;
    }
    drop_old(copier);
    return wb_file_write_private(list, wb_text_span(&copier->files), copier->err);
}

static void make_new(struct copier *copier, const char *folder)
{
    struct wb_map again;
    wb_map_init(&again);
    read_list(copier->arena, folder, "again", &again);
    size_t cursor = 0;
    const char *relative;
    void *value;
    while (wb_map_next(&again, &cursor, &relative, &value)) {
        const char *path = wb_path_join(copier->arena, copier->tree, relative);
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    }
    wb_map_done(&again);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)flag;
    (void)ftw;
    return S_ISDIR(st->st_mode) ? rmdir(path) : unlink(path);
}

/* True: a copy made from nothing could do better: a build put something in a file's place. */
static bool can_start_over(const struct wb_error *err)
{
    return err->code == WB_ERROR_IO || err->code == WB_ERROR_DENIED;
}

int wb_mirror_update(const char *workspace, const char *folder, bool ignored,
                     struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *tree = wb_path_join(&arena, folder, "tree");
    int result = -1;
    for (int turn = 0; turn < 2 && result < 0; turn++) {
        struct copier copier = {.arena = &arena, .workspace = workspace, .tree = tree, .err = err};
        wb_map_init(&copier.old);
        wb_text_init(&copier.files);
        result = copy_once(&copier, folder, ignored, cancel);
        if (result == 0) {
            make_new(&copier, folder);
        }
        wb_map_done(&copier.old);
        wb_text_done(&copier.files);
        if (result < 0 && !can_start_over(err)) {
            break;
        }
        if (result < 0 && turn == 0) {
            nftw(tree, remove_one, 32, FTW_DEPTH | FTW_PHYS);
        }
    }
    return result;
}

void wb_mirror_compile_again(const char *folder, const char *const *paths, size_t n)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text list;
    struct wb_error err;
    wb_arena_init(&arena);
    wb_text_init(&list);
    for (size_t i = 0; i < n; i++) {
        add_to_list(&list, paths[i]);
    }
    if (wb_file_write_private(wb_path_join(&arena, folder, "again"), wb_text_span(&list), &err) <
        0) {
        wb_log(WB_LOG_WARNING, "the next build may tell fewer warnings: %s", err.message);
    }
}
