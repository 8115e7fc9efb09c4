/* staging: the staged edits of a run, until they are accepted or discarded.
 *
 *   staged -> resolving -> accepted
 *     |  ^---- refused ----'
 *     `-> discarded
 *
 * An edit holds, for each file, the content that it was made from and the content that it makes.
 * Accepting compares all files with the former and refuses the whole change on any difference. Ids
 * that are resolved stay known, without their content. Any thread. */
#ifndef WB_STAGING_STAGING_H
#define WB_STAGING_STAGING_H

#include "run/run.h"
#include "run/staging.h"

#define WB_STAGING_EDITS_MAX 32             /* staged at once, in a run */
#define WB_STAGING_BYTES_MAX (512 * WB_MIB) /* old and new content of them all */

enum wb_staged_state {
    WB_STAGED_STAGED,
    WB_STAGED_RESOLVING,
    WB_STAGED_ACCEPTED,
    WB_STAGED_DISCARDED,
};

struct wb_staged_edit {
    char id[WB_STAGED_ID_BYTES];
    enum wb_staged_state state;
    const char *what;
    const struct wb_staged_file *files; /* gone once it is resolved */
    size_t n_files, n_replacements, bytes;
    struct wb_arena arena;
};

/* Attaches staging to the run. */
void wb_staging_attach(struct wb_run *run);
bool wb_staging_available(const struct wb_run *run);

struct wb_staging *wb_staging_of_run(const struct wb_run *run);

/* Takes a staged edit for resolving; it must be given back by wb_staging_finish. The error says of an
 * id that is unknown or used what is staged instead. */
const struct wb_staged_edit *wb_staging_take(struct wb_staging *staging, const char *id,
                                             struct wb_error *err);
/* STAGED: it was refused, and stays. ACCEPTED, DISCARDED: its content is freed. */
void wb_staging_finish(struct wb_staging *staging, const struct wb_staged_edit *edit,
                       enum wb_staged_state state);
/* The files of a staged edit, copied into the arena; NULL: it is not staged. For the gate. */
const char *const *wb_staging_paths(struct wb_staging *staging, const char *id,
                                    struct wb_arena *arena);

#endif
