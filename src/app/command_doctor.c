/* doctor: what is usable in this checkout, and why not: servers, project checks, debug adapters,
 * interpreters and languages of structural search, with the command that installs each. Starts nothing but probes ("is this module installed?"). */
#include "app/command.h"
#include "app/doctor.h"
#include "app/output.h"
#include "app/session.h"
#include "ast/ast.h"
#include "debug/debug.h"
#include "kernel/interpreter.h"
#include "lsp/lsp.h"
#include "lsp/project_check.h"
#include "sys/path.h"

static const char *shown(const struct wb_lsp *lsp, const char *root)
{
    const char *relative = wb_path_relative(root, lsp->workspace);
    return wb_str_equal(root, lsp->workspace) || *relative == '\0' ? "." : relative;
}

static const char *untested(const struct wb_server_row *row)
{
    return row->tested ? "" : " (untested)";
}

static void list_servers(const struct wb_lsp *lsp, const struct wb_candidates *candidates,
                         bool usable, struct wb_text *out)
{
    for (size_t i = 0; i < candidates->count; i++) {
        const struct wb_candidate *it = &candidates->items[i];
        if ((it->reason == NULL) != usable) {
            continue;
        }
        if (usable) {
            wb_text_printf(out, "  %s%s: %s, root %s (%s)\n", it->row->id, untested(it->row),
                           it->command[0], shown(lsp, it->root), it->marker);
        } else {
            wb_text_printf(out, "  %s%s: %s\n", it->row->id, untested(it->row), it->reason);
        }
    }
}

static void show_servers(const struct wb_lsp *lsp, const struct wb_candidates *candidates,
                         struct wb_text *out)
{
    wb_text_printf(out, "Language servers usable here: %zu\n", candidates->n_usable);
    list_servers(lsp, candidates, true, out);
    if (candidates->n_usable < candidates->count) {
        wb_text_add_str(out, "Not usable, and why:\n");
        list_servers(lsp, candidates, false, out);
    }
}

static void show_checks(const struct wb_lsp *lsp, const struct wb_check_status *checks, size_t n,
                        struct wb_text *out)
{
    wb_text_printf(out, "Project checks%s\n", n == 0 ? ": none applies here" : ":");
    for (size_t i = 0; i < n; i++) {
        wb_text_printf(out, "  %s in %s: %s\n", checks[i].id, shown(lsp, checks[i].root),
                       checks[i].reason != NULL ? checks[i].reason : checks[i].program);
    }
}

static void put_row(struct wb_json_writer *w, const struct wb_server_row *row)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "id", row->id);
    wb_json_member_bool(w, "tested", row->tested);
    wb_json_member_str(w, "install", row->install);
    wb_json_end_object(w);
}

static void put_candidate(struct wb_json_writer *w, const struct wb_lsp *lsp,
                          const struct wb_candidate *it)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "id", it->row->id);
    wb_json_member_bool(w, "usable", it->reason == NULL);
    wb_json_member_bool(w, "tested", it->row->tested);
    wb_json_member_str(w, "root", it->root != NULL ? shown(lsp, it->root) : NULL);
    wb_json_member_str(w, "marker", it->marker);
    wb_json_member_str(w, "program", it->command != NULL ? it->command[0] : NULL);
    wb_json_member_str(w, "reason", it->reason);
    wb_json_end_object(w);
}

static void put_check(struct wb_json_writer *w, const struct wb_lsp *lsp,
                      const struct wb_check_status *check)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "id", check->id);
    wb_json_member_str(w, "root", shown(lsp, check->root));
    wb_json_member_str(w, "program", check->program);
    wb_json_member_str(w, "reason", check->reason);
    wb_json_end_object(w);
}

/* What other folders say of themselves: lines, and the same as JSON. */
struct surveys {
    struct wb_text adapters, adapters_json;
    struct wb_text interpreters, interpreters_json;
    struct wb_text languages, languages_json;
};

static void surveys_done(struct surveys *surveys)
{
    wb_text_done(&surveys->adapters);
    wb_text_done(&surveys->adapters_json);
    wb_text_done(&surveys->interpreters);
    wb_text_done(&surveys->interpreters_json);
    wb_text_done(&surveys->languages);
    wb_text_done(&surveys->languages_json);
}

