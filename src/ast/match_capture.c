/* match_capture: what metavariables stand for, and when two stand for the same. */
#include "ast/match_state.h"

struct wb_span wb_match_text_of(const struct wb_matcher *m, uint32_t node)
{
    return wb_span_trim(wb_flat_text(&m->tree->nodes[node], m->source));
}

/* The next leaf that is no comment at or after node, below end; UINT32_MAX: none. */
static uint32_t next_leaf(const struct wb_flat_tree *tree, uint32_t node, uint32_t end)
{
    while (node < end) {
        const struct wb_flat_node *flat = &tree->nodes[node];
        if ((flat->flags & WB_FLAT_EXTRA) != 0) {
            node += flat->size;
        } else if (flat->size > 1 || flat->start == flat->end) {
            node++;
        } else {
            return node;
        }
    }
    return UINT32_MAX;
}

static uint32_t run_end(const struct wb_flat_tree *tree, const struct wb_capture *capture)
{
    return capture->last + tree->nodes[capture->last].size;
}

static bool is_text_capture(const struct wb_capture *capture)
{
    return capture->first == UINT32_MAX;
}

/* Nothing, or nothing but comments. */
static bool is_empty(const struct wb_matcher *m, const struct wb_capture *capture)
{
    return is_text_capture(capture)
               ? capture->start == capture->end
               : next_leaf(m->tree, capture->first, run_end(m->tree, capture)) == UINT32_MAX;
}

/* The same tokens, whatever the layout and comments between them. */
static bool same_capture(const struct wb_matcher *m, const struct wb_capture *a,
                         const struct wb_capture *b)
{
    if (is_text_capture(a) || is_text_capture(b)) {
        if (is_empty(m, a) && is_empty(m, b)) {
            return true;
        }
        struct wb_span x = {m->source.ptr + a->start, a->end - a->start};
        struct wb_span y = {m->source.ptr + b->start, b->end - b->start};
        return wb_span_equal(x, y);
    }
    uint32_t i = a->first, j = b->first;
    for (;;) {
        i = next_leaf(m->tree, i, run_end(m->tree, a));
        j = next_leaf(m->tree, j, run_end(m->tree, b));
        if (i == UINT32_MAX || j == UINT32_MAX) {
            return i == j;
        }
        if (!wb_span_equal(wb_match_text_of(m, i), wb_match_text_of(m, j))) {
            return false;
        }
        i++;
        j++;
    }
}

bool wb_match_bind(struct wb_matcher *m, uint16_t variable, struct wb_capture capture)
{
    if (variable == WB_PATTERN_UNBOUND) {
        return true;
    }
    if (m->captures[variable].is_bound) {
        return same_capture(m, &m->captures[variable], &capture);
    }
    capture.is_bound = true;
    m->captures[variable] = capture;
    WB_GROW(m->trail, m->trail_capacity, m->n_trail + 1);
    m->trail[m->n_trail++] = variable;
    return true;
}

struct wb_capture wb_match_run_of(const struct wb_matcher *m, uint32_t first, uint32_t last)
{
    /* Some nodes end behind the end of their line: layout belongs to nobody. */
    uint32_t start = m->tree->nodes[first].start, end = m->tree->nodes[last].end;
    struct wb_span text = wb_span_trim((struct wb_span){m->source.ptr + start, end - start});
    start = (uint32_t)(text.ptr - m->source.ptr);
    return (struct wb_capture){
        .first = first, .last = last, .start = start, .end = start + (uint32_t)text.len};
}

/* "hello $A": literals in order, the variables between them. No backtracking inside a text: each
 * literal is found at its first place, the last one at the end. */
bool wb_match_text(struct wb_matcher *m, const struct wb_pattern_node *p, uint32_t node)
{
    struct wb_span text = wb_match_text_of(m, node);
    const struct wb_pattern_piece *piece = p->pieces;
    size_t at = piece->literal.len;
    if (!wb_span_starts(text, piece->literal)) {
        return false;
    }
    while (!piece->is_last) {
        const struct wb_pattern_piece *next = piece + 1;
        size_t found =
            next->is_last ? (text.len >= at + next->literal.len && wb_span_ends(text, next->literal)
                                 ? text.len - next->literal.len
                                 : SIZE_MAX)
                          : wb_span_find(text, next->literal, at);
        if (found == SIZE_MAX) {
            return false;
        }
        uint32_t start = (uint32_t)(text.ptr - m->source.ptr);
        struct wb_capture capture = {
            .first = UINT32_MAX,
            .last = UINT32_MAX,
            .start = start + (uint32_t)at,
            .end = start + (uint32_t)found,
        };
        if (!wb_match_bind(m, piece->variable, capture)) {
            return false;
        }
        at = found + next->literal.len;
        piece = next;
    }
    return at == text.len;
}
