/* tsserver: diagnostics asked of the TypeScript server itself, through the command that its language
 * servers pass on ("typescript.tsserverRequest"). Their own pushes come a third of a second later,
 * carry no version, and do not come at all for a file that stays clean. */
#include "lsp/server_internal.h"

static const char *const questions[] = {"syntacticDiagnosticsSync", "semanticDiagnosticsSync"};

static void write_params(const char *question, const char *path, struct wb_text *out)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "command", "typescript.tsserverRequest");
    wb_json_key(&w, "arguments");
    wb_json_begin_array(&w);
    wb_json_put_str(&w, question);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "file", path);
    wb_json_end_object(&w);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
}

static int64_t severity(const char *category)
{
    static const char *const names[] = {
        [WB_SEVERITY_ERROR] = "error",
        [WB_SEVERITY_WARNING] = "warning",
        [WB_SEVERITY_INFORMATION] = "message",
        [WB_SEVERITY_HINT] = "suggestion",
    };
    for (size_t i = WB_SEVERITY_ERROR; i < WB_COUNT(names); i++) {
        if (wb_str_equal(names[i], category)) {
            return (int64_t)i;
        }
    }
    return WB_SEVERITY_ERROR;
}

/* {"line", "offset"}, both 1-based, in UTF-16 units. */
static void put_place(struct wb_json_writer *w, const char *key, const struct wb_json *place)
{
    wb_json_key(w, key);
    wb_json_begin_object(w);
    wb_json_member_int(w, "line", wb_json_int_or(wb_json_get(place, "line"), 1) - 1);
    wb_json_member_int(w, "character", wb_json_int_or(wb_json_get(place, "offset"), 1) - 1);
    wb_json_end_object(w);
}

static void put_finding(struct wb_json_writer *w, const struct wb_json *finding)
{
    const char *category = wb_json_str_or(wb_json_get(finding, "category"), "error");
    wb_json_begin_object(w);
    wb_json_key(w, "range");
    wb_json_begin_object(w);
    put_place(w, "start", wb_json_get(finding, "start"));
    put_place(w, "end", wb_json_get(finding, "end"));
    wb_json_end_object(w);
    wb_json_member_int(w, "severity", severity(category));
    wb_json_key(w, "code");
    wb_json_put_value(w, wb_json_get(finding, "code"));
    wb_json_member_str(w, "source", wb_json_str_or(wb_json_get(finding, "source"), "typescript"));
    wb_json_member_str(w, "message", wb_json_str_or(wb_json_get(finding, "text"), ""));
    wb_json_end_object(w);
}

static int ask_one(struct wb_server *server, const char *question, const char *path,
                   int64_t deadline_ms, struct wb_cancel *cancel, struct wb_json_writer *w,
                   struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    write_params(question, path, &params);
    const struct wb_json *answer;
    if (wb_server_request(server, "workspace/executeCommand", wb_text_span(&params), deadline_ms,
                          cancel, &arena, &answer, err) < 0) {
        return -1;
    }
    const struct wb_json *body = wb_json_get(answer, "body");
    if (wb_json_type(body) != WB_JSON_ARRAY) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "%s gave no diagnostics: %s", server->row->id,
                            wb_json_str_or(wb_json_get(answer, "message"), "no reason given"));
    }
    for (struct wb_json_iter it = wb_json_iter(body); wb_json_next(&it);) {
        put_finding(w, it.value);
    }
    return 0;
}

int wb_server_ask_tsserver(struct wb_server *server, const char *path, int64_t deadline_ms,
                           struct wb_cancel *cancel, struct wb_text *ret, struct wb_error *err)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, ret);
    wb_json_begin_array(&w);
    for (size_t i = 0; i < WB_COUNT(questions); i++) {
        if (ask_one(server, questions[i], path, deadline_ms, cancel, &w, err) < 0) {
            return -1; /* the text is of no use then */
        }
    }
    wb_json_end_array(&w);
    return 0;
}