static int survey(struct wb_run *run, struct wb_arena *arena, struct surveys *ret,
                  struct wb_error *err)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, &ret->interpreters_json);
    wb_interpreter_survey(arena, run, &ret->interpreters, &w);
    wb_json_writer_init(&w, &ret->languages_json);
    wb_ast_survey(run, &ret->languages, &w);
    wb_json_writer_init(&w, &ret->adapters_json);
    return wb_debug_survey_text(wb_debug_of_run(run), arena, NULL, &ret->adapters, &w, err);
}

/* {"servers": what this checkout calls for, "checks", "adapters", "interpreters", "structural_search",
 * "catalogue": every server's row}. */
static void write_json(const struct wb_lsp *lsp, const struct wb_catalogue *catalogue,
                       const struct wb_candidates *candidates, const struct wb_check_status *checks,
                       size_t n_checks, const struct surveys *surveys, struct wb_text *out)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_key(&w, "servers");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < candidates->count; i++) {
        put_candidate(&w, lsp, &candidates->items[i]);
    }
    wb_json_end_array(&w);
    wb_json_key(&w, "checks");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < n_checks; i++) {
        put_check(&w, lsp, &checks[i]);
    }
    wb_json_end_array(&w);
    wb_json_key(&w, "adapters");
    wb_json_put_raw(&w, wb_text_span(&surveys->adapters_json));
    wb_json_key(&w, "interpreters");
    wb_json_put_raw(&w, wb_text_span(&surveys->interpreters_json));
    wb_json_key(&w, "structural_search");
    wb_json_put_raw(&w, wb_text_span(&surveys->languages_json));
    wb_json_key(&w, "catalogue");
    wb_json_begin_array(&w);
    const struct wb_server_row *row;
    for (size_t cursor = 0; (row = wb_catalogue_next(catalogue, &cursor)) != NULL;) {
        put_row(&w, row);
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    wb_text_add_char(out, '\n');
}

int wb_doctor_examine(struct wb_run *run, bool json, struct wb_text *out, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(surveys_done) struct surveys surveys = {0};
    wb_arena_init(&arena);
    struct wb_lsp *lsp = wb_lsp_of_run(run);
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(lsp, err);
    struct wb_candidates candidates;
    struct wb_check_status *checks;
    size_t n_checks;
    if (catalogue == NULL || wb_project_check_status(lsp, &arena, &checks, &n_checks, err) < 0 ||
        survey(run, &arena, &surveys, err) != 0) {
        return -1;
    }
    wb_catalogue_of_workspace(&arena, catalogue, lsp->workspace, &candidates);
    if (json) {
        write_json(lsp, catalogue, &candidates, checks, n_checks, &surveys, out);
    } else {
        wb_text_printf(out, "Workspace: %s%s\n", lsp->workspace,
                       wb_config_trusted(wb_run_config(run)) ? " (trusted)" : " (not trusted)");
        show_servers(lsp, &candidates, out);
        show_checks(lsp, checks, n_checks, out);
        wb_text_add_span(out, wb_text_span(&surveys.adapters));
        wb_text_add_span(out, wb_text_span(&surveys.interpreters));
        wb_text_add_span(out, wb_text_span(&surveys.languages));
    }
    return 0;
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_session_close) struct wb_session session = {0};
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_error err;
    (void)operands;
    (void)n_operands;
    if (wb_session_open(options, NULL, &session, &err) != 0) {
        return wb_command_refuse("%s", err.message);
    }
    if (wb_doctor_examine(session.run, options->json, &out, &err) != 0 ||
        wb_output_write(wb_text_span(&out), &err) != 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    return WB_EXIT_DONE;
}

const struct wb_command wb_command_doctor = {
    .name = "doctor",
    .operands = "",
    .options = WB_OPTION_WORKSPACE | WB_OPTION_RUN | WB_OPTION_JSON,
    .summary = "say what is usable in this checkout, and why not",
    .details =
        "Language servers, project checks, debug adapters and interpreters, with the command that\n"
        "installs each. A row marked untested is in the catalogue and not among those that the\n"
        "test suite starts. --json lists the whole catalogue too.\n",
    .run = run,
};
