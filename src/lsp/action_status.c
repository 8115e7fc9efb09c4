/* action_status: which servers run, for which roots; which could run here, and which not and why.
 * And reload, which restarts them. */
#include "lsp/actions.h"

#include "sys/path.h"

static const char *shown_root(const struct wb_lsp *lsp, const char *root)
{
    const char *relative = wb_path_relative(root, lsp->workspace);
    return *relative == '\0' || wb_str_equal(root, lsp->workspace) ? "." : relative;
}

static void put_server(struct wb_json_writer *w, const char *id, const char *root,
                       const char *state, const char *detail)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "name", id);
    wb_json_member_str(w, "root", root);
    wb_json_member_str(w, "state", state);
    if (detail != NULL) {
        wb_json_member_str(w, "detail", detail);
    }
    wb_json_end_object(w);
}

static bool is_slot(const struct wb_slot_status *slots, size_t n,
                    const struct wb_candidate *candidate)
{
    for (size_t i = 0; i < n; i++) {
        if (wb_str_equal(slots[i].id, candidate->row->id) && candidate->root != NULL &&
            wb_str_equal(slots[i].root, candidate->root)) {
            return true;
        }
    }
    return false;
}

static void show_slots(struct wb_lsp *lsp, const struct wb_slot_status *slots, size_t n,
                       struct wb_json_writer *w, struct wb_text *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *root = shown_root(lsp, slots[i].root);
        wb_text_printf(out, "%s in %s: %s%s%s\n", slots[i].id, root, slots[i].state,
                       slots[i].detail != NULL ? ", " : "",
                       slots[i].detail != NULL ? slots[i].detail : "");
        put_server(w, slots[i].id, root, slots[i].state, slots[i].detail);
    }
}

static void show_candidates(struct wb_lsp *lsp, const struct wb_candidates *candidates,
                            const struct wb_slot_status *slots, size_t n, struct wb_json_writer *w,
                            struct wb_text *out)
{
    for (size_t i = 0; i < candidates->count; i++) {
        const struct wb_candidate *candidate = &candidates->items[i];
        if (is_slot(slots, n, candidate)) {
            continue;
        }
        const char *root = candidate->root != NULL ? shown_root(lsp, candidate->root) : ".";
        if (candidate->reason == NULL) {
            wb_text_printf(out, "%s in %s: not started; starts with the first question\n",
                           candidate->row->id, root);
            put_server(w, candidate->row->id, root, "not started", NULL);
        } else {
            wb_text_printf(out, "%s: not usable: %s\n", candidate->row->id, candidate->reason);
            put_server(w, candidate->row->id, root, "not usable", candidate->reason);
        }
    }
}

int wb_lsp_status(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                  struct wb_result *result, struct wb_error *err)
{
    (void)args;
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(lsp, err);
    if (catalogue == NULL) {
        return -1;
    }
    struct wb_slot_status *slots;
    size_t n_slots;
    struct wb_candidates candidates;
    wb_supervisor_status(lsp->supervisor, call->arena, lsp->workspace, &slots, &n_slots);
    wb_catalogue_of_workspace(call->arena, catalogue, lsp->workspace, &candidates);
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "servers");
    wb_json_begin_array(&w);
    show_slots(lsp, slots, n_slots, &w, &result->text);
    show_candidates(lsp, &candidates, slots, n_slots, &w, &result->text);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    if (result->text.len == 0) {
        wb_text_add_str(&result->text,
                        "No file of this workspace has a language that the catalogue serves.\n");
    }
    const char *distrust = wb_config_distrust(wb_run_config(lsp->run));
    if (distrust != NULL) {
        wb_text_printf(&result->text, "%s\n", distrust);
    }
    return 0;
}

/* The roots that serve the file; NULL-terminated. */
static int roots_of_file(struct wb_lsp *lsp, struct wb_call *call, struct wb_span file,
                         const char ***ret, struct wb_error *err)
{
    const char *path = wb_call_path(call, file, err);
    struct wb_candidates candidates;
    if (path == NULL || wb_lsp_candidates(lsp, call->arena, path, &candidates, err) < 0) {
        return -1;
    }
    const char **roots = wb_arena_alloc_array(call->arena, candidates.count + 1, sizeof(*roots));
    for (size_t i = 0, n = 0; i < candidates.count; i++) {
        if (candidates.items[i].reason == NULL) {
            roots[n++] = candidates.items[i].root;
        }
    }
    *ret = roots;
    return 0;
}

int wb_lsp_reload(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                  struct wb_result *result, struct wb_error *err)
{
    size_t stopped = 0;
    if (args->file.ptr == NULL) {
        stopped = wb_supervisor_reload(lsp->supervisor, lsp->workspace, NULL);
    } else {
        const char **roots;
        if (roots_of_file(lsp, call, args->file, &roots, err) < 0) {
            return -1;
        }
        for (; *roots != NULL; roots++) {
            stopped += wb_supervisor_reload(lsp->supervisor, lsp->workspace, *roots);
        }
    }
    wb_text_printf(&result->text,
                   "%zu server%s stopped; each starts anew with the next question.\n", stopped,
                   stopped == 1 ? "" : "s");
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "stopped", (int64_t)stopped);
    wb_json_end_object(&w);
    return 0;
}
