/* edit_tree: the picture of the workspace while the operations of one workspace edit are planned.
 * A node is one path as it is by then; moves of folders lead back to the disk. */
#ifndef WB_LSP_EDIT_TREE_H
#define WB_LSP_EDIT_TREE_H

#include "lsp/text_edit.h"
#include "lsp/workspace_edit.h"

struct wb_edit_node {
    const char *path; /* NULL: forgotten */
    uint64_t hash;    /* of the path */
    enum wb_file_kind kind;
    struct wb_span content; /* of a regular file, by now */
    bool is_open;           /* under this path, with this version */
    int64_t version;
    bool is_counted; /* among the changed files */
    size_t write_op; /* the plan's write of this path; SIZE_MAX: none */
    bool is_indexed;
    struct wb_line_index index;     /* of content */
    struct wb_text_edit_list batch; /* edits that refer to content and are not applied yet */
};

struct wb_edit_move {
    const char *from;
    const char *to; /* NULL: deleted */
};

struct wb_edit_tree {
    struct wb_arena *arena;
    const struct wb_edit_source *source;
    struct wb_edit_node **nodes;
    size_t n_nodes, nodes_capacity;
    struct wb_edit_move *moves; /* of folders, in their order */
    size_t n_moves, moves_capacity;
};

/* The node of a path, looked up if it is new. NULL: the look failed, or what is on disk is not what
 * the server was told. */
struct wb_edit_node *wb_edit_tree_find(struct wb_edit_tree *tree, const char *path,
                                       struct wb_error *err);
/* The folders above a path are there from now on. -1: one of them is something else. */
int wb_edit_tree_make_folders(struct wb_edit_tree *tree, const char *path, struct wb_error *err);
/* The thing at the node is called `to` from now on, with all that is in it; what was at `to` is gone
 * and nothing is left at its old path. */
void wb_edit_tree_move(struct wb_edit_tree *tree, struct wb_edit_node *node, const char *to);
/* Nothing is at the node's path from now on, nor in it. */
void wb_edit_tree_delete(struct wb_edit_tree *tree, struct wb_edit_node *node);

#endif
