/* help: the commands, one command, or one tool from its argument table. */
#include "app/assemble.h"
#include "app/command.h"
#include "app/output.h"

static void print_program(struct wb_text *out)
{
    wb_text_add_str(out, "werkbank: the tools of an IDE for a coding agent\n\n"
                         "usage: werkbank COMMAND [OPTIONS] ...\n\n");
    for (size_t i = 0; wb_commands[i] != NULL; i++) {
        wb_text_printf(out, "  %-8s %s\n", wb_commands[i]->name, wb_commands[i]->summary);
    }
    wb_text_add_str(out,
                    "\n`werkbank help COMMAND` says more of a command, `werkbank help TOOL` of "
                    "a tool's arguments.\n");
}

static void print_command(struct wb_text *out, const struct wb_command *command)
{
    wb_text_printf(out, "usage: werkbank %s [OPTIONS]%s%s\n\n%s\n", command->name,
                   command->operands[0] != '\0' ? " " : "", command->operands, command->summary);
    if (command->details != NULL) {
        wb_text_printf(out, "\n%s", command->details);
    }
    wb_text_add_str(out, "\n");
    wb_options_help(out, command->options);
}

static void print_tool(struct wb_text *out, const struct wb_tool *tool)
{
    wb_text_printf(out, "%s (%s): %s\n\n%s\n\n", tool->name, wb_tier_name(tool->tier),
                   tool->summary, tool->description);
    wb_args_help(out, &tool->args);
}

static const struct wb_tool *find_tool(const char *name)
{
    size_t i = 0;
    while (wb_tools[i] != NULL && !wb_str_equal(wb_tools[i]->name, name)) {
        i++;
    }
    return wb_tools[i];
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_error err;
    (void)options;
    const struct wb_command *command = n_operands > 0 ? wb_commands_find(operands[0]) : NULL;
    const struct wb_tool *tool = n_operands > 0 ? find_tool(operands[0]) : NULL;
    if (command != NULL) {
        print_command(&out, command);
    } else if (tool != NULL) {
        print_tool(&out, tool);
    } else if (n_operands > 0) {
        return wb_command_refuse("there is no command and no tool `%s`; `werkbank help` and "
                                 "`werkbank tools` list them",
                                 operands[0]);
    } else {
        print_program(&out);
    }
    if (wb_output_write(wb_text_span(&out), &err) != 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    return WB_EXIT_DONE;
}

const struct wb_command wb_command_help = {
    .name = "help",
    .operands = "[COMMAND | TOOL]",
    .max_operands = 1,
    .summary = "say how a command or a tool is used",
    .run = run,
};
