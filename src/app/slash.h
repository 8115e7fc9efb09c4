/* slash: a call as a human types it: "/lsp definition src/a.c:42 name". The tool's argument table
 * says what the words are; no tool is known by name.
 *
 * Words fill the arguments in order: those that the chosen operation needs, then those it takes;
 * without operations, the order of the table. KEY=VALUE names an argument that exists. "path:42" also
 * fills a `line` or `lines` that comes next. A last text argument takes the rest of the line as it
 * stands (a shell command, a cell); other words may be quoted with ' or ". A word that begins with
 * { or [ is JSON. Any thread. */
#ifndef WB_APP_SLASH_H
#define WB_APP_SLASH_H

#include "run/tool.h"

/* The arguments as JSON, in the arena; whether they are right is decided by the call. -1: the line
 * cannot be read (an open quote, a word too many), with a sentence. */
WB_MUST_CHECK int wb_slash_arguments(struct wb_arena *arena, const struct wb_tool *tool,
                                     struct wb_span line, struct wb_span *ret_json,
                                     struct wb_error *err);

/* What could stand where the cursor is, at the end of `line` (all behind the tool's name). Gives
 * each candidate as the whole word it would become; a path is asked for by is_path. */
struct wb_slash_completion {
    struct wb_span word; /* what is typed of it; points into line */
    bool is_path;
    const char **candidates;
    size_t count, capacity;
};

void wb_slash_complete(struct wb_arena *arena, const struct wb_tool *tool, struct wb_span line,
                       struct wb_slash_completion *ret);

#endif
