/* action_diagnostics: errors and warnings of a file, from all its servers together; "*" runs the
 * project check. What is told goes into the ledger. */
#include "lsp/actions.h"

#include "base/clock.h"
#include "lsp/project_check.h"
#include "sys/path.h"

#define FINDINGS_SHOWN 200

struct findings {
    struct wb_diagnostic_list list;
    struct wb_server_answer *answers;
    size_t n_answers, answers_capacity;
};

static void keep_serious(struct wb_diagnostic_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].severity <= WB_SEVERITY_WARNING) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

/* One server's part of the question. Each runs on a thread of its own with an arena of its own, so
 * that a server that hangs does not use up the time of the others. */
struct part {
    struct wb_query *query;
    const struct wb_candidate *candidate;
    struct wb_arena arena;
    struct wb_diagnostic_list fresh;
    struct wb_server_answer answer;
};

static void ask_server(void *ctx, size_t i)
{
    struct part *part = &((struct part *)ctx)[i];
    struct wb_query *query = part->query;
    struct wb_query_server server;
    struct wb_error err;
    if (wb_query_use(query, part->candidate, &server, &err) < 0) {
        part->answer = (struct wb_server_answer){part->candidate->row->id, WB_ANSWER_UNKNOWN,
                                                 wb_arena_strdup(&part->arena, err.message)};
        return;
    }
    wb_server_diagnose(server.server, query->path, &server.sync, query->deadline_ms,
                       query->call->cancel, &part->arena, &part->fresh, &part->answer);
    if (part->answer.state != WB_ANSWER_UNKNOWN) {
        wb_ledger_account(query->lsp->ledger, query->path, part->answer.server, &part->fresh);
    }
    wb_server_unref(server.server);
}

static void ask_servers(struct wb_query *query, struct findings *findings)
{
    struct wb_arena *arena = query->call->arena;
    struct part *parts = wb_arena_alloc_array(arena, query->candidates.count, sizeof(*parts));
    const struct wb_candidate *candidate;
    size_t n = 0;
    for (size_t cursor = 0; (candidate = wb_query_next(query, &cursor)) != NULL;) {
        if (candidate->row->diagnostics != WB_DIAGNOSTICS_NONE) {
            parts[n] = (struct part){.query = query, .candidate = candidate};
            wb_arena_init(&parts[n++].arena);
        }
    }
    wb_pool_run_each(wb_host_pool(wb_run_host(query->call->run)), n, ask_server, parts);
    for (size_t i = 0; i < n; i++) {
        *WB_ARENA_PUSH(arena, findings->answers, findings->n_answers, findings->answers_capacity) =
            parts[i].answer;
        wb_diagnostics_copy(arena, &findings->list, &parts[i].fresh);
        wb_arena_adopt(arena, &parts[i].arena);
    }
}

static void count_severities(const struct wb_diagnostic_list *list, size_t *ret_errors,
                             size_t *ret_warnings)
{
    *ret_errors = *ret_warnings = 0;
    for (size_t i = 0; i < list->count; i++) {
        *ret_errors += list->items[i].severity == WB_SEVERITY_ERROR;
        *ret_warnings += list->items[i].severity == WB_SEVERITY_WARNING;
    }
}

static void show_answers(const struct findings *findings, struct wb_text *out)
{
    const char *separator = "Clean: ";
    bool clean = false;
    for (size_t i = 0; i < findings->n_answers; i++) {
        if (findings->answers[i].state == WB_ANSWER_CLEAN) {
            wb_text_printf(out, "%s%s", separator, findings->answers[i].server);
            separator = ", ";
            clean = true;
        }
    }
    wb_text_add_str(out, clean ? ".\n" : "");
    for (size_t i = 0; i < findings->n_answers; i++) {
        if (findings->answers[i].state == WB_ANSWER_UNKNOWN) {
            wb_text_printf(out, "Unknown: %s\n", findings->answers[i].reason);
        }
    }
}

static void show(struct wb_lsp *lsp, struct findings *findings, struct wb_result *result)
{
    struct wb_text *out = &result->text;
    size_t errors, warnings;
    wb_diagnostics_sort(&findings->list);
    count_severities(&findings->list, &errors, &warnings);
    for (size_t i = 0; i < findings->list.count && i < FINDINGS_SHOWN; i++) {
        wb_diagnostic_line(out, &findings->list.items[i],
                           wb_path_relative(findings->list.items[i].path, lsp->workspace));
    }
    if (findings->list.count > FINDINGS_SHOWN) {
        wb_text_printf(out, "%d of %zu shown. ", FINDINGS_SHOWN, findings->list.count);
    }
    if (findings->list.count > 0) {
        wb_text_printf(out, "%zu error%s, %zu warning%s.\n", errors, errors == 1 ? "" : "s",
                       warnings, warnings == 1 ? "" : "s");
    }
    show_answers(findings, out);
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_diagnostics_json(&w, lsp->workspace, &findings->list, findings->answers,
                        findings->n_answers);
}

static bool all_failed(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n_answers; i++) {
        if (findings->answers[i].state != WB_ANSWER_UNKNOWN) {
            return false;
        }
    }
    return true;
}

static int check_file(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                      struct findings *findings, struct wb_error *err)
{
    WB_AUTO(wb_query_done) struct wb_query query;
    if (wb_query_open(lsp, call, args->file, &query, err) < 0) {
        return -1;
    }
    ask_servers(&query, findings);
    if (findings->n_answers == 0) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "the servers of this file (%s) have no diagnostics; \"*\" runs the "
                            "project check",
                            query.candidates.language->name);
    }
    keep_serious(&findings->list);
    return 0;
}

int wb_lsp_diagnostics(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                       struct wb_result *result, struct wb_error *err)
{
    struct findings findings = {0};
    if (wb_span_is(args->file, "*")) {
        if (wb_project_check(lsp, call, &findings.list, &findings.answers, &findings.n_answers,
                             err) < 0) {
            return -1;
        }
    } else if (check_file(lsp, call, args, &findings, err) < 0) {
        return -1;
    }
    show(lsp, &findings, result);
    result->is_error = all_failed(&findings);
    return 0;
}
