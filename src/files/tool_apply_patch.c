/* apply_patch: a patch over several files, all of it or nothing.
 *
 * Files of one patch may depend on one another (renamed, then changed), so the patch is carried out
 * on a list of what each name holds by then, and becomes one ordered commit. */
#include <sys/stat.h>

#include "base/limits.h"
#include "files/content.h"
#include "files/patch.h"
#include "run/gate.h"
#include "run/run.h"
#include "sys/file.h"
#include "sys/path.h"

struct patch_args {
    struct wb_span patch;
};

static const struct wb_arg table[] = {
    {"patch", WB_ARG_STRING, offsetof(struct patch_args, patch), .required = true, .min = 1,
     .max = WB_FILE_BYTES_MAX,
     .doc = "*** Begin Patch ... *** End Patch with Add, Update, Delete File sections, or a "
            "unified diff"},
};

/* What a name holds after the sections so far. */
struct held {
    const char *path;
    bool exists;
    struct wb_span content;
};

struct job {
    struct wb_call *call;
    struct held *held;
    size_t n_held, held_capacity;
    struct wb_commit_op *ops;
    size_t n_ops, ops_capacity;
    struct wb_text *text; /* one line a file */
    struct wb_json_writer data;
};

static int name_subject(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                        struct wb_error *err)
{
    const struct patch_args *a = args;
    struct wb_patch patch;
    if (wb_patch_parse(call->arena, a->patch, &patch, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < patch.n_files; i++) {
        const char *names[] = {patch.files[i].path, patch.files[i].new_path};
        for (size_t j = 0; j < 2 && names[j] != NULL; j++) {
            const char *path = wb_call_path(call, wb_span(names[j]), err);
            if (path == NULL) {
                return -1;
            }
            wb_gate_add_path(subject, path);
        }
    }
    return 0;
}

/* The entry of a name; a new one is filled from the disk. */
static struct held *hold(struct job *job, const char *path, struct wb_error *err)
{
    for (size_t i = 0; i < job->n_held; i++) {
        if (wb_str_equal(job->held[i].path, path)) {
            return &job->held[i];
        }
    }
    struct held held = {.path = path, .exists = wb_file_kind(path, NULL) != WB_FILE_MISSING};
    struct wb_content content;
    if (held.exists) {
        if (wb_content_load(job->call, wb_span(path), &content, err) != 0) {
            return NULL;
        }
        held.content = content.bytes;
    }
    struct held *slot = WB_ARENA_PUSH(job->call->arena, job->held, job->n_held, job->held_capacity);
    *slot = held;
    return slot;
}

static struct wb_commit_op *add_op(struct job *job, enum wb_commit_kind kind, const char *path)
{
    struct wb_commit_op *op =
        WB_ARENA_PUSH(job->call->arena, job->ops, job->n_ops, job->ops_capacity);
    *op = (struct wb_commit_op){.kind = kind, .path = path};
    return op;
}

static void note(struct job *job, const char *action, const char *shown, const char *from)
{
    wb_text_printf(job->text, "%s %s", action, shown);
    wb_json_begin_object(&job->data);
    wb_json_member_str(&job->data, "path", shown);
    wb_json_member_str(&job->data, "action", action);
    if (from != NULL) {
        wb_text_printf(job->text, " (was %s)", from);
        wb_json_member_str(&job->data, "from", from);
    }
    wb_json_end_object(&job->data);
    wb_text_add_char(job->text, '\n');
}

static int missing(const struct wb_patch_file *file, const char *shown, struct wb_error *err)
{
    return wb_error_set(err, WB_ERROR_NOT_FOUND,
                        "There is no file %s (line %zu of the patch). Nothing was changed", shown,
                        file->at_line);
}

static int create(struct job *job, const struct wb_patch_file *file, const char *path,
                  struct wb_span base, struct wb_error *err)
{
    const char *shown = wb_call_relative(job->call, path);
    struct held *held = hold(job, path, err);
    struct wb_span content;
    if (held == NULL) {
        return -1;
    }
    if (held->exists) {
        return wb_error_set(err, WB_ERROR_STALE,
                            "%s exists already (line %zu of the patch): update it instead. Nothing "
                            "was changed",
                            shown, file->at_line);
    }
    if (wb_patch_apply(job->call->arena, file, shown, base, &content, err) != 0) {
        return -1;
    }
    *held = (struct held){.path = path, .exists = true, .content = content};
    struct wb_commit_op *op = add_op(job, WB_COMMIT_WRITE, path);
    op->new_content = content;
    op->mode = file->mode;
    note(job, "added", shown, NULL);
    return 0;
}

static int remove_file(struct job *job, const struct wb_patch_file *file, const char *path,
                       struct wb_error *err)
{
    const char *shown = wb_call_relative(job->call, path);
    struct held *held = hold(job, path, err);
    struct wb_span left;
    if (held == NULL) {
        return -1;
    }
    if (!held->exists) {
        return missing(file, shown, err);
    }
    if (file->has_content) {
        if (wb_patch_apply(job->call->arena, file, shown, held->content, &left, err) != 0) {
            return -1;
        }
        if (left.len != 0) {
            return wb_error_set(err, WB_ERROR_STALE,
                                "%s has more in it than the patch deletes (line %zu). Nothing was "
                                "changed",
                                shown, file->at_line);
        }
    }
    add_op(job, WB_COMMIT_DELETE, path)->old_content = held->content;
    held->exists = false;
    note(job, "deleted", shown, NULL);
    return 0;
}

static int rename_held(struct job *job, const struct wb_patch_file *file, const char *path,
                       const char *to, struct wb_error *err)
{
    struct held *target = hold(job, to, err);
    if (target == NULL) {
        return -1;
    }
    if (target->exists) {
        return wb_error_set(err, WB_ERROR_STALE,
                            "%s exists already (line %zu of the patch). Nothing was changed",
                            wb_call_relative(job->call, to), file->at_line);
    }
    struct held *source = hold(job, path, err);
    target->exists = true;
    target->content = source->content;
    source->exists = false;
    add_op(job, WB_COMMIT_RENAME, path)->new_path = to;
    return 0;
}

static int update(struct job *job, const struct wb_patch_file *file, const char *path,
                  const char *to, struct wb_error *err)
{
    const char *shown = wb_call_relative(job->call, path);
    struct held *held = hold(job, path, err);
    struct wb_span content;
    if (held == NULL) {
        return -1;
    }
    if (!held->exists) {
        return missing(file, shown, err);
    }
    if (wb_patch_apply(job->call->arena, file, shown, held->content, &content, err) != 0) {
        return -1;
    }
    if (!wb_span_equal(content, held->content)) {
        struct wb_commit_op *op = add_op(job, WB_COMMIT_WRITE, path);
        op->must_exist = true;
        op->old_content = held->content;
        op->new_content = content;
        held->content = content;
    }
    if (to != NULL) {
        note(job, "renamed", wb_call_relative(job->call, to), shown);
        return rename_held(job, file, path, to, err);
    }
    note(job, "changed", shown, NULL);
    if (file->changes_mode) {
        wb_text_printf(job->text, "[the change of %s's permissions is left out: use chmod]\n",
                       shown);
    }
    return 0;
}

static int copy(struct job *job, const struct wb_patch_file *file, const char *path, const char *to,
                struct wb_error *err)
{
    struct held *source = hold(job, path, err);
    if (source == NULL) {
        return -1;
    }
    if (!source->exists) {
        return missing(file, wb_call_relative(job->call, path), err);
    }
    return create(job, file, to, source->content, err);
}

/* The real path that a symlink leads to is written; to delete or rename it is hardly meant. */
static int check_no_link(struct job *job, const char *name, struct wb_error *err)
{
    struct stat st;
    const char *path = wb_path_join(job->call->arena, wb_run_workspace(job->call->run), name);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is a symbolic link, which a patch does not delete or rename. "
                            "Nothing was changed",
                            name);
    }
    return 0;
}

