/* commit_step: each step of a plan, forwards and backwards.
 *
 * Undoing looks at what is there and needs no memory of what was done: a step was done when the
 * thing that it moves is behind it and its old place is free. Steps are undone from the last to the
 * first, so names mean what they meant when the step was done. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "sys/commit_internal.h"
#include "sys/path.h"

static bool exists(const char *path, struct stat *st)
{
    return lstat(path, st) == 0;
}

static bool is_inode(const struct stat *st, uint64_t device, uint64_t inode)
{
    return st->st_dev == device && st->st_ino == inode;
}

/* A name in a folder that no link led to. */
struct spot {
    int folder;
    const char *name;
};

static void spot_close(struct spot *spot)
{
    if (spot->folder >= 0) {
        close(spot->folder);
    }
}

/* Names are checked to be inside the workspace and used later: a link that somebody puts in a
 * folder's place meanwhile must lead nowhere. */
static int spot_open(struct spot *spot, const char *path)
{
    WB_AUTO(wb_free_p) char *folder = wb_strdup(path);
    spot->name = wb_path_base(path);
    folder[WB_MAX(spot->name - path - 1, 1)] = '\0';
    spot->folder = wb_file_open_real(folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    return spot->folder >= 0 ? 0 : -1;
}

/* rename() that refuses to replace. File systems that cannot promise that (old network and FUSE
 * ones) get a look before the leap. */
static int rename_to_free(const char *from, const char *to)
{
    WB_AUTO(spot_close) struct spot old = {-1, NULL};
    WB_AUTO(spot_close) struct spot new = {-1, NULL};
    if (spot_open(&old, from) != 0 || spot_open(&new, to) != 0) {
        return -1;
    }
    if (renameat2(old.folder, old.name, new.folder, new.name, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -1;
    }
    struct stat st;
    if (exists(to, &st)) {
        errno = EEXIST;
        return -1;
    }
    return renameat(old.folder, old.name, new.folder, new.name);
}

static int stale(struct wb_error *err, const char *path)
{
    return wb_error_set(err, WB_ERROR_STALE,
                        "%s was changed by somebody else at this moment: read it again, then "
                        "repeat the change",
                        path);
}

static bool is_stamp(const char *path, const struct wb_file_stamp *stamp)
{
    struct wb_file_stamp now;
    return wb_file_kind(path, &now) == WB_FILE_REGULAR && wb_file_stamp_equal(&now, stamp);
}

/* Other names would keep the old content. A file put in the place of somebody else's would be ours,
 * and in a sticky folder it could not be put there. A mount point, a container's way to give a single
 * file, takes nothing in its place. */
bool wb_commit_is_replaceable(const char *path, const struct stat *st)
{
    struct statx stx;
    bool is_anothers = geteuid() != 0 && st->st_uid != geteuid();
    bool is_mounted = statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
                      (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return st->st_nlink == 1 && !is_anothers && !is_mounted;
}

static int do_replace(const struct wb_commit_step *step, struct wb_error *err)
{
    if (!is_stamp(step->path, &step->stamp)) {
        return stale(err, step->path);
    }
    WB_AUTO(spot_close) struct spot spot = {-1, NULL};
    if (spot_open(&spot, step->path) != 0) {
        return wb_error_errno(err, errno, "Cannot replace %s", step->path);
    }
    const char *aside = wb_path_base(step->aside), *temp = wb_path_base(step->temp);
    if (linkat(spot.folder, spot.name, spot.folder, aside, 0) != 0) {
        /* No hard links here: then the name is missing for a moment. */
        bool unsupported =
            errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK;
        if (!unsupported || rename_to_free(step->path, step->aside) != 0) {
            return wb_error_errno(err, errno, "Cannot keep the old %s", step->path);
        }
    }
    if (renameat(spot.folder, temp, spot.folder, spot.name) != 0) {
        return wb_error_errno(err, errno, "Cannot replace %s", step->path);
    }
    return 0;
}

static int write_in_place(const char *path, struct wb_span content, struct wb_error *err)
{
    int fd = wb_file_open_real(path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return wb_error_errno(err, errno, "Cannot write %s", path);
    }
    bool good = wb_file_write_all(fd, content) == 0 && ftruncate(fd, (off_t)content.len) == 0 &&
                fsync(fd) == 0;
    int failed = good ? 0 : errno;
    close(fd);
    return failed == 0 ? 0 : wb_error_errno(err, failed, "Cannot write %s", path);
}

/* In the words of whoever knows nothing of names of ours. */
static int refuse_move(const struct wb_commit_step *step, int reason, struct wb_error *err)
{
    const char *from = wb_path_base(step->path), *to = wb_path_base(step->to);
    if (wb_str_starts(to, WB_COMMIT_TEMP_PREFIX)) {
        return wb_error_errno(err, reason, "Cannot remove %s", step->path);
    }
    if (wb_str_starts(from, WB_COMMIT_TEMP_PREFIX)) {
        return wb_error_errno(err, reason, "Cannot make the file %s", step->to);
    }
    return wb_error_errno(err, reason, "Cannot rename %s to %s", step->path, step->to);
}

static int make_folder(const char *path, struct wb_error *err)
{
    WB_AUTO(spot_close) struct spot spot = {-1, NULL};
    if (spot_open(&spot, path) != 0 || mkdirat(spot.folder, spot.name, 0777) != 0) {
        return wb_error_errno(err, errno, "Cannot make the folder %s", path);
    }
    return 0;
}

static int do_move(const struct wb_commit_step *step, struct wb_error *err)
{
    struct stat st;
    if (!exists(step->path, &st) ||
        (step->inode != 0 && !is_inode(&st, step->device, step->inode))) {
        return stale(err, step->path);
    }
    if (rename_to_free(step->path, step->to) != 0) {
        return refuse_move(step, errno, err);
    }
    return 0;
}

int wb_commit_step_do(const struct wb_commit_step *step, struct wb_error *err)
{
    switch (step->kind) {
    case WB_STEP_REPLACE:
        return do_replace(step, err);
    case WB_STEP_INPLACE:
        if (!is_stamp(step->path, &step->stamp)) {
            return stale(err, step->path);
        }
        return write_in_place(step->path, step->new_content, err);
    case WB_STEP_MOVE:
        return do_move(step, err);
    case WB_STEP_MKDIR:
        return make_folder(step->path, err);
    }
    return 0;
}

static bool hash_file(const char *path, struct wb_sha256 *ret)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span content;
    if (wb_file_read(&arena, path, SIZE_MAX / 4, &content, NULL, NULL) != 0) {
        return false;
    }
    *ret = wb_sha256(content);
    return true;
}

static bool has_hash(const char *path, const struct wb_sha256 *hash)
{
    struct wb_sha256 found;
    return hash_file(path, &found) && wb_sha256_equal(&found, hash);
}

/* Is this inode one that was there before the commit? */
static bool is_original(const struct wb_commit_plan *plan, const struct stat *st)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (is_inode(st, plan->steps[i].device, plan->steps[i].inode)) {
            return true;
        }
    }
    return false;
}

