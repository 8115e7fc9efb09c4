/* tool_json: see the header. Hints: MCP 2025-11-25, "ToolAnnotations". */
#include "app/tool_json.h"

static void put_annotations(struct wb_json_writer *w, enum wb_tier tier)
{
    bool is_read = tier == WB_TIER_READ;
    wb_json_begin_object(w);
    wb_json_member_bool(w, "readOnlyHint", is_read);
    wb_json_member_bool(w, "destructiveHint", !is_read);
    wb_json_member_bool(w, "idempotentHint", is_read);
    wb_json_member_bool(w, "openWorldHint", tier == WB_TIER_EXEC);
    wb_json_end_object(w);
}

void wb_tool_json_members(struct wb_json_writer *w, const struct wb_tool *tool)
{
    wb_json_member_str(w, "name", tool->name);
    wb_json_member_str(w, "description", tool->description);
    wb_json_key(w, "inputSchema");
    wb_args_schema(w, &tool->args);
    wb_json_key(w, "annotations");
    put_annotations(w, tool->tier);
}
