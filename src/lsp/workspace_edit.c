/* workspace_edit: see workspace_edit.h.
 *
 * Text edits of a file gather in its batch, because they all refer to the text before any of them;
 * batches are applied before a resource operation and at the end. A file is written at most once
 * between two moves of it. */
#include "lsp/workspace_edit.h"

#include "base/limits.h"
#include "lsp/edit_tree.h"
#include "sys/path.h"

/* Old and new contents of one edit are held in memory together. */
#define CONTENT_BYTES_MAX (1024 * WB_MIB)
#define SHOWN_BYTES 300 /* of what a server calls something */

struct planner {
    struct wb_arena *arena;
    const struct wb_edit_source *source;
    const struct wb_json *annotations;
    struct wb_edit_tree tree;
    struct wb_edit_plan *plan;
    size_t content_bytes; /* made so far */
};

static const char *shown(const struct planner *p, const char *path)
{
    return wb_path_relative(path, p->source->workspace);
}

static int refuse_shape(struct wb_error *err, const char *what)
{
    return wb_error_set(err, WB_ERROR_PROTOCOL, "the server's edit cannot be read: %s", what);
}

/* --- names --- */

static bool is_in_git(const char *relative)
{
    struct wb_span rest = wb_span(relative);

    while (rest.len != 0) {
        const char *slash = memchr(rest.ptr, '/', rest.len);
        struct wb_span name = {rest.ptr, slash != NULL ? (size_t)(slash - rest.ptr) : rest.len};

        if (wb_span_is(name, ".git")) {
            return true;
        }
        size_t taken = WB_MIN(name.len + 1, rest.len);
        rest = (struct wb_span){rest.ptr + taken, rest.len - taken};
    }
    return false;
}

/* A rename or delete is of the name, so a symlink there is not followed; an edit is of the text. */
static const char *find_real(struct planner *p, const char *path, bool follow, struct wb_error *err)
{
    if (follow) {
        return wb_path_real(p->arena, path, err);
    }
    const char *folder = wb_path_real(p->arena, wb_path_dir(p->arena, path), err);
    return folder != NULL ? wb_path_join(p->arena, folder, wb_path_base(path)) : NULL;
}

static int check_inside(const struct planner *p, const char *real, struct wb_error *err)
{
    const char *relative = shown(p, real);

    if (!wb_path_is_inside(real, p->source->workspace) || wb_str_equal(relative, ".")) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "the server wants to change %s, which is not inside the workspace %s",
                            real, p->source->workspace);
    }
    if (is_in_git(relative)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "the server wants to change %s, which belongs to git", relative);
    }
    return 0;
}

/* The real path of a URI, inside the workspace. */
static const char *read_uri(struct planner *p, struct wb_span uri, bool follow,
                            struct wb_error *err)
{
    if (uri.ptr == NULL) {
        refuse_shape(err, "a URI is missing");
        return NULL;
    }
    const char *path = wb_path_from_uri(p->arena, uri);
    if (path == NULL) {
        wb_error_set(err, WB_ERROR_DENIED, "the server wants to change %.*s, which is no file",
                     (int)wb_utf8_cut(uri, SHOWN_BYTES), uri.ptr);
        return NULL;
    }
    const char *real = find_real(p, wb_path_normalize(p->arena, path), follow, err);
    return real != NULL && check_inside(p, real, err) == 0 ? real : NULL;
}

static const char *read_uri_member(struct planner *p, const struct wb_json *op, const char *key,
                                   struct wb_error *err)
{
    return read_uri(p, wb_json_span(wb_json_get(op, key)), false, err);
}

/* --- operations --- */

static void count_file(struct planner *p, struct wb_edit_node *node)
{
    p->plan->n_files += node->is_counted ? 0 : 1;
    node->is_counted = true;
}

static int add_op(struct planner *p, struct wb_edit_node *node, struct wb_commit_op op,
                  struct wb_error *err)
{
    struct wb_edit_plan *plan = p->plan;

    if (plan->n_ops == WB_COMMIT_FILES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "the server wants more than %d changes at once",
                            WB_COMMIT_FILES_MAX);
    }
    *WB_ARENA_PUSH(p->arena, plan->ops, plan->n_ops, plan->ops_capacity) = op;
    count_file(p, node);
    return 0;
}

/* The file at the node has this content from now on. */
static int set_content(struct planner *p, struct wb_edit_node *node, struct wb_span content,
                       struct wb_error *err)
{
    struct wb_commit_op op = {
        .kind = WB_COMMIT_WRITE,
        .path = node->path,
        .must_exist = node->kind == WB_FILE_REGULAR,
        .old_content = node->content,
        .new_content = content,
    };

