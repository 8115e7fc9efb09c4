/* workspace_edit: what a server wants changed (LSP 3.17 "WorkspaceEdit"), as one plan for
 * sys/commit.h, or a sentence that says why not. Nothing is written here.
 *
 * Every shape becomes one ordered list: `documentChanges` where there are some, else `changes`.
 * Resource operations run in their order on a picture of the tree, so that an edit may name a file
 * by the name that it has by then. The plan is bound to the content that the server answered about,
 * and the whole edit is refused where one part of it is: a stale version, an overlap, a file outside
 * the workspace or in .git, a URI that is no file, a create or rename onto something that exists,
 * an annotation that asks for confirmation, a snippet.
 * Any thread; reads the file system for symlinks only. */
#ifndef WB_LSP_WORKSPACE_EDIT_H
#define WB_LSP_WORKSPACE_EDIT_H

#include "lsp/position.h"
#include "sys/commit.h"
#include "sys/file.h"

/* What stands at a path now. */
struct wb_edit_file {
    enum wb_file_kind kind;
    struct wb_span content; /* of a regular file, with its BOM */
    bool is_open;           /* the server was told of the file: this text, without BOM, */
    struct wb_span told;    /* as this version */
    int64_t version;
};

struct wb_edit_source {
    const char *workspace; /* real path */
    enum wb_position_encoding encoding;
    /* path is real. -1 refuses the edit with this error (a file that is too large). What it gives
     * must live as long as the arena. */
    int (*look)(void *ctx, struct wb_arena *arena, const char *path, struct wb_edit_file *ret,
                struct wb_error *err);
    void *ctx;
};

struct wb_edit_plan {
    struct wb_commit_op *ops; /* none: the edit changes nothing (null, {}, [], no edits) */
    size_t n_ops, ops_capacity;
    size_t n_files; /* changed, created, renamed or deleted; a folder counts one */
    size_t n_edits; /* of text */
};

/* edit: the JSON as the server sent it; NULL and null are an edit that changes nothing. */
WB_MUST_CHECK int wb_workspace_edit_plan(struct wb_arena *arena, const struct wb_json *edit,
                                         const struct wb_edit_source *source,
                                         struct wb_edit_plan *ret, struct wb_error *err);

#endif
