/* project_check: see project_check.h. Puts the parts together: what the workspace calls for
 * (check_survey.c), where it may write, what it runs, and what is told of it. */
#include "lsp/project_check.h"

#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "lsp/check.h"
#include "sys/file.h"
#include "sys/mirror.h"
#include "sys/path.h"
#include "sys/walk.h"

#define NS_PER_S 1000000000L

/* One plan on its way. */
struct job {
    struct wb_lsp *lsp;
    struct wb_call *call;
    const struct wb_check_plan *plan;
    const char *folder; /* of this check and root, outside the workspace */
    const char *cache;  /* {cache} */
    const char *root;   /* {root}, in the copy where there is one */
    const char *copy;   /* NULL: none */
    int lock_fd;
};

static void job_done(struct job *job)
{
    if (job->lock_fd >= 0) {
        close(job->lock_fd);
    }
}

/* Two runs of one check of one root take turns, also between processes. */
static int take_lock(struct job *job, struct wb_error *err)
{
    const char *path = wb_path_join(job->call->arena, job->folder, "lock");
    int64_t deadline = wb_call_deadline(job->call, 1000 * job->plan->row->timeout_s);
    job->lock_fd = wb_file_lock(path, deadline, job->call->cancel, err);
    return job->lock_fd < 0 ? wb_error_context(err, "waiting for another run of this check") : 0;
}

static int make_folders(struct job *job, struct wb_error *err)
{
    struct wb_arena *arena = job->call->arena;
    const char *cache = wb_path_cache_folder(arena, err);
    cache = cache != NULL ? wb_path_real(arena, cache, err) : NULL;
    if (cache == NULL) {
        return -1;
    }
    if (wb_path_is_inside(cache, job->lsp->workspace)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "a check must not write into the workspace, and the cache folder %s "
                            "lies in it: set XDG_CACHE_HOME to a folder elsewhere",
                            cache);
    }
    job->folder =
        wb_arena_printf(arena, "%s/checks/%016llx/%s", cache,
                        (unsigned long long)wb_hash(wb_span(job->plan->root)), job->plan->row->id);
    job->cache = wb_path_join(arena, job->folder, "cache");
    return wb_path_make_folders(job->cache, 0700, err);
}

/* A marker that the ignore files leave out (a generated Makefile) says that the build needs more
 * than what they let through. */
static bool needs_ignored(const struct job *job)
{
    const char *marker = wb_path_join(job->call->arena, job->plan->root, job->plan->marker);
    return wb_path_base(marker)[0] != '.' && wb_walk_leaves_out(job->lsp->workspace, marker, false);
}

static int make_copy(struct job *job, struct wb_error *err)
{
    struct wb_arena *arena = job->call->arena;
    wb_call_progress(job->call, 0, 0, "%s: copying the workspace", job->plan->row->id);
    job->copy = wb_path_join(arena, job->folder, "tree");
    job->root = wb_path_normalize(
        arena,
        wb_path_join(arena, job->copy, wb_path_relative(job->plan->root, job->lsp->workspace)));
    return wb_mirror_update(job->lsp->workspace, job->folder, needs_ignored(job), job->call->cancel,
                            err);
}

/* A file that changes in the second that its state was cached in would pass for unchanged later: the
 * run waits, at most a second, until that second is over. */
static int wait_for_second(struct job *job, struct wb_error *err)
{
    const char **files;
    size_t n;
    if (wb_check_files(job->lsp, job->call->arena, job->call->cancel, job->plan->row,
                       job->plan->root, &files, &n, err) < 0) {
        return -1;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bool is_fresh = false;
    for (size_t i = 0; i < n && !is_fresh; i++) {
        struct wb_file_stamp stamp;
        const char *path = wb_path_join(job->call->arena, job->plan->root, files[i]);
        is_fresh = wb_file_kind(path, &stamp) == WB_FILE_REGULAR &&
                   stamp.mtime_ns / NS_PER_S == now.tv_sec;
    }
    if (is_fresh) {
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_S - now.tv_nsec}, NULL);
    }
    return 0;
}

