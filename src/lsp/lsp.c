/* lsp: see lsp.h. */
#include "lsp/lsp.h"

#include <stdlib.h>

#include "sys/path.h"

#define IDLE_STOP_S 600
#define START_S 60
#define REQUEST_S 30

static void free_lsp(void *resource)
{
    struct wb_lsp *lsp = resource;
    wb_on_write_free(lsp->on_write);
    wb_ledger_free(lsp->ledger);
    free(lsp);
}

void wb_lsp_attach(struct wb_run *run)
{
    const struct wb_config *config = wb_run_config(run);
    struct wb_lsp *lsp = wb_alloc(sizeof(*lsp));
    lsp->run = run;
    lsp->workspace = wb_run_workspace(run);
    lsp->supervisor = wb_supervisor_of_host(wb_run_host(run));
    lsp->limits.idle_stop_ms = 1000 * wb_config_int(config, "lsp.idle_stop_s", IDLE_STOP_S);
    lsp->limits.start_ms = 1000 * wb_config_int(config, "lsp.start_timeout_s", START_S);
    lsp->request_ms = 1000 * wb_config_int(config, "lsp.request_timeout_s", REQUEST_S);
    lsp->ledger = wb_ledger_new();
    lsp->on_write = wb_on_write_new(lsp);
    wb_run_attach(run, WB_RESOURCE_LANGUAGE_SERVERS, lsp, free_lsp);
    struct wb_write_observer observer = wb_on_write_observer(lsp->on_write);
    wb_run_observe(run, &observer);
}

bool wb_lsp_available(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_LANGUAGE_SERVERS) != NULL;
}

struct wb_lsp *wb_lsp_of_run(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_LANGUAGE_SERVERS);
}

const struct wb_catalogue *wb_lsp_catalogue(struct wb_lsp *lsp, struct wb_error *err)
{
    return wb_supervisor_catalogue(lsp->supervisor, wb_config_root(wb_run_config(lsp->run)), err);
}

static void list_reasons(const struct wb_candidates *candidates, struct wb_text *out)
{
    for (size_t i = 0; i < candidates->count; i++) {
        wb_text_printf(out, "\n  %s: %s", candidates->items[i].row->id,
                       candidates->items[i].reason);
    }
}

static int nothing_usable(struct wb_lsp *lsp, const char *path,
                          const struct wb_candidates *candidates, struct wb_error *err)
{
    const char *shown = wb_path_relative(path, lsp->workspace);
    if (candidates->language == NULL) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "no language server: the language of %s is not known; "
                            "lsp status lists what could run here",
                            shown);
    }
    WB_AUTO(wb_text_done) struct wb_text reasons;
    wb_text_init(&reasons);
    list_reasons(candidates, &reasons);
    return wb_error_set(err, WB_ERROR_UNAVAILABLE, "no language server for %s (%s) is usable:%s",
                        shown, candidates->language->name,
                        reasons.len > 0 ? wb_text_cstr(&reasons)
                                        : " the catalogue has none for this language");
}

int wb_lsp_candidates(struct wb_lsp *lsp, struct wb_arena *arena, const char *path,
                      struct wb_candidates *ret, struct wb_error *err)
{
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(lsp, err);
    if (catalogue == NULL) {
        return -1;
    }
    struct wb_running running = wb_supervisor_is_running(lsp->supervisor);
    wb_catalogue_candidates(arena, catalogue, lsp->workspace, path, &running, ret);
    return ret->n_usable > 0 ? 0 : nothing_usable(lsp, path, ret, err);
}
