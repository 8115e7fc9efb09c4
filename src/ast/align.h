/* align: which tokens of a template are the pattern's too, and where they are in a match. What stands
 * between two such tokens in the source (layout, comments, tokens that nobody mentions) can stay as it
 * is. Knows text with holes for metavariables, no trees.
 *
 * Tokens here are words, single characters and metavariables, whatever the language. */
#ifndef WB_AST_ALIGN_H
#define WB_AST_ALIGN_H

#include "ast/matcher.h"

struct wb_token {
    struct wb_span text, gap; /* gap: the blanks in front. Both in the text that was read */
    size_t variable;          /* SIZE_MAX: it is text */
    bool is_many;
};

struct wb_tokens {
    struct wb_token *items;
    size_t count, capacity;
    struct wb_span tail; /* blanks behind the last */
    bool has_wild;       /* $_ or $$$: nothing says where they are in a match */
};

/* Reads a pattern or a template. Of a name that the pattern does not have, or of no name, *ret_bad is
 * the metavariable (names: and false is returned); a pattern has only names that it has. */
bool wb_tokens_read(struct wb_arena *arena, const struct wb_pattern *pattern, struct wb_span text,
                    struct wb_tokens *ret, struct wb_span *ret_bad);

struct wb_alignment {
    size_t *
        gaps; /* for each token of b an index of a: what stands in front of the two is the same, for
                     so are the tokens, those in front of them, and the blanks between. SIZE_MAX: there
                     is none such. No index comes twice */
    bool *
        is_layout; /* but the tokens in front differ: it is a closing bracket, and only blanks and a
                        comma in front of it are meant */
    size_t *same;  /* and the token of a that it is */
};

/* The longest common subsequence; in the arena. */
struct wb_alignment wb_tokens_align(struct wb_arena *arena, const struct wb_tokens *a,
                                    const struct wb_tokens *b);

struct wb_range {
    uint32_t start, end;
};

/* Where a match has the pattern's tokens. In an arena. */
struct wb_token_places {
    struct wb_range *items; /* one a token; start UINT32_MAX: it is not there */
    struct wb_range *extra; /* what the match has besides, ascending */
    size_t n_extra, extra_capacity;
};

/* NULL: that cannot be said. left_out: ranges to pass over, ascending. */
struct wb_token_places *wb_tokens_place(struct wb_arena *arena, const struct wb_pattern *pattern,
                                        const struct wb_tokens *tokens, struct wb_span source,
                                        const struct wb_match *match,
                                        const struct wb_range *left_out, size_t n_left_out);

#endif
