/* mcp_json: see the header. */
#include "app/mcp_json.h"

#include "app/tool_json.h"

/* The surface of a run changes when the operator says so, which is told to who listens. */
#define LIST_TTL_MS (5 * 60 * 1000)

static void put_server_info(struct wb_json_writer *w)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "name", "werkbank");
    wb_json_member_str(w, "version", WB_VERSION);
    wb_json_end_object(w);
}

void wb_mcp_put_modern_members(struct wb_json_writer *w, const char *type)
{
    wb_json_member_str(w, "resultType", type);
    wb_json_key(w, "_meta");
    wb_json_begin_object(w);
    wb_json_key(w, "io.modelcontextprotocol/serverInfo");
    put_server_info(w);
    wb_json_end_object(w);
}

static void put_cache_members(struct wb_json_writer *w)
{
    wb_json_member_int(w, "ttlMs", LIST_TTL_MS);
    wb_json_member_str(w, "cacheScope", "private");
}

static void put_capabilities(struct wb_json_writer *w)
{
    wb_json_key(w, "capabilities");
    wb_json_begin_object(w);
    wb_json_key(w, "tools");
    wb_json_begin_object(w);
    wb_json_member_bool(w, "listChanged", true);
    wb_json_end_object(w);
    wb_json_end_object(w);
}

static void put_instructions(struct wb_json_writer *w, const struct wb_run *run)
{
    const char *distrust = wb_config_distrust(wb_run_config(run));
    wb_json_key(w, "instructions");
    wb_json_put_printf(w, "These tools work in %s; paths are absolute or relative to it.%s%s",
                       wb_run_workspace(run), distrust != NULL ? " " : "",
                       distrust != NULL ? distrust : "");
}

void wb_mcp_put_initialize_result(struct wb_text *out, const struct wb_run *run,
                                  const char *version)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "protocolVersion", version);
    put_capabilities(&w);
    wb_json_key(&w, "serverInfo");
    put_server_info(&w);
    put_instructions(&w, run);
    wb_json_end_object(&w);
}

void wb_mcp_put_discover_result(struct wb_text *out, const struct wb_run *run)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_mcp_put_modern_members(&w, "complete");
    wb_json_key(&w, "supportedVersions");
    wb_json_begin_array(&w);
    wb_json_put_str(&w, WB_MCP_MODERN_VERSION);
    wb_json_end_array(&w);
    put_capabilities(&w);
    put_instructions(&w, run);
    put_cache_members(&w);
    wb_json_end_object(&w);
}

void wb_mcp_put_tools(struct wb_text *out, const struct wb_run *run, bool is_modern)
{
    const struct wb_tool *tool;
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    if (is_modern) {
        wb_mcp_put_modern_members(&w, "complete");
        put_cache_members(&w);
    }
    wb_json_key(&w, "tools");
    wb_json_begin_array(&w);
    for (size_t cursor = 0; (tool = wb_run_next_tool(run, &cursor)) != NULL;) {
        wb_json_begin_object(&w);
        wb_tool_json_members(&w, tool);
        wb_json_end_object(&w);
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
}

static void put_image(struct wb_json_writer *w, const struct wb_attachment *attachment)
{
    WB_AUTO(wb_text_done) struct wb_text base64 = {0};
    wb_attachment_base64(&base64, attachment);
    wb_json_begin_object(w);
    wb_json_member_str(w, "type", "image");
    wb_json_member_span(w, "data", wb_text_span(&base64));
    wb_json_member_str(w, "mimeType", attachment->mime);
    wb_json_end_object(w);
}

static void put_content(struct wb_json_writer *w, const struct wb_result *result)
{
    wb_json_key(w, "content");
    wb_json_begin_array(w);
    wb_json_begin_object(w);
    wb_json_member_str(w, "type", "text");
    wb_json_member_span(w, "text", wb_text_span(&result->text));
    wb_json_end_object(w);
    for (size_t i = 0; i < result->n_attachments; i++) {
        put_image(w, &result->attachments[i]);
    }
    wb_json_end_array(w);
}

static void put_structured(struct wb_json_writer *w, const struct wb_result *result, bool is_modern)
{
    if (result->data.len == 0) {
        return;
    }
    bool wrap = !is_modern && result->data.ptr[0] != '{';
    wb_json_key(w, "structuredContent");
    if (wrap) {
        wb_json_begin_object(w);
        wb_json_key(w, "value");
    }
    wb_result_put_data(w, result);
    if (wrap) {
        wb_json_end_object(w);
    }
}

void wb_mcp_put_call_result(struct wb_text *out, const struct wb_result *result, bool is_modern)
{
    struct wb_json_writer w;
    wb_text_reserve(out, result->text.len + result->data.len + 256);
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    if (is_modern) {
        wb_mcp_put_modern_members(&w, "complete");
    }
    put_content(&w, result);
    put_structured(&w, result, is_modern);
    wb_json_member_bool(&w, "isError", result->is_error);
    wb_json_end_object(&w);
}

void wb_mcp_put_progress(struct wb_text *out, const char *token_json, int64_t progress,
                         int64_t total, const char *message)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_key(&w, "progressToken");
    wb_json_put_raw(&w, wb_span(token_json));
    wb_json_member_int(&w, "progress", progress);
    if (total >= progress) {
        wb_json_member_int(&w, "total", total);
    }
    wb_json_member_str(&w, "message", message);
    wb_json_end_object(&w);
}

void wb_mcp_put_unsupported_version(struct wb_text *out, const char *version)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_key(&w, "supported");
    wb_json_begin_array(&w);
    wb_json_put_str(&w, WB_MCP_MODERN_VERSION);
    wb_json_end_array(&w);
    wb_json_member_str(&w, "requested", version);
    wb_json_end_object(&w);
}
