/* scan: a pattern over the files of a workspace.
 *
 * Files are taken in path order by several threads; results come in that order, whatever the threads
 * do, and the search stops early in that order too. A file that lacks a text which the pattern
 * demands is not parsed. */
#ifndef WB_AST_SCAN_H
#define WB_AST_SCAN_H

#include "ast/cache.h"
#include "ast/matcher.h"
#include "run/search.h"

#define WB_SCAN_THREADS_MAX 8
#define WB_SCAN_PARSE_MS 10000 /* for one file */

/* A file with the pattern's language in it, on a worker's thread. */
struct wb_scan_file {
    const char *path, *shown; /* real; as it was found */
    const struct wb_flat_tree *tree;
    struct wb_span source;
    struct wb_matcher *matcher; /* started */
    struct wb_parser *parser;   /* the thread's */
};

struct wb_scan {
    struct wb_call *call;
    struct wb_tree_cache *cache;
    const struct wb_languages *languages;
    const struct wb_pattern *pattern;
    struct wb_span path; /* the argument; ptr NULL: the workspace */
    size_t stop_after;   /* results; SIZE_MAX: all */
    /* Makes a file's results on a worker's thread (several at once); *ret_n how many. NULL: none. */
    void *(*visit)(void *ctx, const struct wb_scan_file *file, size_t *ret_n);
    /* Takes them on the calling thread, in path order. Called for each that is not NULL. */
    void (*take)(void *ctx, const char *path, const char *shown, void *results, size_t n);
    void (*drop)(void *results); /* of files behind the stop */
    void *ctx;

    /* What happened. */
    size_t n_results; /* in the files that were taken */
    size_t n_searched, n_binary, n_large, n_unreadable, n_slow;
    size_t n_outside;       /* symlinks that lead out of the workspace */
    size_t n_ruled_out;     /* that a guard rule governs */
    size_t n_with_errors;   /* files that parsed only in part, among those parsed */
    size_t n_given_up;      /* places where the matcher took too many steps */
    size_t n_files;         /* of the language */
    const char *stopped_at; /* the file in which there was enough, if there are files behind it */
};

WB_MUST_CHECK int wb_scan_run(struct wb_scan *scan, struct wb_error *err);

/* How many files of each grammar a path has, for the error that lists them: "c (12 files), ...". */
WB_MUST_CHECK int wb_scan_survey(struct wb_call *call, const struct wb_languages *languages,
                                 const struct wb_grammars *grammars, struct wb_span path,
                                 struct wb_text *out, struct wb_error *err);

/* The language of a file, by its name or its first line. */
const struct wb_language *wb_scan_language(const struct wb_languages *languages, const char *path);

/* Line of an offset, counted on from an earlier one. */
struct wb_line_counter {
    struct wb_span source;
    size_t at, line; /* start with {source, 0, 1} */
};

size_t wb_line_of(struct wb_line_counter *counter, size_t offset);

#endif