/* The words of a command, with placeholders filled in. */
static const char *const *make_argv(struct job *job, const char *const *command,
                                    struct wb_error *err)
{
    struct wb_arena *arena = job->call->arena;
    const char **argv = NULL;
    size_t n = 0, capacity = 0;
    for (; *command != NULL; command++) {
        if (!wb_str_equal(*command, "{file_list}")) {
            *WB_ARENA_PUSH(arena, argv, n, capacity) =
                wb_check_expand(arena, *command, job->root, job->cache);
            continue;
        }
        const char **files;
        size_t n_files;
        if (wb_check_files(job->lsp, arena, job->call->cancel, job->plan->row, job->plan->root,
                           &files, &n_files, err) < 0) {
            return NULL;
        }
        for (size_t i = 0; i < n_files; i++) {
            *WB_ARENA_PUSH(arena, argv, n, capacity) = files[i];
        }
    }
    if (n >= WB_CHILD_ARGS_MAX) {
        wb_error_set(err, WB_ERROR_LIMIT, "there are %zu files; at most %d can be checked at once",
                     n, WB_CHILD_ARGS_MAX);
        return NULL;
    }
    *WB_ARENA_PUSH(arena, argv, n, capacity) = NULL;
    /* A program of the project's own runs from the copy: some write beside themselves. */
    if (job->copy != NULL && wb_path_is_inside(argv[0], job->lsp->workspace)) {
        const char *own =
            wb_path_join(arena, job->copy, wb_path_relative(argv[0], job->lsp->workspace));
        argv[0] = wb_file_kind(own, NULL) == WB_FILE_REGULAR ? own : argv[0];
    }
    return argv;
}

/* The first command that can do its work; the next is for versions that lack an option. */
static int run_commands(struct job *job, struct wb_diagnostic_list *list,
                        struct wb_server_answer *answer, struct wb_error *err)
{
    struct wb_arena *arena = job->call->arena;
    struct wb_check_run run = {
        .lsp = job->lsp,
        .call = job->call,
        .row = job->plan->row,
        .env = wb_check_env(arena, job->plan->row, job->root, job->cache),
        .paths = {.cwd = job->root, .copy = job->copy, .workspace = job->lsp->workspace},
    };
    size_t first = list->count;
    answer->state = WB_ANSWER_UNKNOWN;
    for (const char *const *const *command = job->plan->commands;
         *command != NULL && answer->state == WB_ANSWER_UNKNOWN && list->count == first;
         command++) {
        struct wb_server_answer next = *answer;
        run.argv = make_argv(job, *command, err);
        if (run.argv == NULL || wb_check_run(&run, arena, list, &next, err) < 0) {
            return -1;
        }
        if (answer->reason == NULL || next.state != WB_ANSWER_UNKNOWN) {
            *answer = next;
        }
    }
    return 0;
}

/* So that an incremental build tells its warnings again. */
static void remember_files(struct job *job, const struct wb_diagnostic_list *found)
{
    const char **paths = wb_arena_alloc_array(job->call->arena, found->count, sizeof(*paths));
    struct wb_map seen;
    size_t n = 0;
    wb_map_init(&seen);
    for (size_t i = 0; i < found->count; i++) {
        const char *path = found->items[i].path;
        if (wb_path_is_inside(path, job->lsp->workspace) &&
            wb_map_set(&seen, path, &seen) == NULL) {
            paths[n++] = wb_path_relative(path, job->lsp->workspace);
        }
    }
    wb_map_done(&seen);
    wb_mirror_compile_again(job->folder, paths, n);
}

static int run_job(struct job *job, struct wb_diagnostic_list *list,
                   struct wb_server_answer *answer, struct wb_error *err)
{
    if (make_folders(job, err) < 0 || take_lock(job, err) < 0 ||
        (job->plan->row->copy && make_copy(job, err) < 0)) {
        return -1;
    }
    if (job->plan->row->coarse_times && wait_for_second(job, err) < 0) {
        return -1;
    }
    struct wb_diagnostic_list found = {0};
    if (run_commands(job, &found, answer, err) < 0) {
        return -1;
    }
    if (job->copy != NULL) {
        remember_files(job, &found);
    }
    wb_diagnostics_copy(job->call->arena, list, &found);
    return 0;
}

/* -1: cancelled. What keeps a check from running is its answer, and the next one runs. */
static int run_plan(struct wb_lsp *lsp, struct wb_call *call, const struct wb_check_plan *plan,
                    struct wb_diagnostic_list *list, struct wb_server_answer *answer,
                    struct wb_error *err)
{
    if (plan->row->compile_commands) {
        return wb_check_compile_commands(lsp, call, plan, list, answer, err);
    }
    WB_AUTO(job_done)
    struct job job = {.lsp = lsp, .call = call, .plan = plan, .root = plan->root, .lock_fd = -1};
    struct wb_error failure;
    if (run_job(&job, list, answer, &failure) == 0) {
        return 0;
    }
    if (failure.code == WB_ERROR_CANCELLED) {
        return wb_error_set(err, failure.code, "%s", failure.message);
    }
    answer->state = WB_ANSWER_UNKNOWN;
    answer->reason = wb_arena_printf(call->arena, "%s: %s", plan->row->id, failure.message);
    return 0;
}

