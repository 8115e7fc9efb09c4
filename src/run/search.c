/* search: see the header. */
#include "run/search.h"

#include "run/run_private.h"
#include "sys/file.h"
#include "sys/ignore.h"
#include "sys/path.h"

struct state {
    struct wb_search *search;
    const char *root; /* the workspace, or the approved folder outside of it */
    const char *glob;
    bool negated;
    bool has_rules; /* a guard rule has a path pattern */
    bool was_asked; /* the folder that is searched was approved: so is what is in it */
};

/* A glob may be written as an absolute path. */
static const char *relative_glob(const struct state *state, const char *glob)
{
    size_t len = strlen(state->root);
    return strncmp(glob, state->root, len) == 0 && glob[len] == '/' ? glob + len + 1 : glob;
}

static bool fits(const struct state *state, const char *relative, const char *from_root)
{
    if (state->glob == NULL) {
        return true;
    }
    bool matches = wb_ignore_glob(state->glob, relative) || wb_ignore_glob(state->glob, from_root);
    return matches != state->negated;
}

static enum wb_verdict judge(const struct state *state, struct wb_arena *arena, const char *real)
{
    const struct wb_call *call = state->search->call;
    const char *reason;
    const struct wb_rule_subject subject = {
        .tool = call->tool->name,
        .workspace = wb_run_workspace(call->run),
        .paths = &real,
        .n_paths = 1,
    };
    return wb_rules_judge(call->run->rules, arena, &subject, &reason);
}

/* What the gate has not seen: a symlink must not read what it would have asked about, and a file not
 * be read in passing that a rule governs. Counts what is left out. */
static bool is_left_out(struct state *state, const struct wb_walk_entry *entry)
{
    struct wb_search *search = state->search;
    if (!entry->is_symlink && !state->has_rules) {
        return false;
    }
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *real = entry->is_symlink ? wb_path_real(&arena, entry->path, NULL) : entry->path;
    if (real == NULL || !wb_path_is_inside(real, state->root)) {
        search->n_outside++;
        return true;
    }
    enum wb_verdict verdict = state->has_rules ? judge(state, &arena, real) : WB_VERDICT_NONE;
    bool is_ruled_out =
        verdict == WB_VERDICT_DENY || (verdict == WB_VERDICT_PROMPT && !state->was_asked);
    search->n_ruled_out += is_ruled_out;
    return is_ruled_out;
}

static bool visit_entry(void *ctx, const struct wb_walk_entry *entry)
{
    struct state *state = ctx;
    struct wb_search *search = state->search;
    if (!fits(state, entry->relative, wb_path_relative(entry->path, state->root))) {
        return true;
    }
    if (is_left_out(state, entry)) {
        return true;
    }
    search->at_symlink = entry->is_symlink;
    return search->visit(search->ctx, entry->path, wb_call_relative(search->call, entry->path));
}

static bool names_hidden(const char *glob)
{
    return glob != NULL && (glob[0] == '.' || strstr(glob, "/.") != NULL);
}

int wb_search_files(struct wb_search *search, struct wb_span path, struct wb_error *err)
{
    const char *workspace = wb_run_workspace(search->call->run);
    const char *top = path.ptr != NULL ? wb_call_path(search->call, path, err) : workspace;
    if (top == NULL) {
        return -1;
    }
    struct state state = {
        .search = search,
        .root = wb_path_is_inside(top, workspace) ? workspace : top,
        .negated = search->glob != NULL && search->glob[0] == '!',
        .has_rules = wb_rules_have_paths(search->call->run->rules),
    };
    state.was_asked =
        state.has_rules && judge(&state, search->call->arena, top) == WB_VERDICT_PROMPT;
    if (search->glob != NULL) {
        state.glob = relative_glob(&state, search->glob + state.negated);
    }
    switch (wb_file_kind(top, NULL)) {
    case WB_FILE_MISSING:
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "There is no file or folder %s",
                            wb_call_relative(search->call, top));
    case WB_FILE_REGULAR:
        search->counts.files = 1;
        search->is_file = true;
        search->visit(search->ctx, top, wb_call_relative(search->call, top));
        return 0;
    case WB_FILE_OTHER:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is neither a file nor a folder",
                            wb_call_relative(search->call, top));
    default:
        break;
    }
    const struct wb_walk_options options = {
        .hidden = names_hidden(state.glob),
        .cancel = search->call->cancel,
    };
    return wb_walk(state.root, top, &options, visit_entry, &state, &search->counts, err);
}