    if (op.must_exist && wb_span_equal(content, node->content)) {
        return 0;
    }
    p->content_bytes += content.len;
    if (p->content_bytes > CONTENT_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "the server wants to change more than %zu bytes",
                            CONTENT_BYTES_MAX);
    }
    if (node->write_op != SIZE_MAX) {
        p->plan->ops[node->write_op].new_content = content;
    } else {
        if (add_op(p, node, op, err) != 0) {
            return -1;
        }
        node->write_op = p->plan->n_ops - 1;
    }
    node->kind = WB_FILE_REGULAR;
    node->content = content;
    node->is_indexed = false;
    return 0;
}

static int apply_batch(struct planner *p, struct wb_edit_node *node, struct wb_error *err)
{
    struct wb_text_edit_list batch = node->batch;
    struct wb_span content;

    if (batch.count == 0) {
        return 0;
    }
    node->batch = (struct wb_text_edit_list){0};
    if (wb_text_edits_apply(p->arena, &node->index, &batch, &content, err) != 0) {
        return wb_error_context(err, "the server's edit of %s is unusable", shown(p, node->path));
    }
    p->plan->n_edits += wb_span_equal(content, node->content) ? 0 : batch.count;
    return set_content(p, node, content, err);
}

static int apply_batches(struct planner *p, struct wb_error *err)
{
    for (size_t i = 0; i < p->tree.n_nodes; i++) {
        if (apply_batch(p, p->tree.nodes[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

static bool has_option(const struct wb_json *op, const char *name)
{
    return wb_json_bool(wb_json_get(wb_json_get(op, "options"), name), false);
}

static int plan_create(struct planner *p, const struct wb_json *op, struct wb_error *err)
{
    const char *path = read_uri_member(p, op, "uri", err);
    struct wb_edit_node *node = path != NULL ? wb_edit_tree_find(&p->tree, path, err) : NULL;

    if (node == NULL) {
        return -1;
    }
    bool overwrite = node->kind == WB_FILE_REGULAR && has_option(op, "overwrite");
    if (node->kind != WB_FILE_MISSING && !overwrite) {
        if (has_option(op, "ignoreIfExists")) {
            return 0;
        }
        return wb_error_set(err, WB_ERROR_INVALID,
                            "the server wants to create %s, which exists already", shown(p, path));
    }
    return wb_edit_tree_make_folders(&p->tree, path, err) == 0
               ? set_content(p, node, WB_SPAN(""), err)
               : -1;
}

static int check_rename(struct planner *p, const struct wb_edit_node *from,
                        const struct wb_edit_node *to, struct wb_error *err)
{
    const char *shown_from = shown(p, from->path);
    const char *shown_to = shown(p, to->path);

    if (from->kind != WB_FILE_REGULAR && from->kind != WB_FILE_FOLDER) {
        return wb_error_set(
            err, WB_ERROR_INVALID, "the server wants to rename %s, which %s", shown_from,
            from->kind == WB_FILE_MISSING ? "does not exist" : "is neither a file nor a folder");
    }
    if (wb_path_is_inside(to->path, from->path) || wb_path_is_inside(from->path, to->path)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "the server wants to rename %s to %s, and one is in the other",
                            shown_from, shown_to);
    }
    if (to->kind != WB_FILE_MISSING &&
        (to->kind != WB_FILE_REGULAR || from->kind != WB_FILE_REGULAR)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "the server wants to rename %s to %s, which only a file could replace",
                            shown_from, shown_to);
    }
    return 0;
}

static int plan_rename(struct planner *p, const struct wb_json *op, struct wb_error *err)
{
    const char *path = read_uri_member(p, op, "oldUri", err);
    const char *new_path = path != NULL ? read_uri_member(p, op, "newUri", err) : NULL;

    if (new_path == NULL || wb_str_equal(path, new_path)) {
        return new_path == NULL ? -1 : 0;
    }
    struct wb_edit_node *from = wb_edit_tree_find(&p->tree, path, err);
    struct wb_edit_node *to = from != NULL ? wb_edit_tree_find(&p->tree, new_path, err) : NULL;
    if (to == NULL) {
        return -1;
    }
    bool occupied = to->kind != WB_FILE_MISSING;
    if (occupied && !has_option(op, "overwrite")) {
        if (has_option(op, "ignoreIfExists")) {
            return 0;
        }
        return wb_error_set(err, WB_ERROR_INVALID,
                            "the server wants to rename %s to %s, which exists already",
                            shown(p, path), shown(p, new_path));
    }
    struct wb_commit_op rename = {
        .kind = WB_COMMIT_RENAME, .path = path, .new_path = new_path, .overwrite = occupied};
    if (check_rename(p, from, to, err) != 0 ||
        wb_edit_tree_make_folders(&p->tree, new_path, err) != 0 ||
        add_op(p, from, rename, err) != 0) {
        return -1;
    }
    wb_edit_tree_move(&p->tree, from, new_path);
    return 0;
}

static int plan_delete(struct planner *p, const struct wb_json *op, struct wb_error *err)
{
    const char *path = read_uri_member(p, op, "uri", err);
    struct wb_edit_node *node = path != NULL ? wb_edit_tree_find(&p->tree, path, err) : NULL;

    if (node == NULL) {
        return -1;
    }
    if (node->kind == WB_FILE_MISSING && has_option(op, "ignoreIfNotExists")) {
        return 0;
    }
    if (node->kind != WB_FILE_REGULAR && node->kind != WB_FILE_FOLDER) {
        return wb_error_set(
            err, WB_ERROR_INVALID, "the server wants to delete %s, which %s", shown(p, path),
            node->kind == WB_FILE_MISSING ? "does not exist" : "is neither a file nor a folder");
    }
    /* Whether a folder is empty where it must be is checked by the commit. */
    struct wb_commit_op removal = {
        .kind = WB_COMMIT_DELETE,
        .path = path,
        .old_content = node->content,
        .recursive = node->kind == WB_FILE_FOLDER && has_option(op, "recursive"),
    };
    if (add_op(p, node, removal, err) != 0) {
        return -1;
    }
    wb_edit_tree_delete(&p->tree, node);
    return 0;
}

/* --- the entries of an edit --- */

/* Nobody is there to confirm. */
static int check_annotation(const struct planner *p, const struct wb_json *annotated,
                            struct wb_error *err)
{
    const char *id = wb_json_str(wb_json_get(annotated, "annotationId"));
    const struct wb_json *annotation = id != NULL ? wb_json_get(p->annotations, id) : NULL;

    if (wb_json_bool(wb_json_get(annotation, "needsConfirmation"), false)) {
        struct wb_span label = wb_span(wb_json_str_or(wb_json_get(annotation, "label"), id));

        return wb_error_set(err, WB_ERROR_DENIED,
                            "the server wants a part of its edit confirmed by a human: \"%.*s\"",
                            (int)wb_utf8_cut(label, SHOWN_BYTES), label.ptr);
    }
    return 0;
}

static int plan_operation(struct planner *p, const struct wb_json *op, struct wb_error *err)
{
    static const struct {
        const char *kind;
        int (*plan)(struct planner *p, const struct wb_json *op, struct wb_error *err);
    } operations[] = {
        {"create", plan_create},
        {"rename", plan_rename},
        {"delete", plan_delete},
    };

    struct wb_span kind = wb_span(wb_json_str_or(wb_json_get(op, "kind"), ""));

    if (check_annotation(p, op, err) != 0 || apply_batches(p, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < WB_COUNT(operations); i++) {
        if (wb_span_is(kind, operations[i].kind)) {
            return operations[i].plan(p, op, err);
        }
    }
    return wb_error_set(err, WB_ERROR_PROTOCOL,
                        "the server wants the operation \"%.*s\", which is not known",
                        (int)wb_utf8_cut(kind, SHOWN_BYTES), kind.ptr);
}

/* A file that text edits can be planned on. */
static struct wb_edit_node *find_text(struct planner *p, struct wb_span uri, struct wb_error *err)
{
    const char *path = read_uri(p, uri, true, err);
    struct wb_edit_node *node = path != NULL ? wb_edit_tree_find(&p->tree, path, err) : NULL;

    if (node == NULL) {
        return NULL;
    }
    if (node->kind != WB_FILE_REGULAR) {
        wb_error_set(err, WB_ERROR_INVALID, "the server wants to edit %s, which %s", shown(p, path),
                     node->kind == WB_FILE_MISSING ? "does not exist" : "is not a file");
        return NULL;
    }
    if (!wb_utf8_valid(node->content)) {
        wb_error_set(err, WB_ERROR_INVALID,
                     "the server wants to edit %s, which is not UTF-8: it cannot have read it as "
                     "it is",
                     shown(p, path));
        return NULL;
    }
    if (!node->is_indexed) {
        wb_line_index_init(p->arena, node->content, &node->index);
        node->is_indexed = true;
    }
    return node;
}

static int add_edits(struct planner *p, struct wb_edit_node *node, const struct wb_json *edits,
                     struct wb_error *err)
{
    for (struct wb_json_iter it = wb_json_iter(edits); wb_json_next(&it);) {
        if (check_annotation(p, it.value, err) != 0) {
            return -1;
        }
        if (wb_text_edit_read(p->arena, &node->index, p->source->encoding, it.value, &node->batch,
                              err) != 0) {
            return wb_error_context(err, "the server's edit of %s is unusable",
                                    shown(p, node->path));
        }
    }
    return 0;
}

static int plan_text_edits(struct planner *p, struct wb_span uri, const struct wb_json *version,
                           const struct wb_json *edits, struct wb_error *err)
{
    int64_t number;

    if (wb_json_type(edits) != WB_JSON_ARRAY) {
        return refuse_shape(err, "the edits of a file must be an array");
    }
    if (wb_json_count(edits) == 0) {
        return 0;
    }
    struct wb_edit_node *node = find_text(p, uri, err);
    if (node == NULL) {
        return -1;
    }
    if (!wb_json_is_null(version) && !wb_json_int(version, &number)) {
        return refuse_shape(err, "a version must be a number or null");
    }
    /* Of a file that was never opened the server invents the version; the content binds it. */
    if (!wb_json_is_null(version) && node->is_open && number != node->version) {
        return wb_error_set(err, WB_ERROR_STALE,
                            "the server's edit is for version %lld of %s, and it was told version "
                            "%lld: ask again",
                            (long long)number, shown(p, node->path), (long long)node->version);
    }
    return add_edits(p, node, edits, err);
}

static int plan_document_changes(struct planner *p, const struct wb_json *entries,
                                 struct wb_error *err)
{
    for (struct wb_json_iter it = wb_json_iter(entries); wb_json_next(&it);) {
        const struct wb_json *document = wb_json_get(it.value, "textDocument");
        int status;

        if (!wb_json_is_null(wb_json_get(it.value, "kind"))) {
            status = plan_operation(p, it.value, err);
        } else if (document != NULL) {
            status = plan_text_edits(p, wb_json_span(wb_json_get(document, "uri")),
                                     wb_json_get(document, "version"),
                                     wb_json_get(it.value, "edits"), err);
        } else {
            status = refuse_shape(err, "an entry of documentChanges is neither an edit nor an "
                                       "operation");
        }
        if (status != 0) {
            return -1;
        }
    }
    return 0;
}

static int plan_changes(struct planner *p, const struct wb_json *changes, struct wb_error *err)
{
    for (struct wb_json_iter it = wb_json_iter(changes); wb_json_next(&it);) {
        if (plan_text_edits(p, wb_span(it.key), NULL, it.value, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int plan_entries(struct planner *p, const struct wb_json *edit, struct wb_error *err)
{
    const struct wb_json *entries = wb_json_get(edit, "documentChanges");
    const struct wb_json *changes = wb_json_get(edit, "changes");

    if (!wb_json_is_null(entries) && wb_json_type(entries) != WB_JSON_ARRAY) {
        return refuse_shape(err, "documentChanges must be an array");
    }
    /* A client that can read documentChanges must not look at changes beside them. */
    if (wb_json_count(entries) != 0) {
        return plan_document_changes(p, entries, err);
    }
    if (!wb_json_is_null(changes) && wb_json_type(changes) != WB_JSON_OBJECT) {
        return refuse_shape(err, "changes must be an object");
    }
    return plan_changes(p, changes, err);
}

int wb_workspace_edit_plan(struct wb_arena *arena, const struct wb_json *edit,
                           const struct wb_edit_source *source, struct wb_edit_plan *ret,
                           struct wb_error *err)
{
    struct wb_edit_plan plan = {0};
    struct planner p = {
        .arena = arena,
        .source = source,
        .annotations = wb_json_get(edit, "changeAnnotations"),
        .tree = {.arena = arena, .source = source},
        .plan = &plan,
    };
    bool is_empty_list = wb_json_type(edit) == WB_JSON_ARRAY && wb_json_count(edit) == 0;

    if (!wb_json_is_null(edit) && !is_empty_list && wb_json_type(edit) != WB_JSON_OBJECT) {
        return refuse_shape(err, "it must be an object");
    }
    if (plan_entries(&p, edit, err) != 0 || apply_batches(&p, err) != 0) {
        return -1;
    }
    *ret = plan;
    return 0;
}
