/* walk: the files of a folder, in path order, without what ignore files exclude.
 *
 * Hidden entries, .git, and what .gitignore, .ignore and .git/info/exclude name are left out;
 * symlinks to files are given, symlinks to folders are not followed. Reads with openat below the
 * root. Entries that cannot be read are counted. Any thread; one walk belongs to one thread. */
#ifndef WB_SYS_WALK_H
#define WB_SYS_WALK_H

#include "base/cancel.h"
#include "base/error.h"

struct wb_walk_options {
    bool hidden;    /* also hidden files and folders (never .git) */
    bool no_ignore; /* ignore files are not read */
    bool folders;   /* folders are given too, before their content */
    struct wb_cancel *cancel;
};

struct wb_walk_entry {
    const char *path;     /* absolute; valid during the callback */
    const char *relative; /* to the folder that the walk began in */
    bool is_folder, is_symlink;
};

struct wb_walk_counts {
    size_t files, hidden, ignored, unreadable;
};

/* Calls visit for each entry; visit returns false to stop early (that is a success). folder must
 * lie in workspace, whose ignore files apply from the top (workspace may equal folder). */
int wb_walk(const char *workspace, const char *folder, const struct wb_walk_options *options,
            bool (*visit)(void *ctx, const struct wb_walk_entry *entry), void *ctx,
            struct wb_walk_counts *ret_counts, struct wb_error *err);

/* Would a walk with default options leave this one entry out, as hidden or by the ignore files from
 * the workspace down to its folder? The folders above it are not asked for their own sake. */
bool wb_walk_leaves_out(const char *workspace, const char *path, bool is_folder);

#endif