static bool move_was_done(const struct wb_commit_plan *plan, const struct wb_commit_step *step)
{
    struct stat st;
    if (exists(step->path, &st) || !exists(step->to, &st)) {
        return false;
    }
    if (step->inode != 0) {
        return is_inode(&st, step->device, step->inode);
    }
    /* The same content alone does not make it ours: "rename a to b, make a new a like the old". */
    return S_ISREG(st.st_mode) && has_hash(step->to, &step->new_hash) && !is_original(plan, &st);
}

/* A name of ours that the folder does not let go any more (append-only, sticky) is left behind: that
 * changes nobody's file, and must not keep all later commits from starting. */
static int remove_ours(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EPERM) {
        return -1;
    }
    wb_log(WB_LOG_WARNING, "%s is left behind: its folder does not let it go", path);
    return 0;
}

static int undo_replace(const struct wb_commit_step *step)
{
    struct stat aside, there;
    if (!exists(step->aside, &aside)) {
        return 0;
    }
    if (exists(step->path, &there) && is_inode(&there, aside.st_dev, aside.st_ino)) {
        return remove_ours(step->aside);
    }
    return rename(step->aside, step->path);
}

static int undo_inplace(const struct wb_commit_step *step)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span old;
    if (has_hash(step->path, &step->old_hash)) {
        return 0;
    }
    if (wb_file_read(&arena, step->aside, SIZE_MAX / 4, &old, NULL, NULL) != 0) {
        errno = ENOENT;
        return -1;
    }
    struct wb_sha256 hash = wb_sha256(old);
    if (!wb_sha256_equal(&hash, &step->old_hash)) { /* the copy was not finished: nor begun the */
        errno = EIO;                                /* writing, so this cannot be */
        return -1;
    }
    if (write_in_place(step->path, old, NULL) != 0) {
        errno = EIO;
        return -1;
    }
    return 0;
}

