/* flat_tree: a parsed file as one array of nodes in pre-order, 16 bytes each. The parser's own tree,
 * ten times as large, is not kept.
 *
 * The children of node i begin at i + 1; its next sibling is i + nodes[i].size. A tree belongs to
 * whoever made it and is immutable then; a parser belongs to one thread at a time. */
#ifndef WB_AST_FLAT_TREE_H
#define WB_AST_FLAT_TREE_H

#include "ast/grammar.h"
#include "base/cancel.h"

enum {
    WB_FLAT_NAMED = 1 << 0,
    WB_FLAT_EXTRA = 1 << 1,   /* may stand anywhere: comments */
    WB_FLAT_ERROR = 1 << 2,   /* the parser could not read this */
    WB_FLAT_MISSING = 1 << 3, /* the parser made it up; empty */
};

struct wb_flat_node {
    uint32_t start, end; /* bytes */
    uint32_t size;       /* nodes of the subtree, itself included */
    TSSymbol kind;
    uint16_t flags;
};

struct wb_flat_tree {
    struct wb_flat_node *nodes; /* malloc'ed */
    uint32_t count;
    uint32_t n_errors; /* nodes with WB_FLAT_ERROR or WB_FLAT_MISSING */
};

void wb_flat_tree_done(struct wb_flat_tree *tree); /* also WB_AUTO(wb_flat_tree_done) */

struct wb_parser;

struct wb_parser *wb_parser_new(void);
void wb_parser_free(struct wb_parser *parser);
/* Any bytes parse, at most WB_FILE_BYTES_MAX. -1: WB_ERROR_CANCELLED, WB_ERROR_TIMEOUT. */
WB_MUST_CHECK int wb_parser_parse(struct wb_parser *parser, const struct wb_grammar *grammar,
                                  struct wb_span source, int64_t deadline_ms,
                                  struct wb_cancel *cancel, struct wb_flat_tree *ret,
                                  struct wb_error *err);

static inline struct wb_span wb_flat_text(const struct wb_flat_node *node, struct wb_span source)
{
    return (struct wb_span){source.ptr + node->start, node->end - node->start};
}

#endif
