/* catalogue: the table of debug adapters (catalogue/debug-adapters.json merged with the
 * configuration's "adapters"). Everything that is particular to one adapter stands in its row; code
 * never asks for a name. Immutable after loading; any thread. */
#ifndef WB_DEBUG_CATALOGUE_H
#define WB_DEBUG_CATALOGUE_H

#include "run/languages.h"

/* How the two sides meet. */
enum wb_adapter_transport {
    WB_ADAPTER_STDIO,   /* the adapter's standard input and output */
    WB_ADAPTER_LISTEN,  /* the adapter listens on {port}, we connect */
    WB_ADAPTER_DIAL_IN, /* we listen on {port}, the adapter connects */
};

/* What can be launched; each row has a template for those that it can. */
enum wb_target_kind {
    WB_TARGET_SOURCE, /* a file in one of the row's languages */
    WB_TARGET_FOLDER, /* a folder: a package */
    WB_TARGET_BINARY, /* an executable */
    WB_TARGET_MODULE, /* a name, not a file (mode "module") */
    WB_TARGET_TEST,   /* tests below a file or folder (mode "test") */
    WB_TARGET_CORE,   /* an executable and its core file */
    WB_TARGET_KINDS,
};

const char *wb_target_kind_name(enum wb_target_kind kind); /* "source": the key in the row */

/* How to attach. */
enum wb_attach_kind { WB_ATTACH_PORT, WB_ATTACH_PID, WB_ATTACH_KINDS };

struct wb_adapter_template {
    const char **words;              /* more words for the command */
    const struct wb_json *arguments; /* with placeholders (template.h); NULL: this cannot be done */
    bool is_attach; /* sent as an attach request, though we started the debuggee (rdbg) */
    bool is_direct; /* no adapter is started: what listens on the port speaks DAP (debugpy) */
};

struct wb_adapter_row {
    const char *id, *name;
    const char **languages;       /* ids of run/languages.h */
    const char **extensions;      /* of programs that are no language's source (".dll") */
    const char **markers;         /* names, or globs within one name */
    const char *const **commands; /* candidates, with placeholders in the words */
    const char **local;           /* project-local folders looked into first */
    bool every_program; /* try each program of that name on PATH, not only the first (python3) */
    const char **needs; /* other programs on PATH that it cannot do without (gdb) */
    const char **probe; /* words behind the program; status 0: the adapter is installed there */
    int64_t priority;   /* among rows that can do the same, smaller first */
    bool go_binaries;   /* it takes executables made by Go, and no others */
    enum wb_adapter_transport transport;
    struct wb_adapter_template launch[WB_TARGET_KINDS], attach[WB_ATTACH_KINDS];
    const struct wb_json *initialize;    /* more members of the initialize request; or NULL */
    const struct wb_json *scratch_files; /* name to content: put into {scratch}; or NULL */
    const struct wb_json *env;           /* added to the adapter's environment; or NULL */
    int64_t start_ms;                    /* how long a launch may take (a build is part of some) */
    const char *install, *url;
    bool tested; /* driven in CI */

    /* Quirks (docs/internals/debugger.md names the versions). */
    bool child_sessions;     /* asks for a second connection by startDebugging */
    const char **exceptions; /* filters that are on besides the adapter's own choice */
    const char **no_crash;   /* exceptions by which a program exits: passed over */
    bool is_debuggee;        /* the program that is started is the debuggee itself, and listens */
    bool stops_at_start;     /* of itself: passed over unless that was asked for */
    bool output_by_pipe;     /* the debuggee writes to the adapter's own stdout and stderr */
    bool keeps_conditions;   /* of a breakpoint that stays on its line, when they are taken away */
    bool keeps_breakpoints;  /* an empty list does not clear a file: stops there are passed over */
    const char **exit_text;  /* words in its output behind which the exit code stands */
    const char **failed_values; /* results that begin so are errors, though told as a success */
    const char **no_evaluate;   /* expressions that begin so are commands to the adapter: refused */
    const char **hidden_output; /* lines that begin so are not the debuggee's */
};

struct wb_adapters;

/* Loads the built-in table merged with config_root's "adapters" and "languages". */
struct wb_adapters *wb_adapters_new(const struct wb_json *config_root, struct wb_error *err);
void wb_adapters_free(struct wb_adapters *adapters);

const struct wb_languages *wb_adapters_languages(const struct wb_adapters *adapters);
/* Rows in order of priority, then id; start with *cursor 0. */
const struct wb_adapter_row *wb_adapters_next(const struct wb_adapters *adapters, size_t *cursor);
const struct wb_adapter_row *wb_adapters_find(const struct wb_adapters *adapters, const char *id);
/* Is a file of this language (id, may be NULL) and name (may be NULL) the row's? */
bool wb_adapter_row_speaks(const struct wb_adapter_row *row, const char *language,
                           const char *path);

#endif