static int take_section(struct job *job, const struct wb_patch_file *file, struct wb_error *err)
{
    const char *path = wb_call_path(job->call, wb_span(file->path), err);
    const char *to = NULL;
    if (path != NULL && file->new_path != NULL) {
        to = wb_call_path(job->call, wb_span(file->new_path), err);
    }
    if (path == NULL || (file->new_path != NULL && to == NULL)) {
        return -1;
    }
    bool takes_away =
        file->action == WB_PATCH_DELETE || (file->action == WB_PATCH_UPDATE && to != NULL);
    if (takes_away && check_no_link(job, file->path, err) != 0) {
        return -1;
    }
    switch (file->action) {
    case WB_PATCH_ADD:
        return create(job, file, path, WB_SPAN(""), err);
    case WB_PATCH_DELETE:
        return remove_file(job, file, path, err);
    case WB_PATCH_COPY:
        return copy(job, file, path, to, err);
    default:
        return update(job, file, path, to, err);
    }
}

static int call_apply_patch(struct wb_call *call, const void *args, struct wb_result *result,
                            struct wb_error *err)
{
    const struct patch_args *a = args;
    struct wb_patch patch;
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    struct job job = {.call = call, .text = &text};
    if (wb_patch_parse(call->arena, a->patch, &patch, err) != 0) {
        return -1;
    }
    wb_result_data(result, &job.data);
    wb_json_begin_object(&job.data);
    wb_json_key(&job.data, "files");
    wb_json_begin_array(&job.data);
    for (size_t i = 0; i < patch.n_files; i++) {
        if (take_section(&job, &patch.files[i], err) != 0) {
            wb_text_clear(&result->data);
            return -1;
        }
    }
    wb_json_end_array(&job.data);
    wb_json_end_object(&job.data);
    if (wb_call_write(call, job.ops, job.n_ops, result, err) != 0) {
        wb_text_clear(&result->data);
        return -1;
    }
    wb_text_add_span(&result->text, wb_text_span(&text));
    return 0;
}

const struct wb_tool wb_tool_apply_patch = {
    .name = "apply_patch",
    .tier = WB_TIER_WRITE,
    .parallel_safe = false,
    .summary = "Apply a patch to several files, all or nothing",
    .description =
        "Applies a patch: \"*** Begin Patch\" with sections \"*** Add File: PATH\" (lines with +), "
        "\"*** Update File: PATH\" (optionally \"*** Move to: PATH\"; hunks that begin with @@ or "
        "@@ and a line above the place, then lines with a blank, - or + in front) and \"*** Delete "
        "File: PATH\", then \"*** End Patch\"; or a unified diff. Context must match exactly. Every "
        "file is changed, or none; a hunk that does not apply is named. New errors that the "
        "language servers find afterwards are part of the result.",
    .args = {table, WB_COUNT(table), sizeof(struct patch_args), NULL, 0},
    .subject = name_subject,
    .call = call_apply_patch,
};
