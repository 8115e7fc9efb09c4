/* action_code: the quick fixes and refactorings that servers offer at a symbol. They are listed, not
 * applied: this is a read-tier tool. */
#include "lsp/actions.h"

#define ACTIONS_SHOWN 50

struct action_list {
    size_t count;
    struct wb_text text;
    struct wb_json_writer *w;
};

static void put_range(struct wb_json_writer *w, const struct wb_query_server *server,
                      const struct wb_query_place *place)
{
    enum wb_position_encoding encoding = wb_server_encoding(server->server);
    struct wb_position end =
        wb_position_from_offset(&server->index, encoding, place->offset + place->length);
    wb_json_key(w, "range");
    wb_json_begin_object(w);
    wb_json_key(w, "start");
    wb_position_write(w, place->position);
    wb_json_key(w, "end");
    wb_position_write(w, end);
    wb_json_end_object(w);
}

static void write_params(struct wb_query *query, const struct wb_query_server *server,
                         const struct wb_query_place *place, struct wb_text *params)
{
    struct wb_json_writer w;
    wb_query_begin_params(query, &w, params, NULL);
    put_range(&w, server, place);
    wb_json_key(&w, "context");
    wb_json_begin_object(&w);
    wb_json_key(&w, "diagnostics");
    wb_server_put_diagnostics(server->server, &w, query->call->arena, query->path,
                              place->position.line);
    wb_json_member_int(&w, "triggerKind", 1); /* invoked */
    wb_json_end_object(&w);
    wb_json_end_object(&w);
}

/* CodeAction or Command (LSP 3.17); both have a title. */
static void take_actions(const struct wb_json *answer, const char *server, struct action_list *list)
{
    for (struct wb_json_iter it = wb_json_iter(answer); wb_json_next(&it);) {
        const char *title = wb_json_str_or(wb_json_get(it.value, "title"), "");
        const char *kind = wb_json_str_or(wb_json_get(it.value, "kind"), "");
        const char *disabled = wb_json_str(wb_json_path(it.value, "disabled.reason"));
        if (disabled != NULL) {
            continue;
        }
        if (++list->count <= ACTIONS_SHOWN) {
            wb_text_printf(&list->text, "%zu. %s%s%s%s (%s)\n", list->count, title,
                           *kind != '\0' ? " [" : "", kind, *kind != '\0' ? "]" : "", server);
        }
        wb_json_begin_object(list->w);
        wb_json_member_str(list->w, "title", title);
        wb_json_member_str(list->w, "kind", kind);
        wb_json_member_bool(list->w, "preferred",
                            wb_json_bool(wb_json_get(it.value, "isPreferred"), false));
        wb_json_member_str(list->w, "server", server);
        wb_json_end_object(list->w);
    }
}

static int ask_place(struct wb_query *query, struct wb_query_server *server,
                     const struct wb_lsp_args *args, struct action_list *list, struct wb_error *err)
{
    struct wb_query_place place;
    if (wb_query_place(query, server, args->line, args->symbol, &place, err) < 0) {
        return -1;
    }
    /* Fixes belong to findings, so these are waited for. */
    struct wb_diagnostic_list findings = {0};
    struct wb_server_answer ignored;
    wb_server_diagnose(server->server, query->path, &server->sync, query->deadline_ms,
                       query->call->cancel, query->call->arena, &findings, &ignored);
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    write_params(query, server, &place, &params);
    const struct wb_json *answer;
    bool ready;
    if (wb_query_ask(query, server->server, "textDocument/codeAction", wb_text_span(&params),
                     &answer, &ready, err) < 0) {
        return -1;
    }
    take_actions(answer, wb_server_row(server->server)->id, list);
    return 0;
}

static int ask_server(struct wb_query *query, const struct wb_candidate *candidate,
                      const struct wb_lsp_args *args, struct action_list *list,
                      struct wb_error *err)
{
    struct wb_query_server server;
    if (wb_query_server(query, candidate, &server, err) < 0) {
        return -1;
    }
    int status;
    if (wb_server_offers(server.server, "codeActionProvider", "textDocument/codeAction")) {
        status = ask_place(query, &server, args, list, err);
    } else {
        status = wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s does not offer code actions",
                              candidate->row->id);
    }
    wb_server_unref(server.server);
    return status;
}

static int ask_all(struct wb_query *query, const struct wb_lsp_args *args, struct action_list *list,
                   struct wb_error *err)
{
    bool answered = false;
    const struct wb_candidate *candidate;
    for (size_t cursor = 0; (candidate = wb_query_next(query, &cursor)) != NULL;) {
        if (ask_server(query, candidate, args, list, err) == 0) {
            answered = true;
        } else if (err->code == WB_ERROR_NOT_FOUND || err->code == WB_ERROR_INVALID) {
            return -1;
        } else {
            wb_query_refuse(query, err->message);
        }
    }
    return answered ? 0 : wb_query_failed(query, err);
}

int wb_lsp_code_actions(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                        struct wb_result *result, struct wb_error *err)
{
    WB_AUTO(wb_query_done) struct wb_query query;
    if (wb_query_open(lsp, call, args->file, &query, err) < 0) {
        return -1;
    }
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "actions");
    wb_json_begin_array(&w);
    struct action_list list = {.w = &w};
    wb_text_init(&list.text);
    int status = ask_all(&query, args, &list, err);
    wb_json_end_array(&w);
    wb_json_member_int(&w, "total", (int64_t)list.count);
    wb_json_end_object(&w);
    wb_text_add_span(&result->text, wb_text_span(&list.text));
    if (status == 0 && list.count == 0) {
        wb_text_add_str(&result->text, "No code actions.\n");
    } else if (list.count > ACTIONS_SHOWN) {
        wb_text_printf(&result->text, "%d of %zu code actions shown\n", ACTIONS_SHOWN, list.count);
    }
    wb_text_done(&list.text);
    return status;
}