/* Telling. */

static const char *name_of(struct wb_arena *arena, const char *workspace,
                           const struct wb_check_plan *plan)
{
    const char *relative = wb_path_relative(plan->root, workspace);
    return wb_str_equal(relative, ".")
               ? plan->row->id
               : wb_arena_printf(arena, "%s in %s", plan->row->id, relative);
}

static int no_plans(struct wb_error *err)
{
    return wb_error_set(
        err, WB_ERROR_NOT_FOUND,
        "No project check fits this workspace: neither its folder nor one up to two "
        "folders below has a marker (Cargo.toml, go.mod, tsconfig.json, "
        "pyproject.toml, compile_commands.json, Makefile, ...) with files of its "
        "language. A check of your own is a row under `checks` in the "
        "configuration; single files can be asked about by name");
}

static int none_runs(const char *workspace, const struct wb_check_plans *plans,
                     struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text reasons;
    wb_arena_init(&arena);
    wb_text_init(&reasons);
    for (size_t i = 0; i < plans->count; i++) {
        if (plans->items[i].missed) {
            wb_text_printf(&reasons, "\n%s: %s", name_of(&arena, workspace, &plans->items[i]),
                           plans->items[i].reason);
        }
    }
    return wb_error_set(err, WB_ERROR_UNAVAILABLE, "No project check can run here:%s",
                        wb_text_cstr(&reasons));
}

static size_t count_running(const struct wb_check_plans *plans)
{
    size_t n = 0;
    for (size_t i = 0; i < plans->count; i++) {
        n += plans->items[i].reason == NULL;
    }
    return n;
}

int wb_project_check(struct wb_lsp *lsp, struct wb_call *call, struct wb_diagnostic_list *list,
                     struct wb_server_answer **ret, size_t *ret_n, struct wb_error *err)
{
    struct wb_check_plans plans;
    if (wb_check_survey(lsp, call->arena, call->cancel, &plans, err) < 0) {
        return -1;
    }
    if (plans.count == 0) {
        return no_plans(err);
    }
    if (count_running(&plans) == 0) {
        return none_runs(lsp->workspace, &plans, err);
    }
    struct wb_server_answer *answers =
        wb_arena_alloc_array(call->arena, plans.count + 1, sizeof(*answers));
    size_t n = 0;
    for (size_t i = 0; i < plans.count; i++) {
        const struct wb_check_plan *plan = &plans.items[i];
        if (plan->reason != NULL && !plan->missed) {
            continue;
        }
        const char *name = name_of(call->arena, lsp->workspace, plan);
        answers[n].server = name;
        if (plan->reason != NULL) {
            answers[n].state = WB_ANSWER_UNKNOWN;
            answers[n].reason =
                wb_arena_printf(call->arena, "%s did not run: %s", name, plan->reason);
        } else if (run_plan(lsp, call, plan, list, &answers[n], err) < 0) {
            return -1;
        }
        n++;
    }
    if (plans.n_roots_left > 0) {
        answers[n++] = (struct wb_server_answer){
            "more projects", WB_ANSWER_UNKNOWN,
            wb_arena_printf(call->arena,
                            "%zu more folders with projects were not checked; start with one of "
                            "them as the workspace",
                            plans.n_roots_left)};
    }
    *ret = answers;
    *ret_n = n;
    return 0;
}

int wb_project_check_status(struct wb_lsp *lsp, struct wb_arena *arena,
                            struct wb_check_status **ret, size_t *ret_n, struct wb_error *err)
{
    struct wb_check_plans plans;
    if (wb_check_survey(lsp, arena, NULL, &plans, err) < 0) {
        return -1;
    }
    *ret = wb_arena_alloc_array(arena, plans.count, sizeof(**ret));
    *ret_n = plans.count;
    for (size_t i = 0; i < plans.count; i++) {
        const struct wb_check_plan *plan = &plans.items[i];
        bool has_program = plan->commands != NULL && plan->commands[0] != NULL;
        (*ret)[i] = (struct wb_check_status){.id = plan->row->id,
                                             .root = plan->root,
                                             .program = has_program ? plan->commands[0][0] : NULL,
                                             .reason = plan->reason};
    }
    return 0;
}
