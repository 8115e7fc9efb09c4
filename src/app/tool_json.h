/* tool_json: a tool as JSON, for `tools --json` and MCP's tools/list. */
#ifndef WB_APP_TOOL_JSON_H
#define WB_APP_TOOL_JSON_H

#include "run/tool.h"

/* Members of an open object: name, description, inputSchema, annotations (MCP's hints, from the
 * tier). */
void wb_tool_json_members(struct wb_json_writer *w, const struct wb_tool *tool);

#endif
