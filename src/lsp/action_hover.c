/* action_hover: signature and documentation of a symbol. */
#include "lsp/actions.h"

static void add_part(struct wb_text *out, const struct wb_json *part)
{
    const char *language = wb_json_str(wb_json_get(part, "language")); /* MarkedString */
    const struct wb_json *value =
        wb_json_type(part) == WB_JSON_OBJECT ? wb_json_get(part, "value") : part;
    struct wb_span text = wb_span_trim(wb_json_span(value));
    if (text.len == 0) {
        return;
    }
    if (out->len > 0) {
        wb_text_add_str(out, "\n\n");
    }
    if (language != NULL) {
        wb_text_printf(out, "```%s\n", language);
    }
    wb_text_add_utf8(out, text);
    if (language != NULL) {
        wb_text_add_str(out, "\n```");
    }
}

/* MarkupContent, a MarkedString, or several (LSP 3.17 "Hover"). */
static void read_contents(struct wb_text *out, const struct wb_json *hover)
{
    const struct wb_json *contents = wb_json_get(hover, "contents");
    if (wb_json_type(contents) != WB_JSON_ARRAY) {
        add_part(out, contents);
        return;
    }
    for (struct wb_json_iter it = wb_json_iter(contents); wb_json_next(&it);) {
        add_part(out, it.value);
    }
}

static int ask_place(struct wb_query *query, struct wb_query_server *server,
                     const struct wb_lsp_args *args, struct wb_text *out, bool *ret_ready,
                     struct wb_error *err)
{
    struct wb_query_place place;
    if (wb_query_place(query, server, args->line, args->symbol, &place, err) < 0) {
        return -1;
    }
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    struct wb_json_writer w;
    wb_query_begin_params(query, &w, &params, &place.position);
    wb_json_end_object(&w);
    const struct wb_json *answer;
    if (wb_query_ask(query, server->server, "textDocument/hover", wb_text_span(&params), &answer,
                     ret_ready, err) < 0) {
        return -1;
    }
    read_contents(out, answer);
    return 0;
}

static int ask_server(struct wb_query *query, const struct wb_candidate *candidate,
                      const struct wb_lsp_args *args, struct wb_text *out, bool *ret_ready,
                      struct wb_error *err)
{
    struct wb_query_server server;
    if (wb_query_server(query, candidate, &server, err) < 0) {
        return -1;
    }
    int status;
    if (wb_server_offers(server.server, "hoverProvider", "textDocument/hover")) {
        status = ask_place(query, &server, args, out, ret_ready, err);
    } else {
        status =
            wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s does not offer hover", candidate->row->id);
    }
    wb_server_unref(server.server);
    return status;
}

static void show(const struct wb_lsp_args *args, const struct wb_text *contents,
                 struct wb_result *result)
{
    if (contents->len > 0) {
        wb_text_add_span(&result->text, wb_text_span(contents));
        wb_text_add_char(&result->text, '\n');
    } else {
        wb_text_printf(&result->text, "Nothing is known about `%.*s` here.\n",
                       WB_SPAN_ARG(args->symbol));
    }
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_span(&w, "contents", wb_text_span(contents));
    wb_json_end_object(&w);
}

int wb_lsp_hover(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                 struct wb_result *result, struct wb_error *err)
{
    WB_AUTO(wb_query_done) struct wb_query query;
    if (wb_query_open(lsp, call, args->file, &query, err) < 0) {
        return -1;
    }
    WB_AUTO(wb_text_done) struct wb_text contents;
    wb_text_init(&contents);
    bool answered = false, ready = true;
    const struct wb_candidate *candidate;
    for (size_t cursor = 0;
         contents.len == 0 && (candidate = wb_query_next(&query, &cursor)) != NULL;) {
        bool server_ready = true;
        if (ask_server(&query, candidate, args, &contents, &server_ready, err) == 0) {
            answered = true;
            ready &= server_ready;
        } else if (err->code == WB_ERROR_UNAVAILABLE || err->code == WB_ERROR_PROTOCOL ||
                   err->code == WB_ERROR_CLOSED || err->code == WB_ERROR_TIMEOUT) {
            wb_query_refuse(&query, err->message);
        } else {
            return -1;
        }
    }
    if (!answered) {
        return wb_query_failed(&query, err);
    }
    if (contents.len == 0 && !ready) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "the server is still loading, so its empty answer says nothing; ask "
                            "again when lsp status says ready");
    }
    show(args, &contents, result);
    return 0;
}
