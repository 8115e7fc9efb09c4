/* mcp_json: results and parameters of MCP as JSON text, in both eras. Any thread. */
#ifndef WB_APP_MCP_JSON_H
#define WB_APP_MCP_JSON_H

#include "run/run.h"

#define WB_MCP_MODERN_VERSION "2026-07-28"

/* What every result of the stateless era carries; type: "complete", "input_required". */
void wb_mcp_put_modern_members(struct wb_json_writer *w, const char *type);
void wb_mcp_put_initialize_result(struct wb_text *out, const struct wb_run *run,
                                  const char *version);
void wb_mcp_put_discover_result(struct wb_text *out, const struct wb_run *run);
void wb_mcp_put_tools(struct wb_text *out, const struct wb_run *run, bool is_modern);
/* Legacy clients demand an object as structuredContent: other data is wrapped as {"value": ...}. */
void wb_mcp_put_call_result(struct wb_text *out, const struct wb_result *result, bool is_modern);
/* total 0: unknown. */
void wb_mcp_put_progress(struct wb_text *out, const char *token_json, int64_t progress,
                         int64_t total, const char *message);
/* The data of the error. */
void wb_mcp_put_unsupported_version(struct wb_text *out, const char *version);

#endif
