/* template: the text that a match becomes, and its layout. Knows bytes and lines, no matches.
 *
 * What stands between two tokens that the pattern has too, with the same blanks between them, stays as
 * it is in the source, comments included. Other lines of the template get the indentation of the place, and their own in the file's style. A captured
 * run keeps its shape, moved by the difference; where it stood on lines of its own between brackets,
 * it does so again. Lines inside strings, the file's or the template's, are not touched. An empty $$$
 * takes one comma of the template with it. */
#ifndef WB_AST_TEMPLATE_H
#define WB_AST_TEMPLATE_H

#include "ast/align.h"
#include "ast/layout.h"

struct wb_template;

/* What goes in for a variable: its place in the source, and the text now (matches inside it may have
 * been rewritten). */
struct wb_splice {
    uint32_t start, end;
    struct wb_block block;
    bool ends_line; /* with a comment to the end of the line */
};

/* NULL: a name that the pattern does not bind. Lives in the arena. */
const struct wb_template *wb_template_compile(struct wb_arena *arena, struct wb_parser *parser,
                                              const struct wb_pattern *pattern, struct wb_span text,
                                              struct wb_error *err);

const struct wb_pattern *wb_template_pattern(const struct wb_template *template);
bool wb_template_uses(const struct wb_template *template, size_t variable);
bool wb_template_is_empty(const struct wb_template *template);
/* Is it a statement with an end of its own, a semicolon or a body? */
bool wb_template_is_ended(const struct wb_template *template);

/* What a match's places (wb_tokens_place) are of. */
const struct wb_tokens *wb_template_pattern_tokens(const struct wb_template *template);
/* Is this range of the source between two tokens that keep what stands between them? */
bool wb_template_keeps(const struct wb_template *template, const struct wb_token_places *places,
                       struct wb_span source, uint32_t start, uint32_t end);

/* Appends the template for a match at `start` of the source. splices: one a variable. places: NULL
 * where they are not known. */
void wb_template_put(const struct wb_template *template, const struct wb_layout *layout,
                     uint32_t start, const struct wb_splice *splices,
                     const struct wb_token_places *places, struct wb_block *out);

#endif
