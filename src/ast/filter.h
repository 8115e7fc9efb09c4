/* filter: what tells, before a file is parsed or even read again, that a pattern cannot match in it.
 *
 * Of the source: does it hold every text that the pattern demands? Of a file's facts, which are a
 * hundredth of its size and outlive its tree: a filter of its words, and of the kinds of its nodes.
 * Facts belong to whoever made them; a filter never rules out a file that has a match. */
#ifndef WB_AST_FILTER_H
#define WB_AST_FILTER_H

#include "ast/pattern.h"

#define WB_FACTS_KINDS 256 /* bits; kinds are taken modulo */

struct wb_facts {
    uint64_t kinds[WB_FACTS_KINDS / 64]; /* of the nodes */
    bool has_kinds;
    uint8_t *words; /* malloc'ed; NULL: not made */
    uint32_t n_word_bits;
};

/* Has the source all texts that the pattern demands? */
bool wb_filter_source(const struct wb_pattern *pattern, struct wb_span source);

void wb_facts_add_words(struct wb_facts *facts, struct wb_span source);
void wb_facts_add_kinds(struct wb_facts *facts, const struct wb_flat_tree *tree);
bool wb_facts_rule_out(const struct wb_facts *facts, const struct wb_pattern *pattern);
size_t wb_facts_bytes(const struct wb_facts *facts);
void wb_facts_done(struct wb_facts *facts); /* also WB_AUTO(wb_facts_done) */

#endif
