/* rewrite_internal: what rewriting a file works on. */
#ifndef WB_AST_REWRITE_INTERNAL_H
#define WB_AST_REWRITE_INTERNAL_H

#include "ast/rewrite.h"

/* A match, copied from the matcher. */
struct wb_place {
    uint32_t start, end; /* what is replaced */
    struct wb_capture *captures;
    struct wb_token_places *tokens; /* where the pattern's are; NULL: not known */
    const char *refusal;            /* why it may not be rewritten, or NULL */
    bool is_done;                   /* rewritten, or inside what was */
};

struct wb_rewriter {
    const struct wb_template *template;
    const struct wb_scan_file *file;
    struct wb_rewritten *ret;
    struct wb_layout layout;
    struct wb_place *places; /* by start, the outer before the inner */
    size_t n_places, places_capacity;
};

/* Fills in of the place what a match says: its range without what the pattern does not mention at its
 * ends, where the pattern's tokens are, and why it may not be rewritten. start and end are the
 * match's. */
void wb_rewrite_examine(const struct wb_rewriter *r, const struct wb_match *match,
                        struct wb_place *place);

static inline char wb_rewrite_char(const struct wb_rewriter *r, uint32_t offset)
{
    return offset < r->file->source.len ? r->file->source.ptr[offset] : '\0';
}

static inline struct wb_span wb_rewrite_span(const struct wb_rewriter *r, uint32_t start,
                                             uint32_t end)
{
    return (struct wb_span){r->file->source.ptr + start, end - start};
}

static inline uint32_t wb_rewrite_skip(const struct wb_rewriter *r, uint32_t offset)
{
    while (offset < r->file->source.len && wb_is_blank(r->file->source.ptr[offset])) {
        offset++;
    }
    return offset;
}

static inline uint32_t wb_rewrite_skip_back(const struct wb_rewriter *r, uint32_t offset,
                                            uint32_t floor)
{
    while (offset > floor && wb_is_blank(r->file->source.ptr[offset - 1])) {
        offset--;
    }
    return offset;
}

static inline bool wb_is_one_of(char c, const char *chars)
{
    return c != '\0' && strchr(chars, c) != NULL;
}

#endif
