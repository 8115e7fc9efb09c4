/* grammar: which languages can be searched by structure, and what the pattern compiler must know of
 * each: the parser, the scaffolds that a fragment is tried in, how a placeholder is spelt.
 *
 * All of it is the member "grammar" of a row of catalogue/languages.json (catalogue/README.md says
 * what each key means). Immutable after loading; any thread. */
#ifndef WB_AST_GRAMMAR_H
#define WB_AST_GRAMMAR_H

#include <tree_sitter/api.h>

#include "run/languages.h"

/* One rung of the ladder: text around the fragment that makes a whole file of it. */
struct wb_context {
    const char *name;            /* "statement" */
    const char *prefix, *suffix; /* a suffix that begins with ; may lend it to the fragment */
};

/* A pattern that is read in the context `first` is read in `also` too. */
struct wb_join {
    size_t first, also;    /* indexes of contexts */
    const TSSymbol *kinds; /* if it is one node of such a kind there; none: whatever it is */
    size_t n_kinds;
};

/* How a metavariable is spelt while the pattern is parsed. */
enum wb_placeholder {
    WB_PLACEHOLDER_BARE,   /* wbzaa */
    WB_PLACEHOLDER_UPPER,  /* Wbzaa */
    WB_PLACEHOLDER_DOLLAR, /* $wbzaa */
    WB_PLACEHOLDER_QUOTED, /* "wbzaa" */
    WB_PLACEHOLDER_STYLES,
};

struct wb_grammar {
    const struct wb_language *language;
    const TSLanguage *parser;
    enum wb_placeholder placeholders[WB_PLACEHOLDER_STYLES]; /* in the order of trying */
    size_t n_placeholders;
    const char **quoted_after;   /* words behind which a string may stand; none: anywhere */
    struct wb_context *contexts; /* in the order of trying */
    size_t n_contexts;
    struct wb_join *joins; /* other readings that join the first that accepts */
    size_t n_joins;
    TSSymbol *tokens; /* kinds that have a name and are tokens like those without (R's comma) */
    size_t n_tokens;
    TSSymbol *clauses; /* kinds that no $$$ takes: an else beside the statements of an if */
    size_t n_clauses;
    const char **bodies;  /* spellings of a metavariable where members stand: "%;", "int %;" */
    const char **entries; /* and where entries of a map or a list do: "%: 0" */
    TSSymbol *postfix;    /* kinds that go on an expression in its siblings (Dart's selectors) */
    size_t n_postfix;
    TSSymbol *optional; /* tokens that end statements and may be left out (a semicolon) */
    size_t n_optional;
    TSSymbol *lists; /* kinds that hold a run as one node: a $$$ alone in it is that node or none */
    size_t n_lists;
    const char **aliases;  /* other names of the language: "tsx"; NULL-terminated */
    const char **literals; /* $NAME that is a name of the language: PHP's $_GET; NULL-terminated */
    bool has_escape;       /* \$ is a $ that begins no metavariable (not where \ is code) */
    bool ignores_case;     /* of keywords: they are no required tokens then */
};

struct wb_grammars;

/* Built-in grammars, and the user's own: rows whose "grammar" has "library", the path of a shared
 * object with tree_sitter_<parser>. A library that cannot be used is an error that says why. */
struct wb_grammars *wb_grammars_load(const struct wb_languages *languages, struct wb_error *err);
void wb_grammars_free(struct wb_grammars *grammars); /* NULL is allowed */

/* By the language's id, or another name of it. */
const struct wb_grammar *wb_grammars_find(const struct wb_grammars *grammars, const char *id);
const struct wb_grammar *wb_grammars_of(const struct wb_grammars *grammars,
                                        const struct wb_language *language);
const struct wb_grammar *wb_grammars_next(const struct wb_grammars *grammars, size_t *cursor);

bool wb_join_has(const struct wb_join *join, TSSymbol kind);
bool wb_grammar_is_postfix(const struct wb_grammar *grammar, TSSymbol kind);
bool wb_grammar_is_token(const struct wb_grammar *grammar, TSSymbol kind);
bool wb_grammar_is_clause(const struct wb_grammar *grammar, TSSymbol kind);
bool wb_grammar_is_list(const struct wb_grammar *grammar, TSSymbol kind);
bool wb_grammar_is_optional(const struct wb_grammar *grammar, TSSymbol kind);

#endif
