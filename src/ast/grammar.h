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
    bool is_only_joined;         /* no rung by itself: it would accept any text */
    bool is_single;              /* accepts one node, and no run */
};

/* Kinds of nodes. */
struct wb_kinds {
    const TSSymbol *items;
    size_t n;
};

static inline bool wb_kinds_have(struct wb_kinds kinds, TSSymbol kind)
{
    for (size_t i = 0; i < kinds.n; i++) {
        if (kinds.items[i] == kind) {
            return true;
        }
    }
    return false;
}

/* A pattern that is read in the context `first` is read in `also` too. */
struct wb_join {
    size_t first, also;    /* indexes of contexts */
    struct wb_kinds kinds; /* if it is one node of such a kind there; none: whatever it is */
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
    struct wb_kinds tokens;   /* have a name and are tokens all the same (R's comma) */
    struct wb_kinds clauses;  /* no $$$ takes them: an else beside the statements of an if */
    const char **bodies;      /* spellings of a metavariable where members stand: "%;", "int %;" */
    const char **entries;     /* and where entries of a map or a list do: "%: 0" */
    struct wb_kinds postfix;  /* go on an expression in its siblings (Dart's selectors) */
    struct wb_kinds optional; /* tokens that end statements and may be left out (a semicolon) */
    struct wb_kinds lists;    /* hold a run as one node: a $$$ alone in it is that node or none */
    const char **aliases;     /* other names of the language: "tsx"; NULL-terminated */
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

#endif
