/* edit_tree: see edit_tree.h. Nodes are compared by the hash of their path first, so a plain list is
 * quick enough for edits of thousands of files. */
#include "lsp/edit_tree.h"

#include "sys/path.h"

static struct wb_edit_node *find_known(const struct wb_edit_tree *tree, const char *path)
{
    uint64_t hash = wb_hash(wb_span(path));

    for (size_t i = 0; i < tree->n_nodes; i++) {
        struct wb_edit_node *node = tree->nodes[i];

        if (node->hash == hash && node->path != NULL && wb_str_equal(node->path, path)) {
            return node;
        }
    }
    return NULL;
}

static void set_path(struct wb_edit_node *node, const char *path)
{
    node->path = path;
    node->hash = path != NULL ? wb_hash(wb_span(path)) : 0;
    /* The plan's write, and what the server knows, are of the former path. */
    node->write_op = SIZE_MAX;
    node->is_open = false;
}

static struct wb_edit_node *add_node(struct wb_edit_tree *tree, const char *path)
{
    struct wb_edit_node *node = WB_ARENA_NEW(tree->arena, struct wb_edit_node);

    *WB_ARENA_PUSH(tree->arena, tree->nodes, tree->n_nodes, tree->nodes_capacity) = node;
    node->kind = WB_FILE_MISSING;
    set_path(node, path);
    return node;
}

/* The same path below another folder. */
static const char *rebase(struct wb_edit_tree *tree, const char *path, const char *from,
                          const char *to)
{
    const char *rest = wb_path_relative(path, from);

    return wb_str_equal(path, from) ? to : wb_path_join(tree->arena, to, rest);
}

/* The name on disk of what is at path by now; NULL: a folder above it moved away. */
static const char *find_origin(struct wb_edit_tree *tree, const char *path)
{
    for (size_t i = tree->n_moves; i-- > 0;) {
        const struct wb_edit_move *move = &tree->moves[i];

        if (move->to != NULL && wb_path_is_inside(path, move->to)) {
            path = rebase(tree, path, move->to, move->from);
        } else if (wb_path_is_inside(path, move->from)) {
            return NULL;
        }
    }
    return path;
}

/* What the server was told is what it answered about: the plan must not start from another text. */
static int check_told(const struct wb_edit_tree *tree, const char *path,
                      const struct wb_edit_file *file, struct wb_error *err)
{
    size_t bom = wb_file_bom(file->content);
    struct wb_span text = {file->content.ptr + bom, file->content.len - bom};

    if (file->is_open && !wb_span_equal(text, file->told)) {
        return wb_error_set(err, WB_ERROR_STALE,
                            "%s has changed on disk since the server was asked: ask again",
                            wb_path_relative(path, tree->source->workspace));
    }
    return 0;
}

struct wb_edit_node *wb_edit_tree_find(struct wb_edit_tree *tree, const char *path,
                                       struct wb_error *err)
{
    struct wb_edit_node *node = find_known(tree, path);
    struct wb_edit_file file = {.kind = WB_FILE_MISSING};

    if (node != NULL) {
        return node;
    }
    const char *origin = find_origin(tree, path);
    if (origin != NULL &&
        (tree->source->look(tree->source->ctx, tree->arena, origin, &file, err) != 0 ||
         (file.kind == WB_FILE_REGULAR && check_told(tree, path, &file, err) != 0))) {
        return NULL;
    }
    node = add_node(tree, path);
    node->kind = file.kind;
    node->content = file.content;
    node->is_open = file.is_open && wb_str_equal(origin, path);
    node->version = file.version;
    return node;
}

int wb_edit_tree_make_folders(struct wb_edit_tree *tree, const char *path, struct wb_error *err)
{
    const char *workspace = tree->source->workspace;

    for (;;) {
        path = wb_path_dir(tree->arena, path);
        if (wb_str_equal(path, workspace)) {
            return 0;
        }
        struct wb_edit_node *node = wb_edit_tree_find(tree, path, err);
        if (node == NULL) {
            return -1;
        }
        if (node->kind == WB_FILE_FOLDER) {
            return 0;
        }
        if (node->kind != WB_FILE_MISSING) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "the server wants a file in %s, which is not a folder",
                                wb_path_relative(path, workspace));
        }
        node->kind = WB_FILE_FOLDER;
    }
}

static void forget_inside(struct wb_edit_tree *tree, const char *folder)
{
    for (size_t i = 0; i < tree->n_nodes; i++) {
        struct wb_edit_node *node = tree->nodes[i];

        if (node->path != NULL && wb_path_is_inside(node->path, folder)) {
            set_path(node, NULL);
        }
    }
}

static void add_move(struct wb_edit_tree *tree, const char *from, const char *to)
{
    *WB_ARENA_PUSH(tree->arena, tree->moves, tree->n_moves, tree->moves_capacity) =
        (struct wb_edit_move){from, to};
}

void wb_edit_tree_move(struct wb_edit_tree *tree, struct wb_edit_node *node, const char *to)
{
    const char *from = node->path;

    forget_inside(tree, to);
    for (size_t i = 0; i < tree->n_nodes; i++) {
        struct wb_edit_node *inner = tree->nodes[i];

        if (inner->path != NULL && wb_path_is_inside(inner->path, from)) {
            set_path(inner, rebase(tree, inner->path, from, to));
        }
    }
    if (node->kind == WB_FILE_FOLDER) {
        add_move(tree, from, to);
    }
    add_node(tree, from);
}

void wb_edit_tree_delete(struct wb_edit_tree *tree, struct wb_edit_node *node)
{
    const char *path = node->path;

    if (node->kind == WB_FILE_FOLDER) {
        add_move(tree, path, NULL);
    }
    forget_inside(tree, path);
    add_node(tree, path);
}
