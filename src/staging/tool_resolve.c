/* resolve: takes or drops a staged change. */
#include <sys/stat.h>

#include "run/gate.h"
#include "staging/staging.h"
#include "sys/path.h"

#define FILES_SHOWN_MAX 50 /* in the text; the data has them all */

enum { ACCEPT, DISCARD };

static const char *const actions[] = {"accept", "discard", NULL};

struct resolve_args {
    struct wb_span edit_id;
    int action;
};

static const struct wb_arg table[] = {
    {"edit_id", WB_ARG_STRING, offsetof(struct resolve_args, edit_id), .required = true, .min = 1,
     .max = 256, .doc = "the id from the (proposed) answer, such as edit_1"},
    {"action", WB_ARG_ENUM, offsetof(struct resolve_args, action), .required = true,
     .choices = actions, .doc = "accept writes the whole change, discard drops it"},
};

static int add_paths(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                     struct wb_error *err)
{
    const struct resolve_args *a = args;
    const char *const *paths =
        wb_staging_paths(wb_staging_of_run(call->run), a->edit_id.ptr, call->arena);
    (void)err;
    for (; paths != NULL && a->action == ACCEPT && *paths != NULL; paths++) {
        wb_gate_add_path(subject, *paths);
    }
    return 0;
}

/* The commit compares content; that the name leads where it led is looked at here. */
static int check_kind(struct wb_call *call, const char *path, struct wb_error *err)
{
    struct stat st;
    const char *shown = wb_call_relative(call, path);
    if (lstat(path, &st) != 0) {
        return wb_error_set(err, WB_ERROR_STALE, "%s is not there any more", shown);
    }
    if (!S_ISREG(st.st_mode)) {
        return wb_error_set(err, WB_ERROR_STALE, "%s is %s now", shown,
                            S_ISDIR(st.st_mode)   ? "a folder"
                            : S_ISLNK(st.st_mode) ? "a symlink"
                                                  : "no regular file");
    }
    const char *real = wb_path_real(call->arena, path, NULL);
    if (real == NULL || !wb_str_equal(real, path)) {
        return wb_error_set(err, WB_ERROR_STALE, "%s leads to another file now", shown);
    }
    return 0;
}

static int write_files(struct wb_call *call, const struct wb_staged_edit *edit,
                       struct wb_result *result, struct wb_error *err)
{
    struct wb_commit_op *ops = wb_arena_alloc_array(call->arena, edit->n_files, sizeof(*ops));
    for (size_t i = 0; i < edit->n_files; i++) {
        ops[i] = (struct wb_commit_op){
            .kind = WB_COMMIT_WRITE,
            .path = edit->files[i].path,
            .must_exist = true,
            .old_content = edit->files[i].old_content,
            .new_content = edit->files[i].new_content,
        };
        if (check_kind(call, ops[i].path, err) != 0) {
            return -1;
        }
    }
    return wb_call_write(call, ops, edit->n_files, result, err);
}

static void tell(struct wb_call *call, const struct wb_staged_edit *edit, int action,
                 struct wb_result *result)
{
    struct wb_json_writer w;
    wb_text_printf(&result->text, "%s %s: %zu replacement%s in %zu file%s%s\n",
                   action == ACCEPT ? "accepted" : "discarded", edit->id, edit->n_replacements,
                   edit->n_replacements == 1 ? "" : "s", edit->n_files,
                   edit->n_files == 1 ? "" : "s",
                   action == ACCEPT ? " written" : " dropped, nothing was written");
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "edit_id", edit->id);
    wb_json_member_str(&w, "action", actions[action]);
    wb_json_member_int(&w, "replacements", (int64_t)edit->n_replacements);
    wb_json_key(&w, "files");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < edit->n_files; i++) {
        const char *shown = wb_call_relative(call, edit->files[i].path);
        wb_json_put_str(&w, shown);
        if (action == ACCEPT && i < FILES_SHOWN_MAX) {
            wb_text_printf(&result->text, "  %s: %zu\n", shown, edit->files[i].n_replacements);
        }
    }
    if (action == ACCEPT && edit->n_files > FILES_SHOWN_MAX) {
        wb_text_printf(&result->text, "  [%d of %zu files shown]\n", FILES_SHOWN_MAX,
                       edit->n_files);
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
}

static int call_resolve(struct wb_call *call, const void *args, struct wb_result *result,
                        struct wb_error *err)
{
    const struct resolve_args *a = args;
    struct wb_staging *staging = wb_staging_of_run(call->run);
    const struct wb_staged_edit *edit = wb_staging_take(staging, a->edit_id.ptr, err);
    if (edit == NULL) {
        return -1;
    }
    const char *edit_id = a->edit_id.ptr;
    if (a->action == ACCEPT && write_files(call, edit, result, err) != 0) {
        wb_staging_finish(staging, edit, WB_STAGED_STAGED);
        wb_error_context(err, "nothing was written, and %s stays staged until it is discarded",
                         edit_id);
        return -1;
    }
    tell(call, edit, a->action, result);
    wb_staging_finish(staging, edit,
                      a->action == ACCEPT ? WB_STAGED_ACCEPTED : WB_STAGED_DISCARDED);
    return 0;
}

const struct wb_tool wb_tool_resolve = {
    .name = "resolve",
    .tier = WB_TIER_WRITE,
    .parallel_safe = true,
    .summary = "Accept or discard a staged change",
    .description =
        "Takes or drops a change that a (proposed) answer has staged. accept compares every file "
        "with what it was when the change was made, and writes all of them or none: any difference "
        "refuses the whole change. New errors of the language servers come with the answer.",
    .args = {table, WB_COUNT(table), sizeof(struct resolve_args), NULL, 0},
    .available = wb_staging_available,
    .subject = add_paths,
    .call = call_resolve,
};
