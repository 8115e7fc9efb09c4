/* search: which files a tool that searches looks at. */
#ifndef WB_RUN_SEARCH_H
#define WB_RUN_SEARCH_H

#include "run/call.h"
#include "sys/walk.h"

struct wb_search {
    struct wb_call *call;
    const char *glob; /* NULL: every file */
    /* One file whose name fits, in path order. False stops the search. */
    bool (*visit)(void *ctx, const char *path, const char *shown);
    void *ctx;
    struct wb_walk_counts counts; /* of the walk; files: before the glob */
    size_t n_outside;             /* symlinks that lead out of the workspace, left out */
    size_t n_ruled_out;           /* files that a guard rule denies the tool, or wants asked for */
    bool is_file;                 /* path names one file, and no folder */
    bool at_symlink;              /* the file at hand is reached by one */
};

/* Searches the folder, or the one file, that an argument names; path.ptr NULL: the workspace. The
 * glob is compared with a file's path relative to that folder, and with the one relative to the
 * workspace; a leading "!" turns it round. Hidden files are looked at when the glob names a hidden
 * component. */
WB_MUST_CHECK int wb_search_files(struct wb_search *search, struct wb_span path,
                                  struct wb_error *err);

#endif
