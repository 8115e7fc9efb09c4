/* handshake: what we tell a server of ourselves (LSP 3.17 "Initialize"), and what we keep of its
 * answer. Declared is only what is honoured: no snippet edits, no change annotations that wait for
 * confirmation, no willRename (it makes servers leave edits out of a rename). */
#include "lsp/server_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/path.h"

#define INFO_VERSION_BYTES 80 /* of what a server says of its version */

/* The capabilities that every server gets. Flat text, since it never varies. */
static const char general_capabilities[] =
    "{\"positionEncodings\":[\"utf-8\",\"utf-16\",\"utf-32\"],"
    "\"staleRequestSupport\":{\"cancel\":true,\"retryOnContentModified\":[]}}";

static const char window_capabilities[] =
    "{\"workDoneProgress\":true,\"showMessage\":{},\"showDocument\":{\"support\":false}}";

static const char workspace_capabilities[] =
    "{\"applyEdit\":true,"
    "\"workspaceEdit\":{\"documentChanges\":true,"
    "\"resourceOperations\":[\"create\",\"rename\",\"delete\"],"
    "\"failureHandling\":\"transactional\",\"normalizesLineEndings\":true},"
    "\"didChangeConfiguration\":{\"dynamicRegistration\":true},"
    "\"didChangeWatchedFiles\":{\"dynamicRegistration\":true,\"relativePatternSupport\":true},"
    "\"symbol\":{\"dynamicRegistration\":true,\"resolveSupport\":{\"properties\":"
    "[\"location.range\"]}},"
    "\"executeCommand\":{\"dynamicRegistration\":true},"
    "\"configuration\":true,\"workspaceFolders\":true,"
    "\"diagnostics\":{\"refreshSupport\":true},"
    "\"semanticTokens\":{\"refreshSupport\":true},\"codeLens\":{\"refreshSupport\":true},"
    "\"inlayHint\":{\"refreshSupport\":true},\"inlineValue\":{\"refreshSupport\":true}}";

static const char document_capabilities[] =
    "\"synchronization\":{\"dynamicRegistration\":false,\"didSave\":true},"
    "\"publishDiagnostics\":{\"relatedInformation\":true,\"versionSupport\":true,"
    "\"codeDescriptionSupport\":true,\"tagSupport\":{\"valueSet\":[1,2]}},"
    "\"definition\":{\"dynamicRegistration\":true,\"linkSupport\":true},"
    "\"declaration\":{\"dynamicRegistration\":true,\"linkSupport\":true},"
    "\"typeDefinition\":{\"dynamicRegistration\":true,\"linkSupport\":true},"
    "\"implementation\":{\"dynamicRegistration\":true,\"linkSupport\":true},"
    "\"references\":{\"dynamicRegistration\":true},"
    "\"hover\":{\"dynamicRegistration\":true,\"contentFormat\":[\"markdown\",\"plaintext\"]},"
    "\"documentSymbol\":{\"dynamicRegistration\":true,"
    "\"hierarchicalDocumentSymbolSupport\":true},"
    "\"codeAction\":{\"dynamicRegistration\":true,\"isPreferredSupport\":true,"
    "\"dataSupport\":true,\"resolveSupport\":{\"properties\":[\"edit\"]},"
    "\"codeActionLiteralSupport\":{\"codeActionKind\":{\"valueSet\":[\"\",\"quickfix\","
    "\"refactor\",\"refactor.extract\",\"refactor.inline\",\"refactor.rewrite\",\"source\","
    "\"source.organizeImports\",\"source.fixAll\"]}}},"
    "\"rename\":{\"dynamicRegistration\":true,\"prepareSupport\":true},"
    "\"callHierarchy\":{\"dynamicRegistration\":true},"
    "\"typeHierarchy\":{\"dynamicRegistration\":true}";

static void put_text_document(struct wb_json_writer *w, const struct wb_server_row *row)
{
    struct wb_text text;
    wb_text_init(&text);
    wb_text_printf(&text, "{%s", document_capabilities);
    if (row->declare_pull) {
        wb_text_add_str(&text, ",\"diagnostic\":{\"dynamicRegistration\":true,"
                               "\"relatedDocumentSupport\":true}");
    }
    wb_text_add_char(&text, '}');
    wb_json_key(w, "textDocument");
    wb_json_put_raw(w, wb_text_span(&text));
    wb_text_done(&text);
}

static void put_capabilities(struct wb_json_writer *w, const struct wb_server_row *row)
{
    wb_json_key(w, "capabilities");
    wb_json_begin_object(w);
    wb_json_key(w, "general");
    wb_json_put_raw(w, wb_span(general_capabilities));
    wb_json_key(w, "window");
    wb_json_put_raw(w, wb_span(window_capabilities));
    wb_json_key(w, "workspace");
    wb_json_put_raw(w, wb_span(workspace_capabilities));
    put_text_document(w, row);
    wb_json_key(w, "experimental");
    wb_json_put_raw(w, WB_SPAN("{\"serverStatusNotification\":true}"));
    if (row->offset_encoding) { /* clangd before 20 reads nothing else */
        wb_json_key(w, "offsetEncoding");
        wb_json_put_raw(w, WB_SPAN("[\"utf-8\",\"utf-16\"]"));
    }
    wb_json_end_object(w);
}

