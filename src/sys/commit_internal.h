/* commit_internal: what the files of sys/commit*.c share. docs/internals/edits.md tells the whole.
 *
 * A plan is what a list of operations comes to: new contents to stage, steps to take, names to drop
 * at the end. Each step is one change of the file system that can be done, and undone by looking at
 * what is there: a recovering process does not know how far its predecessor came.
 *
 *   commit_plan     checks the operations and makes the plan from them
 *   commit_view     knows what stands at a name when an operation's turn comes
 *   commit_stage    writes the new contents beside, in several threads
 *   commit_step     does and undoes steps
 *   commit_journal  keeps the plan where the next process finds it
 *   commit          puts these in order */
#ifndef WB_SYS_COMMIT_INTERNAL_H
#define WB_SYS_COMMIT_INTERNAL_H

#include <sys/stat.h>

#include "base/text.h"
#include "sys/commit.h"
#include "sys/file.h"
#include "sys/sha256.h"

/* Every name that a commit makes for itself: this and 16 random hexadecimal digits. */
#define WB_COMMIT_TEMP_PREFIX ".werkbank-"

enum wb_commit_step_kind {
    WB_STEP_REPLACE, /* path keeps its old file as `aside` (a hard link), then `temp` takes its place */
    WB_STEP_INPLACE, /* path has other hard links: written in place; `aside` is a copy of the old */
    WB_STEP_MOVE,    /* path to `to`, which is free */
    WB_STEP_MKDIR,   /* path */
};

struct wb_commit_step {
    enum wb_commit_step_kind kind;
    const char *path;
    const char *to;    /* MOVE */
    const char *temp;  /* REPLACE, INPLACE: the new content, staged */
    const char *aside; /* REPLACE, INPLACE */
    /* What is at path before the step. 0, 0 (MOVE): a file made by this commit, known by new_hash
     * alone, since the journal is older than the file. */
    uint64_t device, inode;
    struct wb_sha256 old_hash; /* REPLACE, INPLACE */
    struct wb_sha256 new_hash; /* REPLACE, INPLACE; MOVE without an inode */
    /* Not in the journal: */
    struct wb_span new_content; /* REPLACE, INPLACE */
    struct wb_file_stamp stamp; /* REPLACE, INPLACE: as it was checked */
};

struct wb_commit_temp {
    const char *path;
    const char *shown; /* the file that is to have the content, for sentences */
    struct wb_span content;
    const char *like; /* permissions, owner and attributes of this file; NULL: */
    int mode;         /* this, less umask */
};

struct wb_commit_plan {
    struct wb_arena *arena;
    struct wb_commit_step
        *steps; /* contents first, then the structure in the order of operations */
    size_t n_steps, steps_capacity;
    struct wb_commit_temp *temps;
    size_t n_temps, temps_capacity;
    /* Asides, copies and deleted things, by their names after all steps: removed when done. */
    const char **drops;
    size_t n_drops, drops_capacity;
};

/* plan->arena is set; the operations' contents are borrowed. -1: nothing was touched. */
int wb_commit_plan_make(struct wb_commit_plan *plan, const struct wb_commit *commit,
                        struct wb_error *err);

/* Writes and fsyncs every temp. -1: some may be there; wb_commit_undo_all removes them. */
int wb_commit_stage(const struct wb_commit_plan *plan, struct wb_error *err);

/* False: the file must be written in place. */
bool wb_commit_is_replaceable(const char *path, const struct stat *st);
int wb_commit_step_do(const struct wb_commit_step *step, struct wb_error *err);
/* Undoes what was done of the steps, last first, and removes the temps. Idempotent. */
int wb_commit_undo_all(const struct wb_commit_plan *plan, struct wb_error *err);
/* Is every file that the plan names one that the plan knows? (Else somebody has changed it.) */
int wb_commit_check_known(const struct wb_commit_plan *plan, struct wb_error *err);
/* fsyncs each folder that the steps change, once. Folders that are gone are skipped. */
int wb_commit_sync_folders(const struct wb_commit_plan *plan, struct wb_error *err);
/* Removes the drops. -1: something is left, the error names it. */
int wb_commit_drop_all(const struct wb_commit_plan *plan, struct wb_error *err);

/* The journal of one workspace, locked. */
struct wb_commit_journal {
    char *path;
    int fd; /* -1: not open */
};

/* Opens and locks it, waiting for other commits. With `existing`, 1 when there is none. */
int wb_commit_journal_open(struct wb_commit_journal *journal, const char *workspace, bool existing,
                           struct wb_error *err);
void wb_commit_journal_close(struct wb_commit_journal *journal);
int wb_commit_journal_write(struct wb_commit_journal *journal, const struct wb_commit_plan *plan,
                            bool sync, struct wb_error *err);
/* From here on recovery finishes instead of rolling back. */
int wb_commit_journal_mark_done(struct wb_commit_journal *journal, bool sync, struct wb_error *err);
/* Empties it: nothing is pending. */
int wb_commit_journal_clear(struct wb_commit_journal *journal, struct wb_error *err);
/* 1: *plan and *ret_done are what it holds. 0: nothing is pending. */
int wb_commit_journal_read(struct wb_commit_journal *journal, struct wb_commit_plan *plan,
                           bool *ret_done, struct wb_error *err);
/* The text of a plan and back, on memory. */
void wb_commit_journal_format(struct wb_text *out, const struct wb_commit_plan *plan);
int wb_commit_journal_parse(struct wb_span text, struct wb_commit_plan *plan, bool *ret_done);

#endif
