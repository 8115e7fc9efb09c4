/* commands: the table of sub-commands, and the way from argv to one of them. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/command.h"
#include "run/nearest.h"

const struct wb_command *const wb_commands[] = {
    &wb_command_terminal,
    &wb_command_call,
    &wb_command_tools,
    &wb_command_serve,
    &wb_command_doctor,
    &wb_command_tour,
    &wb_command_trust,
    &wb_command_conversations,
    &wb_command_show,
    &wb_command_help,
    NULL,
};

const struct wb_command *wb_commands_find(const char *name)
{
    for (size_t i = 0; wb_commands[i] != NULL; i++) {
        if (wb_str_equal(wb_commands[i]->name, name)) {
            return wb_commands[i];
        }
    }
    return NULL;
}

int wb_command_refuse(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("werkbank: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return WB_EXIT_USAGE;
}

static int refuse_unknown(const char *name)
{
    const char *names[WB_COUNT(wb_commands) - 1];
    for (size_t i = 0; wb_commands[i] != NULL; i++) {
        names[i] = wb_commands[i]->name;
    }
    const char *near = wb_nearest(wb_span(name), names, WB_COUNT(names));
    if (near != NULL) {
        return wb_command_refuse("there is no command `%s`; did you mean `%s`?", name, near);
    }
    return wb_command_refuse("there is no command `%s`; `werkbank help` lists them", name);
}

static int print_version(void)
{
    printf("werkbank %s\n", WB_VERSION);
    return WB_EXIT_DONE;
}

/* Without a command: --help, --version, or the terminal. */
static int run_without_command(struct wb_arena *arena, int argc, char **argv)
{
    struct wb_options options;
    struct wb_error err;
    char **operands;
    int n;
    if (wb_options_parse(arena, argc, argv, wb_command_terminal.options, &options, &operands, &n,
                         &err) != 0) {
        return wb_command_refuse("%s; see `werkbank help`", err.message);
    }
    if (options.version) {
        return print_version();
    }
    if (options.help) {
        return wb_command_help.run(&options, NULL, 0);
    }
    return n == 0 ? wb_command_terminal.run(&options, operands, 0)
                  : wb_command_refuse("name the command first; `werkbank help` lists them");
}

static int run_command(struct wb_arena *arena, const struct wb_command *command, int argc,
                       char **argv)
{
    struct wb_options options;
    struct wb_error err;
    char **operands;
    int n;
    if (wb_options_parse(arena, argc, argv, command->options, &options, &operands, &n, &err) != 0) {
        return wb_command_refuse("%s; see `werkbank help %s`", err.message, command->name);
    }
    if (options.version) {
        return print_version();
    }
    if (options.help) {
        char *name = argv[0];
        return wb_command_help.run(&options, &name, 1);
    }
    if (n < command->min_operands || n > command->max_operands) {
        return wb_command_refuse("`%s` is used as: werkbank %s [OPTIONS]%s%s", command->name,
                                 command->name, command->operands[0] != '\0' ? " " : "",
                                 command->operands);
    }
    return command->run(&options, operands, n);
}

/* A file that is opened later must not become standard output. */
static void open_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            int opened = open("/dev/null", O_RDWR);
            if (opened != fd) {
                abort(); /* the lowest free number: it is this one */
            }
        }
    }
}

int wb_commands_main(int argc, char **argv)
{
    open_standard_descriptors();
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error of the write */
    signal(SIGXFSZ, SIG_IGN); /* so is a file over its limit */
    if (argc < 2 || argv[1][0] == '-') {
        return run_without_command(&arena, argc, argv);
    }
    const struct wb_command *command = wb_commands_find(argv[1]);
    return command != NULL ? run_command(&arena, command, argc - 1, argv + 1)
                           : refuse_unknown(argv[1]);
}