static int undo_mkdir(const struct wb_commit_plan *plan, const struct wb_commit_step *step)
{
    struct stat st;
    if (!exists(step->path, &st) || is_original(plan, &st)) {
        return 0;
    }
    /* Somebody may have put a file into it meanwhile: then it stays. */
    return rmdir(step->path) == 0 || errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR ? 0
                                                                                               : -1;
}

static int undo_step(const struct wb_commit_plan *plan, const struct wb_commit_step *step)
{
    switch (step->kind) {
    case WB_STEP_REPLACE:
        return undo_replace(step);
    case WB_STEP_INPLACE:
        return undo_inplace(step);
    case WB_STEP_MOVE:
        return move_was_done(plan, step) ? rename_to_free(step->to, step->path) : 0;
    case WB_STEP_MKDIR:
        return undo_mkdir(plan, step);
    }
    return 0;
}

int wb_commit_undo_all(const struct wb_commit_plan *plan, struct wb_error *err)
{
    for (size_t i = plan->n_steps; i-- > 0;) {
        if (undo_step(plan, &plan->steps[i]) != 0) {
            return wb_error_errno(err, errno, "Cannot put %s back", plan->steps[i].path);
        }
    }
    for (size_t i = 0; i < plan->n_temps; i++) {
        if (remove_ours(plan->temps[i].path) != 0) {
            return wb_error_errno(err, errno, "Cannot remove %s", plan->temps[i].path);
        }
    }
    return 0;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct wb_sha256));
}

/* A file that was being written in place: each byte is the old one or the new one. */
static bool is_mixture(const struct wb_commit_step *step)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span old, new, now;
    size_t max = SIZE_MAX / 4;
    if (wb_file_read(&arena, step->path, max, &now, NULL, NULL) != 0 ||
        wb_file_read(&arena, step->aside, max, &old, NULL, NULL) != 0 ||
        wb_file_read(&arena, step->temp, max, &new, NULL, NULL) != 0 ||
        now.len > WB_MAX(old.len, new.len)) {
        return false;
    }
    for (size_t i = 0; i < now.len; i++) {
        bool is_old = i < old.len && now.ptr[i] == old.ptr[i];
        bool is_new = i < new.len &&now.ptr[i] == new.ptr[i];
        if (!is_old && !is_new) {
            return false;
        }
    }
    return true;
}

struct known_hashes {
    struct wb_sha256 *sorted;
    size_t n;
};

/* Missing, no file, there before the commit, or with a content that the plan speaks of. */
static bool is_known(const struct wb_commit_plan *plan, const struct known_hashes *known,
                     const char *path)
{
    struct stat st;
    struct wb_sha256 hash;
    if (!exists(path, &st) || !S_ISREG(st.st_mode) || is_original(plan, &st)) {
        return true;
    }
    return hash_file(path, &hash) &&
           bsearch(&hash, known->sorted, known->n, sizeof(hash), compare_hashes) != NULL;
}

