/* template_internal: what compiling a template hands to putting it. */
#ifndef WB_AST_TEMPLATE_INTERNAL_H
#define WB_AST_TEMPLATE_INTERNAL_H

#include "ast/template.h"

struct wb_template {
    const struct wb_pattern *pattern;
    struct wb_span text;
    struct wb_tokens tokens;
    struct wb_tokens of_pattern;
    struct wb_alignment aligned; /* with the pattern's tokens */
    unsigned unit;               /* blanks of one level of its indentation; 0: it has none */
    bool is_ended;               /* see wb_template_is_ended */
    const char **fixed;          /* where its lines begin that are inside strings */
    size_t n_fixed, fixed_capacity;
};

/* Does this line of the template begin inside a string? */
bool wb_template_is_fixed(const struct wb_template *template, const char *line);
/* What stands in the match between token i and the one in front of it, if the pattern has the two. */
bool wb_template_find_kept(const struct wb_template *template, const struct wb_token_places *places,
                           size_t i, struct wb_span source, struct wb_range *ret);

static inline size_t wb_count_char(struct wb_span text, size_t at, char c)
{
    size_t n = 0;
    while (at + n < text.len && text.ptr[at + n] == c) {
        n++;
    }
    return n;
}

#endif
