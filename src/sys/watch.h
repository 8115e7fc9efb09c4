/* watch: what changed on disk below a folder since the last look (inotify(7), Linux's own).
 *
 * Folders are watched, not files; ignored and hidden folders are left out as in sys/walk.h. Events
 * are queued by the kernel at the moment of the change, so a look sees everything that happened
 * before it. Where the limit of watches is reached, or the queue overflowed, the look says that it
 * is not complete. No thread of its own: the caller looks. Any thread, one look at a time. */
#ifndef WB_SYS_WATCH_H
#define WB_SYS_WATCH_H

#include "base/arena.h"
#include "base/error.h"

struct wb_watch;

enum wb_watch_kind { WB_WATCH_CREATED = 1, WB_WATCH_CHANGED, WB_WATCH_DELETED }; /* as in LSP */

struct wb_watch_event {
    const char *path; /* absolute, in the arena of the look */
    enum wb_watch_kind kind;
};

/* Walks the folder once. NULL only if inotify itself cannot be had. */
struct wb_watch *wb_watch_new(const char *workspace, struct wb_error *err);
void wb_watch_free(struct wb_watch *watch);

/* Takes what happened: one event a path (created and deleted between two looks: none), files only,
 * a new folder's files included. *ret_complete false: something may have been missed. Costs one
 * system call when nothing happened. */
void wb_watch_look(struct wb_watch *watch, struct wb_arena *arena, struct wb_watch_event **ret,
                   size_t *ret_n, bool *ret_complete);

#endif