/* The file that undoing this step would lose or leave behind half-way; NULL: none. */
static const char *find_stranger(const struct wb_commit_plan *plan,
                                 const struct known_hashes *known,
                                 const struct wb_commit_step *step)
{
    struct stat st;
    switch (step->kind) {
    case WB_STEP_REPLACE:
        return exists(step->aside, &st) && !is_known(plan, known, step->path) ? step->path : NULL;
    case WB_STEP_INPLACE:
        return has_hash(step->path, &step->old_hash) || is_mixture(step) ? NULL : step->path;
    case WB_STEP_MOVE:
        if (!exists(step->to, &st)) {
            return NULL;
        }
        if (step->inode != 0) { /* moved, and its old name was taken by somebody */
            bool moved = is_inode(&st, step->device, step->inode);
            return moved && !is_known(plan, known, step->path) ? step->path : NULL;
        }
        return !exists(step->path, &st) && !is_known(plan, known, step->to) ? step->to : NULL;
    default:
        return NULL;
    }
}

int wb_commit_check_known(const struct wb_commit_plan *plan, struct wb_error *err)
{
    struct known_hashes known = {
        wb_arena_alloc_array(plan->arena, 2 * plan->n_steps + 1, sizeof(struct wb_sha256)), 0};
    for (size_t i = 0; i < plan->n_steps; i++) {
        known.sorted[known.n++] = plan->steps[i].old_hash;
        known.sorted[known.n++] = plan->steps[i].new_hash;
    }
    qsort(known.sorted, known.n, sizeof(*known.sorted), compare_hashes);
    for (size_t i = 0; i < plan->n_steps; i++) {
        const char *stranger = find_stranger(plan, &known, &plan->steps[i]);
        if (stranger != NULL) {
            return wb_error_set(err, WB_ERROR_STALE, "%s has been changed since", stranger);
        }
    }
    return 0;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int sync_folder(const char *folder, struct wb_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : wb_error_errno(err, errno, "Cannot open the folder %s", folder);
    }
    /* EINVAL: a file system without it. */
    int failed = fsync(fd) != 0 && errno != EINVAL ? errno : 0;
    close(fd);
    return failed == 0 ? 0 : wb_error_errno(err, failed, "Cannot write the folder %s", folder);
}

int wb_commit_sync_folders(const struct wb_commit_plan *plan, struct wb_error *err)
{
    size_t n = 0;
    const char **folders =
        wb_arena_alloc_array(plan->arena, 2 * plan->n_steps + plan->n_drops + 1, sizeof(*folders));
    for (size_t i = 0; i < plan->n_steps; i++) {
        folders[n++] = wb_path_dir(plan->arena, plan->steps[i].path);
        if (plan->steps[i].to != NULL) {
            folders[n++] = wb_path_dir(plan->arena, plan->steps[i].to);
        }
    }
    for (size_t i = 0; i < plan->n_drops; i++) {
        folders[n++] = wb_path_dir(plan->arena, plan->drops[i]);
    }
    qsort(folders, n, sizeof(*folders), compare_strings);
    for (size_t i = 0; i < n; i++) {
        bool repeated = i != 0 && wb_str_equal(folders[i], folders[i - 1]);
        if (!repeated && sync_folder(folders[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int remove_tree_at(int folder_fd, const char *name);

/* Takes fd. */
static int remove_content(int fd)
{
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return -1;
    }
    int removed = 0;
    struct dirent *entry;
    while (removed == 0 && (entry = readdir(dir)) != NULL) {
        if (!wb_str_equal(entry->d_name, ".") && !wb_str_equal(entry->d_name, "..")) {
            removed = remove_tree_at(fd, entry->d_name);
        }
    }
    int reason = errno;
    closedir(dir);
    errno = reason;
    return removed;
}

static int remove_tree_at(int folder_fd, const char *name)
{
    if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return -1;
    }
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || remove_content(fd) != 0) {
        return -1;
    }
    return unlinkat(folder_fd, name, AT_REMOVEDIR);
}

int wb_commit_drop_all(const struct wb_commit_plan *plan, struct wb_error *err)
{
    int result = 0;
    for (size_t i = 0; i < plan->n_drops; i++) {
        WB_AUTO(spot_close) struct spot spot = {-1, NULL};
        if (spot_open(&spot, plan->drops[i]) != 0 ? errno != ENOENT
                                                  : remove_tree_at(spot.folder, spot.name) != 0) {
            result = wb_error_errno(err, errno, "Cannot remove %s", plan->drops[i]);
        }
    }
    return result;
}
