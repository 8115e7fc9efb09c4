/* line_editor: a line from the human. On a terminal with editing, history and completion (libedit,
 * loaded at first use so that no other command pays for it); on a plain terminal, a pipe, or without
 * libedit, as the bytes come.
 *
 * One thread. One editor a process: libedit knows its own state only. */
#ifndef WB_APP_LINE_EDITOR_H
#define WB_APP_LINE_EDITOR_H

#include "base/error.h"
#include "base/text.h"

struct wb_line_editor;

/* The candidates for the end of the line before the cursor: each is added to `out` with a NUL behind
 * it, as what the last word would become. Returns how many. */
typedef size_t (*wb_line_complete_fn)(void *ctx, struct wb_span before_cursor, struct wb_text *out);

struct wb_line_options {
    bool editing;             /* standard input and output are a terminal that can */
    const char *history_file; /* NULL: none is kept */
    int wake_fd;              /* readable: reading ends with WB_LINE_WOKEN. -1: none */
    wb_line_complete_fn complete;
    void *ctx;
};

enum wb_line_status {
    WB_LINE_TEXT,        /* a line, without its end */
    WB_LINE_END,         /* no more input */
    WB_LINE_INTERRUPTED, /* Ctrl-C: what was typed is dropped */
    WB_LINE_WOKEN,       /* wake_fd: what was typed is kept for the next read */
};

struct wb_line_editor *wb_line_editor_new(const struct wb_line_options *options);
void wb_line_editor_free(struct wb_line_editor *editor); /* NULL is allowed; writes the history */
/* `keep`: the line goes into the history. */
enum wb_line_status wb_line_editor_read(struct wb_line_editor *editor, const char *prompt,
                                        bool keep, struct wb_text *ret_line);

#endif
