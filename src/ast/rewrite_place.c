/* rewrite_place: which part of a match is replaced, and what of it would be lost. See rewrite.h. */
#include "ast/rewrite_internal.h"

/* A separator in front of a closing bracket, a semicolon that may be left out. */
static bool is_layout(const struct wb_rewriter *r, uint32_t node)
{
    const struct wb_flat_node *flat = &r->file->tree->nodes[node];
    const struct wb_grammar *grammar = wb_template_pattern(r->template)->grammar;
    return wb_kinds_have(grammar->optional, flat->kind) ||
           (flat->end - flat->start == 1 && wb_is_one_of(wb_rewrite_char(r, flat->start), ",;") &&
            wb_is_one_of(wb_rewrite_char(r, wb_rewrite_skip(r, flat->end)), ")]}>"));
}

/* A semicolon that the pattern has too, and one instead of which the template brings its own. */
static bool is_replaced_end(const struct wb_rewriter *r, uint32_t start, uint32_t end)
{
    return end - start == 1 && wb_rewrite_char(r, start) == ';' &&
           (wb_template_is_ended(r->template) ||
            wb_span_ends(wb_template_pattern(r->template)->text, WB_SPAN(";")));
}

/* The nodes of a match that the pattern does not mention. */
struct unmentioned {
    uint32_t *nodes; /* ascending */
    size_t n, capacity;
};

static bool is_captured(const struct wb_rewriter *r, const struct wb_match *match, uint32_t node)
{
    const struct wb_flat_node *flat = &r->file->tree->nodes[node];
    for (size_t i = 0; i < wb_template_pattern(r->template)->n_variables; i++) {
        const struct wb_capture *capture = &match->captures[i];
        if (capture->is_bound && flat->start >= capture->start && flat->end <= capture->end) {
            return true;
        }
    }
    return false;
}

/* What the matcher says, and every comment outside of the captures. Where the pattern has wildcards
 * those may have taken them. */
static void find_unmentioned(const struct wb_rewriter *r, const struct wb_match *match,
                             struct unmentioned *ret)
{
    const struct wb_flat_node *nodes = r->file->tree->nodes;
    uint32_t end = match->last + nodes[match->last].size;
    size_t i = 0;
    bool has_wild = wb_template_pattern_tokens(r->template)->has_wild;
    for (uint32_t node = match->first; node < end;) {
        while (i < match->n_unmentioned && match->unmentioned[i] < node) {
            i++;
        }
        bool is_extra = !has_wild && (nodes[node].flags & WB_FLAT_EXTRA) != 0 &&
                        nodes[node].end > nodes[node].start;
        if (i < match->n_unmentioned && match->unmentioned[i] == node) {
            i++;
        } else if (is_captured(r, match, node) && nodes[node].end > nodes[node].start) {
            node += nodes[node].size;
            continue;
        } else if (!is_extra) {
            node++;
            continue;
        }
        *WB_ARENA_PUSH(&r->ret->arena, ret->nodes, ret->n, ret->capacity) = node;
        node += nodes[node].size;
    }
}

/* Takes unmentioned nodes off the ends of the place: nothing but such nodes is on their far side.
 * *first, *last: those that are left. */
static void keep_ends(const struct wb_rewriter *r, const struct unmentioned *unmentioned,
                      struct wb_place *place, size_t *first, size_t *last)
{
    const struct wb_flat_node *nodes = r->file->tree->nodes;
    while (*first < *last && nodes[unmentioned->nodes[*first]].start == place->start) {
        place->start = wb_rewrite_skip(r, nodes[unmentioned->nodes[(*first)++]].end);
    }
    while (*last > *first && nodes[unmentioned->nodes[*last - 1]].end == place->end) {
        const struct wb_flat_node *node = &nodes[unmentioned->nodes[*last - 1]];
        if (is_replaced_end(r, node->start, node->end)) {
            break;
        }
        (*last)--;
        place->end = wb_rewrite_skip_back(r, node->start, place->start);
    }
}

/* Where the pattern's tokens are in the match. */
static void place_tokens(const struct wb_rewriter *r, const struct wb_match *match,
                         const struct unmentioned *unmentioned, struct wb_place *place)
{
    struct wb_arena *arena = &r->ret->arena;
    struct wb_range *left_out = wb_arena_alloc_array(arena, unmentioned->n + 1, sizeof(*left_out));
    for (size_t i = 0; i < unmentioned->n; i++) {
        const struct wb_flat_node *node = &r->file->tree->nodes[unmentioned->nodes[i]];
        left_out[i] = (struct wb_range){node->start, node->end};
    }
    place->tokens = wb_tokens_place(arena, wb_template_pattern(r->template),
                                    wb_template_pattern_tokens(r->template), r->file->source, match,
                                    left_out, unmentioned->n);
}

static void refuse(const struct wb_rewriter *r, struct wb_place *place, const char *what,
                   struct wb_range lost)
{
    struct wb_span text = {r->file->source.ptr + lost.start, lost.end - lost.start};
    text.len = wb_utf8_cut(text, 40);
    place->refusal =
        wb_arena_printf(&r->ret->arena,
                        "%s that the pattern does not mention would be lost: " WB_SPAN_FMT, what,
                        WB_SPAN_ARG(text));
}

/* Refuses the place if something between its ends would be lost. */
static void check_lost(const struct wb_rewriter *r, const struct unmentioned *unmentioned,
                       struct wb_place *place, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const struct wb_flat_node *node = &r->file->tree->nodes[unmentioned->nodes[i]];
        bool is_extra = (node->flags & WB_FLAT_EXTRA) != 0;
        if (!wb_template_keeps(r->template, place->tokens, r->file->source, node->start,
                               node->end) &&
            (is_extra || !is_layout(r, unmentioned->nodes[i]))) {
            refuse(r, place,
                   (node->flags & WB_FLAT_ERROR) != 0 ? "code that does not parse and"
                   : is_extra                         ? "a comment"
                                                      : "a token",
                   (struct wb_range){node->start, node->end});
            return;
        }
    }
    for (size_t i = 0; place->tokens != NULL && i < place->tokens->n_extra; i++) {
        struct wb_range extra = place->tokens->extra[i];
        if (!wb_template_keeps(r->template, place->tokens, r->file->source, extra.start,
                               extra.end)) {
            refuse(r, place, "a token", extra);
            return;
        }
    }
}

void wb_rewrite_examine(const struct wb_rewriter *r, const struct wb_match *match,
                        struct wb_place *place)
{
    const struct wb_pattern_rung *rung = &wb_template_pattern(r->template)->rungs[match->rung];
    struct unmentioned unmentioned = {.nodes = NULL};
    find_unmentioned(r, match, &unmentioned);
    size_t first = 0, last = unmentioned.n;
    place_tokens(r, match, &unmentioned, place);
    keep_ends(r, &unmentioned, place, &first, &last);
    if (rung->is_lent && place->end > place->start && wb_rewrite_char(r, place->end - 1) == ';' &&
        !wb_template_is_ended(r->template)) {
        place->end = wb_rewrite_skip_back(r, place->end - 1, place->start);
    }
    check_lost(r, &unmentioned, place, first, last);
}
