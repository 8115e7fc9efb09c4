/* catalogue: the table of language servers (catalogue/language-servers.json merged with the
 * configuration's "servers"), and which of them could serve a file here.
 *
 * A row is usable for a file when two tests hold: a root marker exists, searched from the file
 * upwards to the workspace, and the binary resolves. Both are asked at the call, and the answer
 * says which one is missing. Immutable after loading; any thread. */
#ifndef WB_LSP_CATALOGUE_H
#define WB_LSP_CATALOGUE_H

#include "run/languages.h"

enum wb_server_kind { WB_SERVER_TYPES, WB_SERVER_LINTER, WB_SERVER_TEXT };

enum wb_diagnostics_mode {
    WB_DIAGNOSTICS_PUSH,
    WB_DIAGNOSTICS_PULL,
    WB_DIAGNOSTICS_BOTH,
    WB_DIAGNOSTICS_TSSERVER, /* asked of the TypeScript server by workspace/executeCommand */
    WB_DIAGNOSTICS_NONE,     /* it has none: it is not waited for */
};

enum wb_ready_mode {
    WB_READY_AT_ONCE,
    WB_READY_PROGRESS,
    WB_READY_SERVER_STATUS,
    WB_READY_LANGUAGE_STATUS,
    WB_READY_LOG
};

struct wb_server_row {
    const char *id;
    const char **languages;       /* ids */
    const char **markers;         /* names, or globs within one name */
    const char **outer_markers;   /* win over nearer ones: go.work */
    const char *const **commands; /* candidates, each NULL-terminated; the list too */
    const char **local;           /* project-local folders looked into first */
    const char *group;            /* conflict group; NULL: none */
    int64_t priority;             /* within the group, smaller first */
    enum wb_server_kind kind;
    enum wb_diagnostics_mode diagnostics;
    bool declare_pull;        /* false: the client must not offer pull diagnostics */
    bool versions;            /* pushes carry the document version */
    bool want_diagnostics;    /* clangd's member in didChange: no debounce */
    bool offset_encoding;     /* clangd's own negotiation */
    bool compilation_changes; /* clangd's way to be told compile commands */
    int64_t settle_ms;        /* a matching push may be followed by a better one within this */
    enum wb_ready_mode ready;
    const char *ready_log;      /* WB_READY_LOG: part of the message that says it */
    const char *check_progress; /* part of the token under which it runs a checker on save; NULL */
    const char *check_cause; /* part of a token that begins when a load causes that check; NULL */
    bool first_refresh;      /* answers pulls only after its first refresh */
    int64_t memory_bytes;    /* 0: no limit */
    const char *
        *rebuild_on; /* globs: after such a file changed, open documents are looked at anew */
    const char **index_files; /* without one of these in its root it knows open files only */
    const struct wb_json *initialization_options, *settings, *env;
    const char *install, *url;
    bool tested;   /* started in CI */
    uint64_t hash; /* of the row: rows of two configurations may differ */
};

struct wb_catalogue;

/* Loads the built-in table merged with config_root's "servers" and "languages". */
struct wb_catalogue *wb_catalogue_new(const struct wb_json *config_root, struct wb_error *err);
void wb_catalogue_free(struct wb_catalogue *catalogue);

const struct wb_languages *wb_catalogue_languages(const struct wb_catalogue *catalogue);
/* Rows in order of id; start with *cursor 0. */
const struct wb_server_row *wb_catalogue_next(const struct wb_catalogue *catalogue, size_t *cursor);
bool wb_server_row_serves(const struct wb_server_row *row, const struct wb_language *language);

/* The root for a file or folder below the workspace: the folder of the nearest marker (or of the
 * outermost outer_marker). NULL: no marker. *ret_marker (may be NULL) is its name. */
char *wb_server_row_root(struct wb_arena *arena, const struct wb_server_row *row,
                         const char *workspace, const char *path, const char **ret_marker);

/* The row's next command whose program resolves for this root (project-local folders first, then
 * PATH), NULL-terminated with its arguments. NULL: none is left. Start with *cursor 0. */
const char *const *wb_server_row_command(struct wb_arena *arena, const struct wb_server_row *row,
                                         const char *workspace, const char *root, size_t *cursor);

/* What could serve this file: every row of its language, conflict groups resolved (the losers carry
 * the reason). The reasons say all only where nothing is usable: whoever has a server does not ask
 * why others are none, and looking for their programs takes longer than the question itself. */
struct wb_candidate {
    const struct wb_server_row *row;
    const char *root; /* NULL: no marker */
    const char *marker;
    const char *const *command;        /* the first that resolves; NULL: none, or not looked for */
    const char *reason;                /* why not usable; NULL: usable */
    const char *example, *language_id; /* of_workspace: a file that calls for it */
    bool looked;                       /* for its command */
};

struct wb_candidates {
    const struct wb_language *language; /* NULL: unknown language */
    struct wb_candidate *items;
    size_t count, n_usable;
};

/* Whether the row's server runs for this root already: then its program need not be looked for. */
struct wb_running {
    bool (*is_running)(void *ctx, const struct wb_server_row *row, const char *root);
    void *ctx;
};

void wb_catalogue_candidates(struct wb_arena *arena, const struct wb_catalogue *catalogue,
                             const char *workspace, const char *path,
                             const struct wb_running *running, struct wb_candidates *ret);

/* What the workspace as a whole calls for: a candidate for each row and root that some file in it
 * would use. Looks at a bounded number of files. */
void wb_catalogue_of_workspace(struct wb_arena *arena, const struct wb_catalogue *catalogue,
                               const char *workspace, struct wb_candidates *ret);

#endif
