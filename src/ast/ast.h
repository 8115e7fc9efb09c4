/* ast: structural search as a run has it: the languages of its configuration and their grammars,
 * loaded on first use, and the host's cache of parsed files. What the tools of this folder work on. */
#ifndef WB_AST_AST_H
#define WB_AST_AST_H

#include "ast/scan.h"

struct wb_ast;

/* Attaches the parser set to the run. */
void wb_ast_attach(struct wb_run *run);
bool wb_ast_available(const struct wb_run *run); /* for the tools' `available` */

/* What a call of ast_grep or ast_edit looks for, from its arguments. */
struct wb_ast_query {
    const struct wb_languages *languages;
    const struct wb_grammar *grammar;
    const struct wb_pattern *pattern;
    struct wb_tree_cache *cache;
};

/* Finds the language (named, or that of the file that path names) and compiles the pattern. The
 * error says which of the three is wrong: the language, the path, the pattern. */
WB_MUST_CHECK int wb_ast_query(struct wb_call *call, struct wb_span pattern, struct wb_span path,
                               struct wb_span language, struct wb_ast_query *ret,
                               struct wb_error *err);

/* For doctor: one line that says which languages can be searched, or why none can; and the same as a
 * JSON value, {"languages": [ids], "reason"}. */
void wb_ast_survey(struct wb_run *run, struct wb_text *out, struct wb_json_writer *w);

/* " (searched 12 files; skipped 1 binary, 2 too large; 3 parsed only in part)": what a result says of
 * the files. */
void wb_ast_tell_files(const struct wb_scan *scan, struct wb_text *out);

#endif
