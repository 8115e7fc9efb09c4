/* template: the arguments of launch and attach, and the words of commands, with their placeholders
 * filled in. On memory. */
#ifndef WB_DEBUG_TEMPLATE_H
#define WB_DEBUG_TEMPLATE_H

#include "base/json.h"

/* Each is left out of the request where it has no value: the member goes with it. */
struct wb_template_values {
    const char *program;       /* {program} */
    const char *folder;        /* {folder}: that program is in, or is */
    const char *const *args;   /* {args}: an array; in a command's words: spliced; {args_line}: one
                                 string, quoted for a shell */
    const char *cwd;           /* {cwd}: never NULL */
    const char *cwd_given;     /* {cwd_given}: as the agent gave it */
    const struct wb_json *env; /* {env}: an object; {env_list}: ["A=b"] */
    const char *root;          /* {root}: the folder of the marker */
    const char *interpreter;   /* {interpreter} */
    const char *core;          /* {core} */
    const char *scratch;       /* {scratch}: a private folder */
    int64_t port, pid;         /* {port}, {pid}: numbers when alone; 0: no value */
    bool stop_on_entry;        /* {stop_on_entry} */
};

/* Does it ask for the placeholder ("{scratch}") anywhere? */
bool wb_template_asks(struct wb_arena *arena, const struct wb_json *arguments,
                      const char *placeholder);
/* The arguments as JSON text. */
struct wb_span wb_template_fill(struct wb_arena *arena, const struct wb_json *arguments,
                                const struct wb_template_values *values);
/* A command's words, NULL-terminated. */
const char *const *wb_template_words(struct wb_arena *arena, const char *const *words,
                                     const struct wb_template_values *values);

#endif
