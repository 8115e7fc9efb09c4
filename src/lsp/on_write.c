/* on_write: diagnostics in the moment of a write. Before it, the ledger is brought to what the
 * servers think of the old files; after it, the files are synchronised and saved with their servers,
 * and only what newly arose joins the result.
 *
 * One budget covers both halves: 1.5 s when every server is warm, 5 s when one is cold. A server
 * that has not spoken by then is named ("still checking"), and what it says later is told with the
 * next result of the run, unless the file has changed again. The same look at each result's end
 * finds what a write broke in other open files. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "lsp/late.h"
#include "lsp/lsp.h"
#include "lsp/write_report.h"
#include "sys/file.h"
#include "sys/path.h"

#define WARM_MS 1500
#define COLD_MS 5000
#define BASELINE_SHARE 0.6  /* of the budget, at most, for the half before the write */
#define TARGETS_MAX 50      /* files of one commit that are waited for */
#define OTHERS_ASKED_MAX 20 /* other open files of a server that is asked, not heard */

struct wb_on_write {
    struct wb_lsp *lsp;
    struct wb_late *late;
};

/* One file of a commit with one of its servers. */
struct target {
    const char *path, *language_id;
    const struct wb_candidate *candidate;
    struct wb_server *server; /* NULL: did not start in time, and why: */
    const char *failure;
    bool existed, baseline, answered;
    struct wb_sync sync; /* of the file as it was written */
    struct wb_server_answer answer;
};

/* The targets of one server. Servers are waited for side by side, each with an arena of its own, so
 * that one that hangs does not use up the budget of the others. */
struct group {
    struct wb_on_write *on_write;
    struct wb_call *call;
    struct state *state;
    struct wb_server *server;
    struct wb_arena arena;
};

struct state {
    struct target *targets;
    size_t n_targets, targets_capacity;
    size_t n_left_out; /* files beyond TARGETS_MAX */
    int64_t baseline_deadline_ms, deadline_ms;
};

struct wb_on_write *wb_on_write_new(struct wb_lsp *lsp)
{
    struct wb_on_write *on_write = wb_alloc(sizeof(*on_write));
    on_write->lsp = lsp;
    on_write->late = wb_late_new(lsp);
    return on_write;
}

void wb_on_write_free(struct wb_on_write *on_write)
{
    if (on_write != NULL) {
        wb_late_free(on_write->late);
        free(on_write);
    }
}

/* Before the write. */

static void add_targets(struct wb_on_write *on_write, struct wb_call *call, struct state *state,
                        const char *path, bool exists)
{
    struct wb_error err;
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(on_write->lsp, &err);
    if (catalogue == NULL) {
        wb_log(WB_LOG_WARNING, "%s", err.message);
        return;
    }
    struct wb_candidates candidates;
    struct wb_running running = wb_supervisor_is_running(on_write->lsp->supervisor);
    wb_catalogue_candidates(call->arena, catalogue, on_write->lsp->workspace, path, &running,
                            &candidates);
    for (size_t i = 0; i < candidates.count; i++) {
        if (candidates.items[i].reason == NULL &&
            candidates.items[i].row->diagnostics != WB_DIAGNOSTICS_NONE) {
            struct target *target = WB_ARENA_PUSH(call->arena, state->targets, state->n_targets,
                                                  state->targets_capacity);
            target->path = path;
            target->language_id = candidates.language->lsp_id;
            target->candidate = &candidates.items[i];
            target->existed = exists;
        }
    }
}

/* The path that a commit leaves a text at, or NULL. */
static const char *written_path(const struct wb_commit_op *op)
{
    switch (op->kind) {
    case WB_COMMIT_WRITE:
        return op->path;
    case WB_COMMIT_RENAME:
        return op->new_path;
    case WB_COMMIT_DELETE:
        break;
    }
    return NULL;
}

static void collect_targets(struct wb_on_write *on_write, struct wb_call *call,
                            const struct wb_commit *commit, struct state *state)
{
    size_t n_files = 0;
    for (size_t i = 0; i < commit->n_ops; i++) {
        const struct wb_commit_op *op = &commit->ops[i];
        const char *path = written_path(op);
        if (path == NULL || !wb_path_is_inside(path, on_write->lsp->workspace)) {
            continue;
        }
        if (n_files++ == TARGETS_MAX) {
            state->n_left_out++;
            n_files--;
            continue;
        }
        add_targets(on_write, call, state, path, op->kind == WB_COMMIT_WRITE && op->must_exist);
    }
}

