/* command_line_private: what command_line.c and command_programs.c share. For no other file. */
#ifndef WB_RUN_COMMAND_LINE_PRIVATE_H
#define WB_RUN_COMMAND_LINE_PRIVATE_H

#include "run/command_line.h"

#define WB_COMMAND_DEPTH_MAX 8 /* of sh -c inside of sh -c */

struct wb_command_reader {
    struct wb_arena *arena;
    struct wb_command_line *line;
};

struct wb_command_word {
    const char *text;
    bool has_glob; /* unquoted: it becomes the names of files */
};

/* Reads a command line, also one inside of another. */
void wb_command_split(struct wb_command_reader *reader, const char *text, unsigned depth);

/* A simple command, and those that it runs. Returns whether one is a shell, which may get commands from
 * its input. The words belong to the commands. */
bool wb_command_add(struct wb_command_reader *reader, const struct wb_command_word *words, size_t n,
                    unsigned depth);

#endif
