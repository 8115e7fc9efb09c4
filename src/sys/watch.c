/* watch: turns inotify's events into "created, changed, deleted" of files.
 *
 * An event only makes a path dirty. What became of it is decided once, at the end of a look, by
 * what is on disk now and by the set of files as of the last look: so several events of one path
 * become one, a folder that moved away takes its files along, and after an overflow a walk gives
 * the same answer as the events would have. */
#include "sys/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/text.h"
#include "sys/path.h"
#include "sys/walk.h"

#define EVENTS                                                                                     \
    (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW)
#define READS_MAX 4096           /* a look ends, however fast others write */
#define WALK_AGAIN_AFTER_MS 5000 /* where a limit stood in the way of the last walk */

struct folder {
    int wd;
    char *path;
};

struct wb_watch {
    int fd;
    char *workspace;
    struct folder *folders; /* by wd */
    size_t n_folders, capacity;
    struct wb_map files;       /* as of the last look */
    bool lost;                 /* events, or watches that could not be placed: walk again */
    int64_t walk_again_at_ms;  /* no sooner */
    struct timespec looked_at; /* on the clock of the file system's times */
};

/* Why a path is dirty. */
enum { DIRTY_KNOWN = 1, DIRTY_TOUCHED = 2, DIRTY_WALKED = 4 };

struct look {
    struct wb_watch *watch;
    struct wb_map paths; /* to DIRTY_ bits */
    struct wb_text path; /* to join names in */
    unsigned bits;       /* of what the running walk finds */
};

static void mark(struct look *look, const char *path, unsigned bits)
{
    uintptr_t before = (uintptr_t)wb_map_get(&look->paths, path);
    if ((before | bits) != before) {
        wb_map_set(&look->paths, path, (void *)(before | bits));
    }
}

