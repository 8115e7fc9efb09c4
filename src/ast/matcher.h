/* matcher: where a pattern matches in a tree.
 *
 * Rules. Every named child of a matched node is accounted for; tokens that the pattern does not
 * mention may be there (`async`, a trailing comma) and are reported, comments too. Comments and
 * layout decide nothing. $$$ backtracks; its separator goes with it. A metavariable that comes twice
 * captures the same tokens. Errors in the tree are nodes like others: what is around and inside them
 * matches.
 *
 * Iterative: frames and choice points live in vectors of the matcher, bindings are undone by a log.
 * Steps per place are bounded; a place that is given up is counted. One thread. */
#ifndef WB_AST_MATCHER_H
#define WB_AST_MATCHER_H

#include "ast/pattern.h"

#define WB_MATCH_STEPS_MAX 200000 /* at one place of a tree */

/* A run of siblings: nodes [first, last] and what is below last. Empty: is_bound with end == start. */
struct wb_capture {
    bool is_bound;
    uint32_t start, end;  /* bytes */
    uint32_t first, last; /* nodes; UINT32_MAX: empty, or text inside a leaf */
};

struct wb_match {
    uint32_t start, end; /* bytes */
    uint32_t first, last;
    const struct wb_capture *captures; /* one a variable of the pattern */
    const uint32_t *unmentioned;       /* nodes that the pattern did not mention, ascending */
    size_t n_unmentioned;
    size_t rung;
};

struct wb_matcher;

/* pattern outlives the matcher. */
struct wb_matcher *wb_matcher_new(const struct wb_pattern *pattern);
void wb_matcher_free(struct wb_matcher *matcher);
/* Begins with this tree; both outlive the search. */
void wb_matcher_start(struct wb_matcher *matcher, const struct wb_flat_tree *tree,
                      struct wb_span source);
/* The next match in the order of (start, longer first, rung); *ret is valid until the next call.
 * Matches inside matches are given too; the same range is given once, and of the runs of a $$$ in
 * front only the longest. */
bool wb_matcher_next(struct wb_matcher *matcher, struct wb_match *ret);
/* Places given up because they took too many steps. */
size_t wb_matcher_given_up(const struct wb_matcher *matcher);

#endif
