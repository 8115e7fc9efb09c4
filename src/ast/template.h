/* template: the text that a match becomes, and its layout. Knows bytes and lines, no matches. */
#ifndef WB_AST_TEMPLATE_H
#define WB_AST_TEMPLATE_H

#include "ast/pattern.h"

struct wb_template;

/* How a file is laid out. Borrows the tree and the source. */
struct wb_layout {
    const struct wb_flat_tree *tree;
    struct wb_span source;
    bool has_crlf, has_tabs;
};

void wb_layout_read(struct wb_layout *ret, const struct wb_flat_tree *tree, struct wb_span source);

/* What goes in for a variable: its place in the source, and the text now (matches inside it may have
 * been rewritten). */
struct wb_splice {
    uint32_t start, end;
    struct wb_span text;
};

const struct wb_pattern *wb_template_pattern(const struct wb_template *template);
bool wb_template_uses(const struct wb_template *template, size_t variable);
/* The last character that is no blank, where the template does not end with a variable; or NULL. */
const char *wb_template_last(const struct wb_template *template);

/* Appends the template for a match at `start` of the source. splices: one a variable. */
void wb_template_put(const struct wb_template *template, const struct wb_layout *layout,
                     uint32_t start, const struct wb_splice *splices, struct wb_text *out);

#endif
