/* tools: the surface of a run with these options, as a list or as schemas. */
#include "app/command.h"
#include "app/output.h"
#include "app/session.h"
#include "app/tool_json.h"

static void list_json(const struct wb_run *run, struct wb_text *out)
{
    const struct wb_tool *tool;
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_array(&w);
    for (size_t cursor = 0; (tool = wb_run_next_tool(run, &cursor)) != NULL;) {
        wb_json_begin_object(&w);
        wb_tool_json_members(&w, tool);
        wb_json_member_str(&w, "tier", wb_tier_name(tool->tier));
        wb_json_end_object(&w);
    }
    wb_json_end_array(&w);
    wb_text_add_char(out, '\n');
}

static void list_text(const struct wb_run *run, struct wb_text *out)
{
    const struct wb_tool *tool;
    int width = 0;
    for (size_t cursor = 0; (tool = wb_run_next_tool(run, &cursor)) != NULL;) {
        width = WB_MAX(width, (int)strlen(tool->name));
    }
    for (size_t cursor = 0; (tool = wb_run_next_tool(run, &cursor)) != NULL;) {
        wb_text_printf(out, "%-*s  %-5s  %s\n", width, tool->name, wb_tier_name(tool->tier),
                       tool->summary);
    }
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_session_close) struct wb_session session = {0};
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_error err;
    (void)operands;
    (void)n_operands;
    if (wb_session_open(options, NULL, &session, &err) != 0) {
        return wb_command_refuse("%s", err.message);
    }
    (options->json ? list_json : list_text)(session.run, &out);
    if (wb_output_write(wb_text_span(&out), &err) != 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    return WB_EXIT_DONE;
}

const struct wb_command wb_command_tools = {
    .name = "tools",
    .operands = "",
    .options = WB_OPTION_WORKSPACE | WB_OPTION_RUN | WB_OPTION_JSON,
    .summary = "list the tools that a run with these options shows",
    .details = "--json prints each tool's schema; --cap read shows what plan mode sees.\n",
    .run = run,
};