static struct wb_server *use(struct wb_on_write *on_write, struct wb_call *call,
                             const struct target *target, int64_t deadline_ms, struct wb_error *err)
{
    struct wb_lsp *lsp = on_write->lsp;
    return wb_supervisor_use(lsp->supervisor, target->candidate, lsp->workspace, &lsp->limits,
                             deadline_ms, call->cancel, err);
}

/* Starts what is cold, all at once, and says whether anything was. */
static bool begin_starts(struct wb_on_write *on_write, struct wb_call *call, struct state *state)
{
    bool cold = false;
    for (size_t i = 0; i < state->n_targets; i++) {
        struct wb_error err;
        state->targets[i].server = use(on_write, call, &state->targets[i], 0, &err);
        cold |= state->targets[i].server == NULL;
    }
    return cold;
}

static void finish_starts(struct wb_on_write *on_write, struct wb_call *call, struct state *state,
                          int64_t deadline_ms)
{
    for (size_t i = 0; i < state->n_targets; i++) {
        struct target *target = &state->targets[i];
        struct wb_error err;
        if (target->server == NULL) {
            target->server = use(on_write, call, target, deadline_ms, &err);
        }
        if (target->server == NULL) {
            target->failure = wb_arena_strdup(call->arena, err.message);
        }
    }
}

/* Brings the ledger to the old file, unless the word on an earlier write of this run is still to
 * come: then the state before that write stays the baseline. */
static void take_baseline(struct group *group, struct target *target)
{
    struct wb_on_write *on_write = group->on_write;
    if (wb_late_take(on_write->late, target->path, target->server, &target->baseline)) {
        return;
    }
    struct wb_diagnostic_list list = {0};
    struct wb_server_answer answer = {.state = WB_ANSWER_CLEAN};
    struct wb_sync sync;
    const char *id = wb_server_row(target->server)->id;
    if (target->existed) {
        if (wb_server_sync(target->server, target->path, target->language_id, false, &sync, NULL) <
            0) {
            return;
        }
        wb_server_diagnose(target->server, target->path, &sync, group->state->baseline_deadline_ms,
                           group->call->cancel, &group->arena, &list, &answer);
    }
    target->baseline = answer.state != WB_ANSWER_UNKNOWN;
    if (target->baseline) {
        wb_ledger_account(on_write->lsp->ledger, target->path, id, &list);
    }
}

/* What the servers think of the other open files now is not the write's doing. */
static void account_open_files(struct wb_on_write *on_write, struct wb_arena *arena,
                               struct wb_server *server)
{
    const char **paths;
    size_t n;
    wb_server_open_paths(server, arena, &paths, &n);
    for (size_t i = 0; i < n; i++) {
        struct wb_diagnostic_list list = {0};
        const char *id = wb_server_row(server)->id;
        if (!wb_ledger_knows(on_write->lsp->ledger, paths[i], id) &&
            wb_server_diagnostics_now(server, arena, paths[i], &list)) {
            wb_ledger_account(on_write->lsp->ledger, paths[i], id, &list);
        }
    }
}

static void account_all_open_files(struct wb_on_write *on_write, struct wb_call *call)
{
    struct wb_server **servers;
    size_t n;
    wb_supervisor_list(on_write->lsp->supervisor, call->arena, on_write->lsp->workspace, &servers,
                       &n);
    for (size_t i = 0; i < n; i++) {
        account_open_files(on_write, call->arena, servers[i]);
        wb_server_unref(servers[i]);
    }
}

static void take_baselines(void *ctx, size_t i)
{
    struct group *group = &((struct group *)ctx)[i];
    for (size_t k = 0; k < group->state->n_targets; k++) {
        if (group->state->targets[k].server == group->server) {
            take_baseline(group, &group->state->targets[k]);
        }
    }
}

static size_t make_groups(struct wb_on_write *on_write, struct wb_call *call, struct state *state,
                          struct group *groups)
{
    size_t n = 0;
    for (size_t i = 0; i < state->n_targets; i++) {
        struct wb_server *server = state->targets[i].server;
        bool known = server == NULL;
        for (size_t k = 0; k < n && !known; k++) {
            known = groups[k].server == server;
        }
        if (!known) {
            groups[n] = (struct group){on_write, call, state, server, {0}};
            wb_arena_init(&groups[n++].arena);
        }
    }
    return n;
}

/* Runs fn for each server of the targets, side by side. */
static void for_each_server(struct wb_on_write *on_write, struct wb_call *call, struct state *state,
                            void (*fn)(void *ctx, size_t i))
{
    struct group *groups = wb_arena_alloc_array(call->arena, state->n_targets, sizeof(*groups));
    size_t n = make_groups(on_write, call, state, groups);
    wb_pool_run_each(wb_host_pool(wb_run_host(call->run)), n, fn, groups);
    for (size_t i = 0; i < n; i++) {
        wb_arena_adopt(call->arena, &groups[i].arena);
    }
}

