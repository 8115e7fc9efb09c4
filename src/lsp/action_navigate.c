/* action_navigate: definition, type_definition, implementation, references. The first server that
 * offers the question and has an answer gives it. */
#include "lsp/actions.h"

#include "base/clock.h"
#include "lsp/widen.h"

#define REFERENCES_SHOWN 50
#define PLACES_SHOWN 50

static const struct navigation {
    const char *method, *provider, *what;
} navigations[] = {
    [WB_LSP_DEFINITION] = {"textDocument/definition", "definitionProvider", "definitions"},
    [WB_LSP_TYPE_DEFINITION] = {"textDocument/typeDefinition", "typeDefinitionProvider",
                                "type definitions"},
    [WB_LSP_IMPLEMENTATION] = {"textDocument/implementation", "implementationProvider",
                               "implementations"},
    [WB_LSP_REFERENCES] = {"textDocument/references", "referencesProvider", "references"},
};

/* What the servers that answered had to say. */
struct outcome {
    struct wb_location_list places;
    bool answered;         /* at least one server answered */
    const char *not_ready; /* an empty answer of a server that was not ready */
    struct wb_text note;   /* "clangd is still indexing (43%): there may be more" */
};

static void write_params(struct wb_query *query, enum wb_lsp_action action,
                         const struct wb_query_place *place, struct wb_text *params)
{
    struct wb_json_writer w;
    wb_query_begin_params(query, &w, params, &place->position);
    if (action == WB_LSP_REFERENCES) {
        wb_json_key(&w, "context");
        wb_json_put_raw(&w, WB_SPAN("{\"includeDeclaration\":true}"));
    }
    wb_json_end_object(&w);
}

static void keep_answer(struct wb_query *query, struct wb_server *server,
                        const struct wb_json *answer, bool ready, struct outcome *outcome)
{
    outcome->answered = true;
    wb_locations_parse(query->call->arena, answer, &outcome->places);
    if (ready) {
        return;
    }
    struct wb_text loading;
    wb_text_init(&loading);
    (void)wb_server_loading(server, &loading);
    if (outcome->places.count == 0) {
        outcome->not_ready =
            wb_arena_printf(query->call->arena, "%s is not ready (%s)", wb_server_row(server)->id,
                            loading.len > 0 ? wb_text_cstr(&loading) : "loading");
    } else {
        wb_text_printf(&outcome->note, "%s is not ready (%s): there may be more\n",
                       wb_server_row(server)->id, wb_text_cstr(&loading));
    }
    wb_text_done(&loading);
}

static int ask_server(struct wb_query *query, const struct wb_candidate *candidate,
                      const struct wb_lsp_args *args, struct outcome *outcome, struct wb_error *err)
{
    const struct navigation *navigation = &navigations[args->action];
    struct wb_query_server server;
    if (wb_query_server(query, candidate, &server, err) < 0) {
        return -1;
    }
    int status = -1;
    struct wb_query_place place;
    const struct wb_json *answer;
    bool ready;
    if (!wb_server_offers(server.server, navigation->provider, navigation->method)) {
        wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s does not offer %s", candidate->row->id,
                     navigation->what);
    } else if (wb_query_place(query, &server, args->line, args->symbol, &place, err) == 0) {
        WB_AUTO(wb_text_done) struct wb_text params;
        wb_text_init(&params);
        if (args->action == WB_LSP_REFERENCES) {
            const struct wb_span name = {server.index.text.ptr + place.offset, place.length};
            wb_query_widen(query, server.server, name, &outcome->note);
        }
        write_params(query, args->action, &place, &params);
        status = wb_query_ask(query, server.server, navigation->method, wb_text_span(&params),
                              &answer, &ready, err);
        if (status == 0) {
            keep_answer(query, server.server, answer, ready, outcome);
        }
    }
    wb_server_unref(server.server);
    return status;
}

/* A question that no server would understand better ends the round. */
static bool is_ours(const struct wb_error *err)
{
    return err->code == WB_ERROR_NOT_FOUND || err->code == WB_ERROR_INVALID ||
           err->code == WB_ERROR_CANCELLED;
}

static int ask_all(struct wb_query *query, const struct wb_lsp_args *args, struct outcome *outcome,
                   struct wb_error *err)
{
    const struct wb_candidate *candidate;
    for (size_t cursor = 0;
         outcome->places.count == 0 && (candidate = wb_query_next(query, &cursor)) != NULL;) {
        if (ask_server(query, candidate, args, outcome, err) < 0) {
            if (is_ours(err)) {
                return -1;
            }
            wb_query_refuse(query, err->message);
        }
    }
    return outcome->answered ? 0 : wb_query_failed(query, err);
}

static int show(struct wb_query *query, const struct wb_lsp_args *args, struct outcome *outcome,
                struct wb_result *result, struct wb_error *err)
{
    const struct navigation *navigation = &navigations[args->action];
    if (outcome->places.count == 0 && outcome->not_ready != NULL) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "%s, so its empty answer for %s of `%.*s` says nothing; ask again "
                            "when lsp status says ready",
                            outcome->not_ready, navigation->what, WB_SPAN_ARG(args->symbol));
    }
    wb_locations_sort(&outcome->places);
    wb_locations_drop_missing(&outcome->places);
    if (outcome->places.count == 0 && outcome->places.n_foreign == 0) {
        wb_text_printf(&result->text, "No %s of `%.*s`.\n", navigation->what,
                       WB_SPAN_ARG(args->symbol));
    }
    wb_locations_show(query->call, &outcome->places,
                      args->action == WB_LSP_REFERENCES ? REFERENCES_SHOWN : PLACES_SHOWN,
                      navigation->what, result);
    wb_text_add_span(&result->text, wb_text_span(&outcome->note));
    return 0;
}

int wb_lsp_navigate(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                    struct wb_result *result, struct wb_error *err)
{
    WB_AUTO(wb_query_done) struct wb_query query;
    struct outcome outcome = {0};
    if (wb_query_open(lsp, call, args->file, &query, err) < 0) {
        return -1;
    }
    query.exhaustive = args->action == WB_LSP_REFERENCES;
    int status = ask_all(&query, args, &outcome, err);
    if (status == 0) {
        status = show(&query, args, &outcome, result, err);
    }
    wb_text_done(&outcome.note);
    return status;
}
