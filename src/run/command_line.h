/* command_line: a shell command line taken apart into the simple commands that it runs, as far as a
 * guard rule must know them. It errs to the side of more commands, and says what it does not know.
 *
 * Found are commands behind ; & && || | and newlines, in groups, subshells, functions, substitutions
 * ($(...), `...`, <(...)), here-documents for a shell, behind VAR=x, keywords and programs that run
 * others (env, sudo, timeout, xargs, find -exec ...), and in the strings of sh -c, eval, su -c and their
 * like. Source: POSIX.1-2024, "Shell Command Language"; bash(1). Any thread. */
#ifndef WB_RUN_COMMAND_LINE_H
#define WB_RUN_COMMAND_LINE_H

#include "base/arena.h"

#define WB_COMMAND_UNKNOWN '\x01' /* in a text: what a variable or a substitution becomes */
#define WB_COMMAND_BLANK '\x02'   /* in an exact text: a blank inside of a word */

struct wb_command {
    const char *text;  /* words joined by single blanks, the program without its folder */
    const char *exact; /* the same with its folder, and blanks inside of words marked */
    const char *const *words;
    size_t n_words;
};

struct wb_command_line {
    struct wb_command *commands;
    size_t n_commands, commands_capacity;
    const char **names; /* words and targets of redirections that may be names of files */
    size_t n_names, names_capacity;
    bool is_plain;      /* nothing in it but these commands with words that are known */
    const char *unread; /* why it may run commands that are not among them; NULL: it does not */
};

void wb_command_line_read(struct wb_arena *arena, const char *text, struct wb_command_line *ret);

#endif