/* The servers get the new content now and think while the disk works. */
static void anticipate(const struct wb_commit *commit, const struct state *state)
{
    for (size_t i = 0; i < commit->n_ops; i++) {
        const struct wb_commit_op *op = &commit->ops[i];
        for (size_t k = 0; k < state->n_targets && op->kind == WB_COMMIT_WRITE; k++) {
            const struct target *target = &state->targets[k];
            if (target->server != NULL && wb_str_equal(target->path, op->path)) {
                wb_server_anticipate(target->server, target->path, op->new_content);
            }
        }
    }
}

static void before(void *ctx, struct wb_call *call, const struct wb_commit *commit,
                   void **ret_state)
{
    struct wb_on_write *on_write = ctx;
    struct state *state = WB_ARENA_NEW(call->arena, struct state);
    *ret_state = state;
    collect_targets(on_write, call, commit, state);
    int64_t budget_ms = begin_starts(on_write, call, state) ? COLD_MS : WARM_MS;
    state->baseline_deadline_ms = wb_clock_deadline((int64_t)((double)budget_ms * BASELINE_SHARE));
    state->deadline_ms = wb_clock_deadline(budget_ms);
    finish_starts(on_write, call, state, state->baseline_deadline_ms);
    wb_supervisor_catch_up(on_write->lsp->supervisor, on_write->lsp->workspace);
    for_each_server(on_write, call, state, take_baselines);
    account_all_open_files(on_write, call);
    anticipate(commit, state);
}

/* After the write. */

static struct wb_server_answer *add_answer(struct wb_arena *arena, struct wb_write_report *report)
{
    return WB_ARENA_PUSH(arena, report->answers, report->n_answers, report->answers_capacity);
}

/* The list is read again after the last wait: what one file's change did to another may have come
 * in between. */
static void tell_target(struct wb_on_write *on_write, struct wb_call *call,
                        const struct target *target, struct wb_write_report *report)
{
    struct wb_diagnostic_list fresh = {0};
    (void)wb_server_diagnostics_now(target->server, call->arena, target->path, &fresh);
    size_t before_count = report->news.count;
    wb_ledger_news(on_write->lsp->ledger, target->path, wb_server_row(target->server)->id, &fresh,
                   WB_SEVERITY_WARNING, call->arena, &report->news);
    report->doubtful |= !target->baseline && report->news.count > before_count;
}

/* Waits for the server's word. Unknown: it is remembered, to be told later. */
static void wait_for_target(struct group *group, struct target *target)
{
    struct wb_diagnostic_list ignored = {0};
    wb_server_diagnose(target->server, target->path, &target->sync, group->state->deadline_ms,
                       group->call->cancel, &group->arena, &ignored, &target->answer);
    target->answered = target->answer.state != WB_ANSWER_UNKNOWN;
    if (!target->answered && wb_server_alive(target->server)) {
        wb_late_remember(group->on_write->late, target->path, target->server, &target->sync,
                         target->baseline);
    }
}

/* A question after which the server has sent what it had to say of the messages before it: what one
 * file of a commit did to another. Servers that publish later than they answer are heard at the end
 * of a later result. */
static void fence(struct group *group, const struct target *target)
{
    if (!wb_server_offers(target->server, "documentSymbolProvider",
                          "textDocument/documentSymbol")) {
        return;
    }
    const char *params = wb_arena_printf(&group->arena, "{\"textDocument\":{\"uri\":\"%s\"}}",
                                         wb_path_to_uri(&group->arena, target->path));
    const struct wb_json *ignored;
    if (wb_server_request(target->server, "textDocument/documentSymbol", wb_span(params),
                          group->state->deadline_ms, group->call->cancel, &group->arena, &ignored,
                          NULL) < 0) {
        return; /* the list is read as it stands */
    }
}

static void wait_for_server(void *ctx, size_t i)
{
    struct group *group = &((struct group *)ctx)[i];
    const struct target *last = NULL;
    size_t n = 0;
    for (size_t k = 0; k < group->state->n_targets; k++) {
        struct target *target = &group->state->targets[k];
        if (target->server == group->server) {
            wait_for_target(group, target);
            last = target->answered ? target : last;
            n++;
        }
    }
    if (n > 1 && last != NULL && !wb_server_is_asked(group->server)) {
        fence(group, last);
    }
}

