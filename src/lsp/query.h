/* query: a question about a file, put to the servers that serve it: which server, is it ready, is
 * the file as it stands on disk, where is the symbol. What lsp and lsp_rename have in common. */
#ifndef WB_LSP_QUERY_H
#define WB_LSP_QUERY_H

#include "lsp/locations.h"
#include "lsp/lsp.h"
#include "sys/file.h"

struct wb_query {
    struct wb_lsp *lsp;
    struct wb_call *call;
    const char *path; /* absolute; NULL: a question about the workspace */
    struct wb_candidates candidates;
    int64_t deadline_ms;
    bool
        exhaustive; /* an answer of a server that is still young may lack places: ask until it rests */
    struct wb_text refusals; /* why servers could not answer: one sentence each, joined by "; " */
    size_t n_refusals;
};

/* Resolves the file and its servers. The error says why nothing is usable. */
WB_MUST_CHECK int wb_query_open(struct wb_lsp *lsp, struct wb_call *call, struct wb_span file,
                                struct wb_query *ret, struct wb_error *err);
void wb_query_done(struct wb_query *query); /* also WB_AUTO(wb_query_done) */

/* A server that takes part in the question, with the file as it has it. */
struct wb_query_server {
    struct wb_server *server;
    struct wb_sync sync;
    struct wb_line_index index;
};

/* Starts (where needed) and synchronises one candidate. -1: err, which wb_query_refuse may take. */
WB_MUST_CHECK int wb_query_server(struct wb_query *query, const struct wb_candidate *candidate,
                                  struct wb_query_server *ret, struct wb_error *err);
/* The same without the text, which a question about the whole file does not need. Several may run
 * side by side. */
WB_MUST_CHECK int wb_query_use(struct wb_query *query, const struct wb_candidate *candidate,
                               struct wb_query_server *ret, struct wb_error *err);
void wb_query_refuse(struct wb_query *query, const char *sentence);
/* No server could answer: the refusals as one error. */
int wb_query_failed(struct wb_query *query, struct wb_error *err);

/* The next usable candidate for navigation: type checkers first. Start with *cursor 0. */
const struct wb_candidate *wb_query_next(struct wb_query *query, size_t *cursor);

/* One place of a file, in a server's own terms. */
struct wb_query_place {
    struct wb_position position;
    size_t offset, length; /* of the name, in bytes of the text */
};

/* Where the symbol stands. Several hits and no #n: the server is asked what each means; where all
 * that mean something lead to one declaration it is the first of them, else the error lists the
 * hits. */
WB_MUST_CHECK int wb_query_place(struct wb_query *query, struct wb_query_server *server,
                                 int64_t line, struct wb_span symbol, struct wb_query_place *ret,
                                 struct wb_error *err);

/* Writes {"textDocument": {"uri"}, "position": {...}} without the closing brace. */
void wb_query_begin_params(struct wb_query *query, struct wb_json_writer *w, struct wb_text *text,
                           const struct wb_position *position);
/* Asks. A server that is still loading is waited for, and one that gives an empty answer while it
 * loads is asked again when it is done: *ret_ready false means "empty, and still not ready". */
WB_MUST_CHECK int wb_query_ask(struct wb_query *query, struct wb_server *server, const char *method,
                               struct wb_span params, const struct wb_json **ret, bool *ret_ready,
                               struct wb_error *err);

#endif
