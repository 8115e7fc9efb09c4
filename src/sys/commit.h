/* commit: several files written all or none. Every change of a workspace goes through here.
 *
 * A commit is an ordered list of operations, each bound to the content that it was planned on. Every
 * file is checked first (content, kind, inside the boundary, writable). Then a journal with every
 * step and the old and new hash of each file goes to the disk, the new contents are written beside
 * and fsynced, the renames are done, each folder is fsynced once, and the journal is dropped. A
 * failure rolls back; after a crash at any instant wb_commit_recover rolls back, or finishes what
 * was done already, so that the tree is all old or all new.
 *
 *   planned -> journalled -> staged -> renamed -> marked done -> cleaned up
 *                   \___________\_________\____> rolled back
 *
 * Kept: permissions, owner where allowed, symlinks (the target is written), hard links (written in
 * place under the journal), extended attributes where the file system has them. The journal folder
 * is in the user's state folder, one a workspace. Any thread; commits of one workspace exclude one
 * another (a lock on the journal), also between processes. */
#ifndef WB_SYS_COMMIT_H
#define WB_SYS_COMMIT_H

#include "base/arena.h"
#include "base/error.h"

enum wb_commit_kind {
    WB_COMMIT_WRITE,  /* create or change: path gets new_content */
    WB_COMMIT_DELETE, /* path, a file; or a folder if recursive */
    WB_COMMIT_RENAME, /* path to new_path, a file or a folder */
};

struct wb_commit_op {
    enum wb_commit_kind kind;
    const char *path;     /* absolute */
    const char *new_path; /* RENAME only */
    bool must_exist;      /* WRITE: the file exists and holds old_content; else it must not exist */
    struct wb_span old_content; /* WRITE with must_exist, DELETE of a file: what is there now */
    struct wb_span new_content; /* WRITE */
    bool overwrite;             /* RENAME: an existing file at new_path is replaced */
    bool recursive;             /* DELETE of a folder */
    int mode;                   /* WRITE of a new file: permissions; 0: 0666 less umask */
};

/* Missing parent folders of written and renamed files are made. */
struct wb_commit {
    const char *workspace; /* absolute real path: names the journal */
    const char *boundary;  /* every real path must be inside; NULL: no boundary */
    const struct wb_commit_op *ops;
    size_t n_ops;
};

/* 0: all new. -1: all old, and the error says which file and why (WB_ERROR_STALE for content that
 * is not what the plan says). */
WB_MUST_CHECK int wb_commit_apply(const struct wb_commit *commit, struct wb_error *err);

/* Finishes or rolls back what a crash left for this workspace. Called when a workspace is opened;
 * returns the number of commits repaired, -1 with an error when a file has changed since and
 * nothing was touched (the journal is kept and named). */
int wb_commit_recover(const char *workspace, struct wb_error *err);

#endif