/* The index of the first folder whose wd is not smaller. */
static size_t find_folder(const struct wb_watch *watch, int wd)
{
    size_t low = 0, high = watch->n_folders;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (watch->folders[middle].wd < wd) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct folder *get_folder(struct wb_watch *watch, int wd)
{
    size_t i = find_folder(watch, wd);
    return i < watch->n_folders && watch->folders[i].wd == wd ? &watch->folders[i] : NULL;
}

/* Numbers grow as the kernel gives them, so that a new folder nearly always goes to the end. */
static void put_folder(struct wb_watch *watch, int wd, const char *path)
{
    struct folder *known = get_folder(watch, wd);
    if (known != NULL) {
        free(known->path);
        known->path = wb_strdup(path);
        return;
    }
    size_t i = find_folder(watch, wd);
    WB_GROW(watch->folders, watch->capacity, watch->n_folders + 1);
    memmove(&watch->folders[i + 1], &watch->folders[i],
            (watch->n_folders - i) * sizeof(*watch->folders));
    watch->folders[i] = (struct folder){wd, wb_strdup(path)};
    watch->n_folders++;
}

static void drop_folders(struct wb_watch *watch)
{
    for (size_t i = 0; i < watch->n_folders; i++) {
        free(watch->folders[i].path);
    }
    watch->n_folders = 0;
}

/* A folder that is gone again or may not be read is no loss; one over the limit is. */
static bool watch_folder(struct wb_watch *watch, const char *path)
{
    int wd = inotify_add_watch(watch->fd, path, EVENTS);
    if (wd >= 0) {
        put_folder(watch, wd, path);
    }
    return wd >= 0 || (errno != ENOSPC && errno != ENOMEM);
}

/* Its watch is set before the folder is listed: what comes in between is seen twice, never not. */
static bool visit(void *ctx, const struct wb_walk_entry *entry)
{
    struct look *look = ctx;
    struct wb_watch *watch = look->watch;
    if (entry->is_folder) {
        watch->lost |= !watch_folder(watch, entry->path);
    } else if (look->paths.count < WB_WATCH_FILES_MAX) {
        mark(look, entry->path, look->bits);
    } else {
        watch->lost = true;
    }
    return !watch->lost;
}

static void walk_folder(struct look *look, const char *folder, unsigned bits)
{
    struct wb_watch *watch = look->watch;
    struct wb_error err = {0};
    look->bits = bits;
    if (!watch_folder(watch, folder)) {
        watch->lost = true;
    } else if (wb_walk(watch->workspace, folder, &(struct wb_walk_options){.folders = true}, visit,
                       look, NULL, &err) != 0) {
        watch->lost |= err.code == WB_ERROR_LIMIT || wb_str_equal(folder, watch->workspace);
    }
}

/* Everything anew. Watches that are there already keep their numbers. */
static void walk_again(struct look *look)
{
    struct wb_watch *watch = look->watch;
    size_t cursor = 0;
    const char *path;
    void *value;
    while (wb_map_next(&watch->files, &cursor, &path, &value)) {
        mark(look, path, DIRTY_KNOWN);
    }
    drop_folders(watch);
    watch->lost = false;
    walk_folder(look, watch->workspace, DIRTY_WALKED);
    watch->walk_again_at_ms = watch->lost ? wb_clock_deadline(WALK_AGAIN_AFTER_MS) : 0;
}

/* The folder went elsewhere: its files are gone, and its watches would tell wrong paths. */
static void forget_folder(struct look *look, const char *path)
{
    struct wb_watch *watch = look->watch;
    size_t cursor = 0, n = 0;
    const char *file;
    void *value;
    while (wb_map_next(&watch->files, &cursor, &file, &value)) {
        if (wb_path_is_inside(file, path)) {
            mark(look, file, DIRTY_KNOWN);
        }
    }
    for (size_t i = 0; i < watch->n_folders; i++) {
        if (wb_path_is_inside(watch->folders[i].path, path)) {
            inotify_rm_watch(watch->fd, watch->folders[i].wd);
            free(watch->folders[i].path);
        } else {
            watch->folders[n++] = watch->folders[i];
        }
    }
    watch->n_folders = n;
}

/* The kernel has dropped the watch: the folder was removed, or we asked for it. */
static void take_ignored(struct wb_watch *watch, int wd)
{
    struct folder *folder = get_folder(watch, wd);
    if (folder == NULL) {
        return;
    }
    watch->lost |= wb_str_equal(folder->path, watch->workspace);
    free(folder->path);
    size_t i = (size_t)(folder - watch->folders);
    watch->n_folders--;
    memmove(folder, folder + 1, (watch->n_folders - i) * sizeof(*folder));
}

static void take_event(struct look *look, const struct inotify_event *event)
{
    struct wb_watch *watch = look->watch;
    if (event->mask & IN_Q_OVERFLOW) {
        watch->lost = true;
        return;
    }
    if (event->mask & IN_IGNORED) {
        take_ignored(watch, event->wd);
        return;
    }
    const struct folder *folder = get_folder(watch, event->wd);
    if (folder == NULL || event->len == 0 || event->name[0] == '.') {
        return;
    }
    wb_text_clear(&look->path);
    wb_text_add_str(&look->path, wb_str_equal(folder->path, "/") ? "" : folder->path);
    wb_text_printf(&look->path, "/%s", event->name);
    const char *path = wb_text_cstr(&look->path);
    if (!(event->mask & IN_ISDIR)) {
        mark(look, path, DIRTY_TOUCHED);
    } else if (event->mask & IN_MOVED_FROM) {
        forget_folder(look, path);
    } else if ((event->mask & (IN_CREATE | IN_MOVED_TO)) &&
               !wb_walk_leaves_out(watch->workspace, path, true)) {
        walk_folder(look, path, DIRTY_TOUCHED | DIRTY_WALKED);
    }
}

/* True when there was anything. */
static bool take_events(struct look *look)
{
    _Alignas(struct inotify_event) char buffer[16 * WB_KIB];
    ssize_t len = 0;
    int reads = 0;
    for (; reads < READS_MAX; reads++) {
        len = read(look->watch->fd, buffer, sizeof(buffer));
        if (len <= 0) {
            break;
        }
        const struct inotify_event *event;
        for (ssize_t at = 0; at < len; at += (ssize_t)(sizeof(*event) + event->len)) {
            event = (const struct inotify_event *)(buffer + at);
            take_event(look, event);
        }
    }
    return reads > 0;
}

static bool is_since(struct timespec time, struct timespec since)
{
    return time.tv_sec > since.tv_sec ||
           (time.tv_sec == since.tv_sec && time.tv_nsec >= since.tv_nsec);
}

/* 0: there is nothing to tell. */
static int settle(struct wb_watch *watch, const char *path, unsigned bits)
{
    struct stat st;
    bool exists = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    bool known = wb_map_get(&watch->files, path) != NULL;
    if (!exists) {
        return wb_map_remove(&watch->files, path) != NULL ? WB_WATCH_DELETED : 0;
    }
    if (known) {
        bool changed = (bits & DIRTY_TOUCHED) || is_since(st.st_ctim, watch->looked_at);
        return changed ? WB_WATCH_CHANGED : 0;
    }
    if (!(bits & DIRTY_WALKED) && wb_walk_leaves_out(watch->workspace, path, false)) {
        return 0;
    }
    wb_map_set(&watch->files, path, watch);
    return WB_WATCH_CREATED;
}

static void settle_all(struct look *look, struct wb_arena *arena, struct wb_watch_event **ret,
                       size_t *ret_n)
{
    size_t cursor = 0, n = 0;
    const char *path;
    void *bits;
    *ret = wb_arena_alloc_array(arena, look->paths.count, sizeof(**ret));
    while (wb_map_next(&look->paths, &cursor, &path, &bits)) {
        int kind = settle(look->watch, path, (unsigned)(uintptr_t)bits);
        if (kind != 0) {
            (*ret)[n++] = (struct wb_watch_event){wb_arena_strdup(arena, path), kind};
        }
    }
    *ret_n = n;
}

static void look_init(struct look *look, struct wb_watch *watch)
{
    *look = (struct look){.watch = watch};
    wb_map_init(&look->paths);
    wb_text_init(&look->path);
}

static void look_done(struct look *look)
{
    wb_map_done(&look->paths);
    wb_text_done(&look->path);
}

void wb_watch_look(struct wb_watch *watch, struct wb_arena *arena, struct wb_watch_event **ret,
                   size_t *ret_n, bool *ret_complete)
{
    WB_AUTO(look_done) struct look look;
    look_init(&look, watch);
    *ret = NULL;
    *ret_n = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* no system call: read from the vDSO */
    bool any = take_events(&look);
    *ret_complete = !watch->lost;
    if (watch->lost && wb_clock_left_ms(watch->walk_again_at_ms) == 0) {
        walk_again(&look);
        any = true;
    }
    if (any) {
        settle_all(&look, arena, ret, ret_n);
    }
    watch->looked_at = now;
}

struct wb_watch *wb_watch_new(const char *workspace, struct wb_error *err)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0) {
        wb_error_errno(err, errno, "Cannot watch %s for changes", workspace);
        return NULL;
    }
    struct wb_watch *watch = wb_alloc(sizeof(*watch));
    watch->fd = fd;
    watch->workspace = wb_strdup(workspace);
    wb_map_init(&watch->files);
    clock_gettime(CLOCK_REALTIME_COARSE, &watch->looked_at);

    WB_AUTO(look_done) struct look look;
    look_init(&look, watch);
    walk_again(&look);
    size_t cursor = 0;
    const char *path;
    void *bits;
    while (wb_map_next(&look.paths, &cursor, &path, &bits)) {
        wb_map_set(&watch->files, path, watch);
    }
    return watch;
}

void wb_watch_free(struct wb_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    close(watch->fd);
    drop_folders(watch);
    free(watch->folders);
    wb_map_done(&watch->files);
    free(watch->workspace);
    free(watch);
}
