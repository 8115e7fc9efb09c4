/* command: what a sub-command of the program is. One `const struct wb_command` a command, in a file
 * of its own (command_<name>.c); the table is in commands.c.
 *
 * Standard output is the answer, standard error is the log. Exit status: 0 done, 1 the call reported
 * an error, 2 options or JSON that cannot be understood. */
#ifndef WB_APP_COMMAND_H
#define WB_APP_COMMAND_H

#include "app/options.h"

enum { WB_EXIT_DONE = 0, WB_EXIT_ERROR = 1, WB_EXIT_USAGE = 2 };

struct wb_command {
    const char *name;
    const char *operands; /* "TOOL JSON" for the usage line; "" for none */
    int min_operands, max_operands;
    unsigned options; /* which options it takes: WB_OPTION_... */
    const char *summary;
    const char *details; /* more for `werkbank help NAME`; may be NULL */
    int (*run)(const struct wb_options *options, char **operands, int n_operands);
};

extern const struct wb_command wb_command_call;
extern const struct wb_command wb_command_conversations;
extern const struct wb_command wb_command_doctor;
extern const struct wb_command wb_command_help;
extern const struct wb_command wb_command_serve;
extern const struct wb_command wb_command_show;
extern const struct wb_command wb_command_terminal;
extern const struct wb_command wb_command_tools;
extern const struct wb_command wb_command_tour;
extern const struct wb_command wb_command_trust;

/* The table, NULL-terminated. */
extern const struct wb_command *const wb_commands[];
const struct wb_command *wb_commands_find(const char *name);

/* One line on standard error: "werkbank: <text>". Returns WB_EXIT_USAGE. */
WB_PRINTF(1, 2) int wb_command_refuse(const char *fmt, ...);

/* The program: argv as main has it. */
int wb_commands_main(int argc, char **argv);

#endif