static void put_folder(struct wb_json_writer *w, struct wb_server *server, const char *uri)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "uri", uri);
    wb_json_member_str(w, "name", wb_path_base(server->root));
    wb_json_end_object(w);
}

static void write_initialize(struct wb_server *server, struct wb_text *out)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    const char *uri = wb_path_to_uri(&server->arena, server->root);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "processId", getpid());
    wb_json_key(&w, "clientInfo");
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "name", "werkbank");
    wb_json_end_object(&w);
    wb_json_member_str(&w, "rootPath", server->root);
    wb_json_member_str(&w, "rootUri", uri);
    wb_json_key(&w, "workspaceFolders");
    wb_json_begin_array(&w);
    put_folder(&w, server, uri);
    wb_json_end_array(&w);
    /* An object even when empty: some servers fail on null. */
    wb_json_key(&w, "initializationOptions");
    if (server->row->initialization_options != NULL) {
        wb_json_put_value(&w, server->row->initialization_options);
    } else {
        wb_json_put_raw(&w, WB_SPAN("{}"));
    }
    put_capabilities(&w, server->row);
    wb_json_end_object(&w);
}

/* positionEncoding is LSP's (3.17), offsetEncoding is clangd's; without either it is UTF-16. */
static enum wb_position_encoding chosen_encoding(const struct wb_json *result)
{
    const char *name = wb_json_str(wb_json_path(result, "capabilities.positionEncoding"));
    if (name == NULL) {
        name = wb_json_str_or(wb_json_get(result, "offsetEncoding"), "utf-16");
    }
    enum wb_position_encoding encoding = WB_POSITION_UTF16;
    (void)wb_position_encoding_parse(name, &encoding); /* an unknown name: the default */
    return encoding;
}

static void keep_sync(struct wb_server *server)
{
    const struct wb_json *sync = wb_json_get(server->capabilities, "textDocumentSync");
    if (wb_json_type(sync) == WB_JSON_NUMBER) {
        server->sync_kind = wb_json_int_or(sync, 1);
        server->wants_open = server->wants_save = true;
        return;
    }
    const struct wb_json *save = wb_json_get(sync, "save");
    server->sync_kind = wb_json_int_or(wb_json_get(sync, "change"), sync != NULL ? 0 : 1);
    server->wants_open = wb_json_bool(wb_json_get(sync, "openClose"), true);
    server->wants_save = wb_json_type(save) == WB_JSON_OBJECT || wb_json_bool(save, sync == NULL);
    server->wants_save_text = wb_json_bool(wb_json_get(save, "includeText"), false);
}

static void keep_result(struct wb_server *server, const struct wb_json *result)
{
    server->capabilities = wb_json_get(result, "capabilities");
    server->encoding = chosen_encoding(result);
    keep_sync(server);
    const char *name = wb_json_str(wb_json_path(result, "serverInfo.name"));
    const char *version = wb_json_str(wb_json_path(result, "serverInfo.version"));
    if (version != NULL && *version == '{') { /* gopls: all of its build information */
        version = NULL;
    }
    if (name != NULL) {
        free(server->info);
        server->info = version != NULL ? wb_sprintf("%s %.*s", name, INFO_VERSION_BYTES, version)
                                       : wb_strdup(name);
    }
}

static void send_initialized(struct wb_server *server)
{
    wb_server_notify(server, "initialized", WB_SPAN("{}"));
    if (server->row->settings != NULL) {
        WB_AUTO(wb_text_done) struct wb_text params;
        wb_text_init(&params);
        struct wb_json_writer w;
        wb_json_writer_init(&w, &params);
        wb_json_begin_object(&w);
        wb_json_key(&w, "settings");
        wb_json_put_value(&w, server->row->settings);
        wb_json_end_object(&w);
        wb_server_notify(server, "workspace/didChangeConfiguration", wb_text_span(&params));
    }
}

/* The last stderr lines say more than "it exited". */
static int start_failed(struct wb_server *server, struct wb_error *err)
{
    if (err != NULL && err->code == WB_ERROR_CLOSED) {
        wb_server_explain_closed(server, err);
        return wb_error_context(err, "%s did not start", server->row->id);
    }
    struct wb_text tail;
    wb_text_init(&tail);
    wb_child_stderr_tail(server->child, &tail);
    struct wb_span words = wb_span_trim(wb_text_span(&tail));
    if (words.len > 0 && err != NULL) {
        enum wb_error_code code = err->code;
        char *message = wb_strdup(err->message);
        size_t shown = WB_MIN(words.len, (size_t)400);
        wb_error_set(err, code, "%s; its last words: " WB_SPAN_FMT, message, (int)shown,
                     words.ptr + words.len - shown);
        free(message);
    }
    wb_text_done(&tail);
    return wb_error_context(err, "%s did not finish its handshake", server->row->id);
}

int wb_server_shake_hands(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel,
                          struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    write_initialize(server, &params);
    struct wb_peer_answer answer;
    if (wb_peer_call(server->peer, "initialize", wb_text_span(&params), deadline_ms, cancel,
                     &server->arena, &answer, err) < 0) {
        return start_failed(server, err);
    }
    if (answer.failed) {
        wb_error_set(err, WB_ERROR_PROTOCOL, "it refused initialize: %s", answer.error_message);
        return start_failed(server, err);
    }
    keep_result(server, answer.result);
    send_initialized(server);
    return 0;
}
