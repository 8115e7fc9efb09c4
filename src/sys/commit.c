/* commit: several files written all or none. This file has the order of things and what happens
 * when one of them fails; the parts are listed in commit_internal.h, the reasons in
 * docs/internals/edits.md. */
#include "sys/commit.h"

#include "base/log.h"
#include "sys/commit_internal.h"

/* Everything old again. Adds to err what could not be put back. */
static void roll_back(struct wb_commit_journal *journal, const struct wb_commit_plan *plan,
                      struct wb_error *err)
{
    struct wb_error undo_err = {0};
    if (wb_commit_undo_all(plan, &undo_err) == 0 && wb_commit_sync_folders(plan, &undo_err) == 0 &&
        wb_commit_journal_clear(journal, &undo_err) == 0) {
        return;
    }
    if (err != NULL) {
        struct wb_error first = *err;
        wb_error_set(err, first.code,
                     "%s. Not everything could be put back (%s): the journal %s is kept, and the "
                     "next start tries again",
                     first.message, undo_err.message, journal->path);
    }
}

static int take_steps(const struct wb_commit_plan *plan, struct wb_error *err)
{
    if (wb_commit_stage(plan, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (wb_commit_step_do(&plan->steps[i], err) != 0) {
            return -1;
        }
    }
    return wb_commit_sync_folders(plan, err);
}

/* A failure here leaves names behind that the journal still has: the next commit or start removes
 * them. The commit itself is done. */
static void clean_up(struct wb_commit_journal *journal, const struct wb_commit_plan *plan)
{
    struct wb_error err = {0};
    if (wb_commit_drop_all(plan, &err) != 0 || wb_commit_journal_clear(journal, &err) != 0) {
        wb_log(WB_LOG_DEBUG, "after a commit: %s", err.message);
    }
}

static int carry_out(struct wb_commit_journal *journal, const struct wb_commit_plan *plan,
                     struct wb_error *err)
{
    /* One step is atomic without a journal. What the journal then adds is the names to remove after
     * the process was killed, and that needs no disk. */
    bool sync = plan->n_steps > 1;
    if (wb_commit_journal_write(journal, plan, sync, err) != 0) {
        (void)wb_commit_journal_clear(journal, NULL);
        return -1;
    }
    if (take_steps(plan, err) != 0 || wb_commit_journal_mark_done(journal, sync, err) != 0) {
        roll_back(journal, plan, err);
        return -1;
    }
    clean_up(journal, plan);
    return 0;
}

/* 1: something was pending. */
static int recover_locked(struct wb_commit_journal *journal, const char *workspace,
                          struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_commit_plan plan = {.arena = &arena};
    bool done = false;
    int pending = wb_commit_journal_read(journal, &plan, &done, err);
    if (pending <= 0) {
        return pending;
    }
    int repaired;
    if (done) {
        struct wb_error left = {0};
        if (wb_commit_drop_all(&plan, &left) != 0) {
            wb_log(WB_LOG_WARNING, "a finished change of %s left something behind: %s", workspace,
                   left.message);
        }
        repaired = 0;
    } else {
        repaired = wb_commit_check_known(&plan, err);
        if (repaired == 0) {
            repaired = wb_commit_undo_all(&plan, err);
        }
        if (repaired == 0) {
            repaired = wb_commit_sync_folders(&plan, err);
        }
    }
    if (repaired == 0) {
        repaired = wb_commit_journal_clear(journal, err);
    }
    if (repaired != 0) {
        return wb_error_context(err,
                                "A change of files in %s was interrupted and is half done. Put the "
                                "files right, then remove the journal %s",
                                workspace, journal->path);
    }
    return 1;
}

int wb_commit_recover(const char *workspace, struct wb_error *err)
{
    struct wb_commit_journal journal;
    int opened = wb_commit_journal_open(&journal, workspace, true, err);
    if (opened != 0) {
        return opened < 0 ? -1 : 0;
    }
    int repaired = recover_locked(&journal, workspace, err);
    wb_commit_journal_close(&journal);
    return repaired;
}

int wb_commit_apply(const struct wb_commit *commit, struct wb_error *err)
{
    struct wb_commit_journal journal;
    if (wb_commit_journal_open(&journal, commit->workspace, false, err) != 0) {
        return -1;
    }
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_commit_plan plan = {.arena = &arena};
    int applied = -1;
    if (recover_locked(&journal, commit->workspace, err) >= 0 &&
        wb_commit_plan_make(&plan, commit, err) == 0) {
        applied = plan.n_steps != 0 ? carry_out(&journal, &plan, err) : 0;
    }
    wb_commit_journal_close(&journal);
    return applied;
}
