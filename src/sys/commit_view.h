/* commit_view: what stands at a name when an operation's turn comes.
 *
 * Nothing is moved while a plan is made. The view keeps the moves, folders and files planned so far
 * and leads a name back through them to the name that the thing has on the disk now. */
#ifndef WB_SYS_COMMIT_VIEW_H
#define WB_SYS_COMMIT_VIEW_H

#include <sys/stat.h>

#include "sys/commit_internal.h"

/* A file that the commit makes. */
struct wb_commit_creation {
    const char *temp;  /* where it is staged, by the name on the disk now */
    const char *shown; /* the file that it will be, for sentences */
    struct wb_span content;
    int mode;
};

struct wb_commit_move {
    struct wb_commit_step step; /* MOVE or MKDIR */
    size_t creation;            /* what is moved is this creation; SIZE_MAX: it is on the disk */
    bool drops;                 /* `to` is removed at the end */
};

struct wb_commit_view {
    struct wb_arena *arena;
    const struct wb_commit *commit;
    struct wb_commit_creation *creations;
    size_t n_creations, creations_capacity;
    struct wb_commit_move *moves;
    size_t n_moves, moves_capacity;
};

enum wb_commit_place_kind {
    WB_PLACE_MISSING,
    WB_PLACE_FILE,
    WB_PLACE_FOLDER,
    WB_PLACE_LINK, /* a symlink, whatever it leads to */
    WB_PLACE_OTHER,
    WB_PLACE_NEW_FILE,
    WB_PLACE_NEW_FOLDER,
};

struct wb_commit_place {
    enum wb_commit_place_kind kind;
    const char *origin; /* its name on the disk now; NULL for new folders */
    struct stat st;     /* of what is on the disk */
    size_t creation;    /* NEW_FILE */
};

/* Relative to the workspace where it is inside: for sentences. */
const char *wb_commit_view_shown(const struct wb_commit_view *view, const char *path);
int wb_commit_view_check_boundary(const struct wb_commit_view *view, const char *path,
                                  const char *real, struct wb_error *err);
/* The name with its folder's symlinks resolved, and not its own; inside the boundary. */
const char *wb_commit_view_canonical(const struct wb_commit_view *view, const char *path,
                                     struct wb_error *err);
int wb_commit_view_look_up(const struct wb_commit_view *view, const char *path,
                           struct wb_commit_place *ret, struct wb_error *err);
/* The name that path, valid before moves[from], has after all moves. */
const char *wb_commit_view_final(const struct wb_commit_view *view, const char *path, size_t from);

void wb_commit_view_add_move(struct wb_commit_view *view, const char *path, const char *to,
                             const struct wb_commit_place *place);
void wb_commit_view_add_folder(struct wb_commit_view *view, const char *path);

#endif
