/* pattern: a fragment of code with metavariables, compiled against a grammar.
 *
 *   $NAME   one node          $_      one node, not bound
 *   $$$NAME a run of siblings $$$     a run, not bound
 *
 * NAME is [A-Z_][A-Z0-9_]*; anything else behind a $ is the language's own. \$ is a $ that begins no
 * metavariable. A metavariable inside a word or a string stands for the text there.
 *
 * Compiling. Metavariables become placeholders that the pattern's own text does not contain. The
 * fragment is parsed in each context of the grammar's ladder; a context accepts when its tree has no
 * error and the fragment is exactly a node or a run of siblings. The first that accepts is used, and
 * those that the grammar's row joins to it. A pattern that no context accepts is an error that shows
 * each context and where it fails.
 *
 * A compiled rung is a flat pre-order program like the tree that it is matched with. Immutable after
 * compiling; any thread. */
#ifndef WB_AST_PATTERN_H
#define WB_AST_PATTERN_H

#include "ast/flat_tree.h"

#define WB_PATTERN_BYTES_MAX (64 * 1024)
#define WB_PATTERN_VARIABLES_MAX 64
#define WB_PATTERN_UNBOUND UINT16_MAX

enum wb_pattern_what {
    WB_PATTERN_NODE, /* kind, children */
    WB_PATTERN_LEAF, /* kind, and text if it is named */
    WB_PATTERN_TEXT, /* a leaf whose text has metavariables in it: pieces */
    WB_PATTERN_ONE,  /* $NAME */
    WB_PATTERN_MANY, /* $$$NAME, with the separators that go with it */
};

/* Of TEXT: literal text, then a variable's (the last piece has none: WB_PATTERN_UNBOUND and end). */
struct wb_pattern_piece {
    struct wb_span literal;
    uint16_t variable;
    bool is_last; /* no variable behind the literal */
};

struct wb_pattern_node {
    uint8_t what;
    bool is_named;
    bool is_separated; /* an optional token was in front of it */
    TSSymbol kind;     /* MANY: that of the one node that the run may be; 0: any run */
    uint32_t size;
    uint16_t variable;                          /* ONE, MANY */
    TSSymbol separator_before, separator_after; /* MANY: owned tokens; 0: none */
    struct wb_span text;                        /* LEAF */
    const struct wb_pattern_piece *pieces;      /* TEXT */
};

struct wb_pattern_rung {
    const char *context;
    const struct wb_pattern_node *nodes;
    uint32_t count, n_roots;
    bool is_lent; /* the last semicolon is the context's: the pattern's text has none */
};

struct wb_pattern {
    const struct wb_grammar *grammar;
    struct wb_span text; /* what was compiled, without the blanks around it; borrowed */
    const struct wb_pattern_rung *rungs;
    size_t n_rungs;
    const char *const *variables; /* names without $; index: wb_pattern_node.variable */
    bool is_many[WB_PATTERN_VARIABLES_MAX];
    size_t n_variables;
    /* Texts that every match of every rung holds, the longest first; is_word: bounded like an
     * identifier. For leaving files out before they are parsed. */
    const struct wb_span *required;
    const bool *required_is_word;
    size_t n_required;
};

/* Everything lives in the arena (the texts point into a copy there). */
const struct wb_pattern *wb_pattern_compile(struct wb_arena *arena, struct wb_parser *parser,
                                            const struct wb_grammar *grammar, struct wb_span text,
                                            struct wb_error *err);

/* The index of a variable, or SIZE_MAX. */
size_t wb_pattern_variable(const struct wb_pattern *pattern, struct wb_span name);

/* Reads a metavariable at the front of text: its length in bytes, 0: there is none. For templates
 * too. name: without the $; empty for $$$ and $_. */
size_t wb_metavariable_read(const struct wb_grammar *grammar, struct wb_span text,
                            struct wb_span *ret_name, bool *ret_many);

#endif
