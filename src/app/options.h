/* options: the options that the sub-commands share, as one table: parsing, its sentences, and the
 * list for help come from it. Main thread (getopt has state). */
#ifndef WB_APP_OPTIONS_H
#define WB_APP_OPTIONS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "run/tool.h"

/* Groups of options that a command takes. */
enum {
    WB_OPTION_WORKSPACE = 1 << 0,
    WB_OPTION_RUN = 1 << 1, /* all that shape a run besides: --cap, --allow, --trust, ... */
    WB_OPTION_JSON = 1 << 2,
    WB_OPTION_REMOVE = 1 << 3,
    WB_OPTION_PLAIN = 1 << 4,
    WB_OPTION_HTML = 1 << 5,
};

struct wb_options {
    const char *workspace;   /* default: "." */
    enum wb_tier cap, allow; /* 0: not given */
    const char **tools;      /* NULL-terminated; NULL: not given */
    const char *config_file, *conversation_id;
    bool trust, json, remove, plain, html;
    bool help, version;
};

/* Parses argv[1..] of a command and moves the operands to the front of *ret_operands. accepted: the
 * groups. Strings are borrowed from argv, lists are in the arena. */
WB_MUST_CHECK int wb_options_parse(struct wb_arena *arena, int argc, char **argv, unsigned accepted,
                                   struct wb_options *ret, char ***ret_operands, int *ret_n,
                                   struct wb_error *err);

/* One line an option of these groups. */
void wb_options_help(struct wb_text *out, unsigned accepted);

#endif