/* All are told before the first is waited for. */
static void check_targets(struct wb_on_write *on_write, struct wb_call *call, struct state *state,
                          struct wb_write_report *report)
{
    for (size_t i = 0; i < state->n_targets; i++) {
        struct target *target = &state->targets[i];
        struct wb_error err;
        if (wb_file_kind(target->path, NULL) == WB_FILE_MISSING) {
            wb_server_unref(WB_STEAL(target->server)); /* written, then moved on */
        }
        if (target->server != NULL &&
            wb_server_sync(target->server, target->path, target->language_id, true, &target->sync,
                           &err) < 0) {
            target->failure = wb_arena_strdup(call->arena, err.message);
            wb_server_unref(WB_STEAL(target->server));
        }
        target->answer = (struct wb_server_answer){target->candidate->row->id, WB_ANSWER_UNKNOWN,
                                                   target->failure};
    }
    for_each_server(on_write, call, state, wait_for_server);
    for (size_t i = 0; i < state->n_targets; i++) {
        if (wb_file_kind(state->targets[i].path, NULL) == WB_FILE_MISSING) {
            continue;
        }
        *add_answer(call->arena, report) = state->targets[i].answer;
        if (state->targets[i].answered) {
            tell_target(on_write, call, &state->targets[i], report);
        }
    }
}

/* Servers that push tell of other files by themselves, unless these have to be looked at anew; those that
 * are asked have to be asked. */
static void ask_elsewhere(struct wb_on_write *on_write, struct wb_call *call,
                          const struct state *state, struct wb_server *server)
{
    const char **paths;
    size_t n, asked = 0;
    const char *id = wb_server_row(server)->id;
    wb_server_open_paths(server, call->arena, &paths, &n);
    for (size_t i = 0; i < n && asked < OTHERS_ASKED_MAX; i++) {
        struct wb_diagnostic_list ignored = {0};
        struct wb_server_answer answer;
        struct wb_sync sync;
        bool is_target = false;
        for (size_t k = 0; k < state->n_targets && !is_target; k++) {
            is_target = wb_str_equal(state->targets[k].path, paths[i]);
        }
        if (!is_target && wb_ledger_knows(on_write->lsp->ledger, paths[i], id) &&
            wb_server_sync(server, paths[i], "", false, &sync, NULL) == 0 &&
            (sync.sent || wb_server_is_asked(server))) {
            wb_server_diagnose(server, paths[i], &sync, state->deadline_ms, call->cancel,
                               call->arena, &ignored, &answer);
            asked++;
        }
    }
}

static void ask_all_elsewhere(struct wb_on_write *on_write, struct wb_call *call,
                              const struct state *state)
{
    struct wb_server **servers;
    size_t n;
    struct wb_lsp *lsp = on_write->lsp;
    wb_supervisor_list(lsp->supervisor, call->arena, lsp->workspace, &servers, &n);
    for (size_t i = 0; i < n; i++) {
        if (wb_server_is_asked(servers[i]) || wb_server_row(servers[i])->rebuild_on[0] != NULL) {
            ask_elsewhere(on_write, call, state, servers[i]);
        }
        wb_server_unref(servers[i]);
    }
}

static void release(struct state *state)
{
    for (size_t i = 0; i < state->n_targets; i++) {
        wb_server_unref(WB_STEAL(state->targets[i].server));
    }
}

static void forget_gone(struct wb_on_write *on_write, const struct wb_commit *commit)
{
    for (size_t i = 0; i < commit->n_ops; i++) {
        if (commit->ops[i].kind != WB_COMMIT_WRITE) {
            wb_ledger_forget(on_write->lsp->ledger, commit->ops[i].path);
        }
    }
}

static void after(void *ctx, struct wb_call *call, const struct wb_commit *commit, bool written,
                  void *opaque, struct wb_result *result)
{
    struct wb_on_write *on_write = ctx;
    struct state *state = opaque;
    if (written) {
        forget_gone(on_write, commit);
        wb_supervisor_catch_up(on_write->lsp->supervisor, on_write->lsp->workspace);
    }
    if (written) {
        struct wb_write_report report = {.n_left_out = state->n_left_out};
        check_targets(on_write, call, state, &report);
        ask_all_elsewhere(on_write, call, state);
        wb_late_collect(on_write->late, call, &report.news);
        if (report.n_answers > 0 || report.news.count > 0) {
            wb_write_report_show(&report, call, result);
        }
    }
    release(state);
}

static void tell_late(void *ctx, struct wb_call *call, struct wb_result *result)
{
    const struct wb_on_write *on_write = ctx;
    wb_late_tell(on_write->late, call, result);
}

struct wb_write_observer wb_on_write_observer(struct wb_on_write *on_write)
{
    return (struct wb_write_observer){
        .before = before, .after = after, .result = tell_late, .ctx = on_write};
}
