/* debug: see debug.h. */
#include "debug/debug.h"

#include <stdlib.h>

#include "base/clock.h"
#include "sys/path.h"

#define WAIT_S 10
#define ANSWER_S 15
#define LIFETIME_S 1800
#define PROBES_MS 20000

static void free_debug(void *resource)
{
    struct wb_debug *debug = resource;
    wb_debug_place_leave(debug->place, debug->run);
    free(debug);
}

void wb_debug_attach(struct wb_run *run)
{
    const struct wb_config *config = wb_run_config(run);
    struct wb_debug *debug = wb_alloc(sizeof(*debug));
    debug->run = run;
    debug->workspace = wb_run_workspace(run);
    debug->supervisor = wb_debug_supervisor_of_host(wb_run_host(run));
    debug->place = wb_debug_place_enter(debug->supervisor, run);
    debug->wait_ms = 1000 * wb_config_int(config, "debug.wait_s", WAIT_S);
    debug->answer_ms = 1000 * wb_config_int(config, "debug.answer_s", ANSWER_S);
    debug->lifetime_ms = 1000 * wb_config_int(config, "debug.lifetime_s", LIFETIME_S);
    wb_run_attach(run, WB_RESOURCE_DEBUGGER, debug, free_debug);
}

bool wb_debug_available(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_DEBUGGER) != NULL;
}

struct wb_debug *wb_debug_of_run(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_DEBUGGER);
}

const struct wb_adapters *wb_debug_adapters(struct wb_debug *debug, struct wb_error *err)
{
    return wb_debug_supervisor_adapters(debug->supervisor,
                                        wb_config_root(wb_run_config(debug->run)), err);
}

/* --- what is usable here --- */

static const char *shown_root(const struct wb_debug *debug, const char *root)
{
    return root != NULL ? wb_path_relative(root, debug->workspace) : NULL;
}

static void describe(const struct wb_debug *debug, const struct wb_adapter_choice *it,
                     struct wb_text *out)
{
    wb_text_printf(out, "  %s%s: ", it->row->id, it->row->tested ? "" : " (untested)");
    if (it->reason != NULL) {
        wb_text_printf(out, "%s\n", it->reason);
        return;
    }
    wb_text_printf(out, "%s, root %s (%s)", it->commands[0][0], shown_root(debug, it->root),
                   it->marker);
    if (it->row->every_program) {
        const char *chosen = it->interpreter != NULL ? it->interpreter : it->commands[0][0];
        wb_text_printf(out, "; programs run with %s: %s", chosen, it->interpreter_why);
    }
    wb_text_add_char(out, '\n');
}

static void put(const struct wb_debug *debug, const struct wb_adapter_choice *it,
                struct wb_json_writer *w)
{
    bool has_program = it->commands[0] != NULL;
    const char *program = has_program ? it->commands[0][0] : NULL;
    wb_json_begin_object(w);
    wb_json_member_str(w, "id", it->row->id);
    wb_json_member_str(w, "name", it->row->name);
    wb_json_member_bool(w, "usable", it->reason == NULL);
    wb_json_member_bool(w, "tested", it->row->tested);
    wb_json_member_str(w, "root", shown_root(debug, it->root));
    wb_json_member_str(w, "marker", it->marker);
    wb_json_member_str(w, "program", program);
    wb_json_member_str(w, "interpreter",
                       it->row->every_program && has_program
                           ? (it->interpreter != NULL ? it->interpreter : program)
                           : NULL);
    wb_json_member_str(w, "interpreter_why", it->interpreter_why);
    wb_json_member_str(w, "reason", it->reason);
    wb_json_member_str(w, "install", it->row->install);
    wb_json_end_object(w);
}

static void describe_all(const struct wb_debug *debug, const struct wb_adapter_choice *choices,
                         size_t n, struct wb_text *out)
{
    size_t n_usable = 0;
    while (n_usable < n && choices[n_usable].reason == NULL) {
        n_usable++;
    }
    wb_text_printf(out, "Debug adapters usable here: %zu\n", n_usable);
    for (size_t i = 0; i < n; i++) {
        if (i == n_usable) {
            wb_text_add_str(out, "Not usable, and why:\n");
        }
        describe(debug, &choices[i], out);
    }
}

int wb_debug_survey_text(struct wb_debug *debug, struct wb_arena *arena, struct wb_cancel *cancel,
                         struct wb_text *out, struct wb_json_writer *w, struct wb_error *err)
{
    const struct wb_adapters *adapters = wb_debug_adapters(debug, err);
    struct wb_adapter_choice *choices;
    size_t n;
    if (adapters == NULL) {
        return -1;
    }
    wb_choose_survey(arena, wb_run_host(debug->run), adapters, debug->workspace,
                     wb_clock_deadline(PROBES_MS), cancel, &choices, &n);
    describe_all(debug, choices, n, out);
    wb_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        put(debug, &choices[i], w);
    }
    wb_json_end_array(w);
    return 0;
}
