/* matcher: see the header.
 *
 * Matching is a list of goals. A frame is one list of pattern siblings against one list of tree
 * siblings; frames are immutable and linked upwards, so that a choice point is a frame and a number.
 * A goal that cannot be met goes back to the newest choice point. */
#include "ast/matcher.h"

#include <stdlib.h>

#include "ast/pattern_internal.h"

#define NO_FRAME UINT32_MAX

struct frame {
    uint32_t p, p_end; /* pattern nodes that are left of this list */
    uint32_t t, t_end; /* tree nodes that are left */
    uint32_t up;       /* the list that this one is inside; NO_FRAME: the roots */
};

/* Where the search goes on after a failure. */
struct choice {
    uint32_t frame, n_frames;
    uint32_t n_trail, n_unmentioned;
    uint32_t root_last;
    uint32_t end;   /* $$$: the first node behind the run to try next. $X: its last node to try */
    uint32_t floor; /* $X: its first node: the shortest run */
};

struct wb_matcher {
    const struct wb_pattern *pattern;
    const struct wb_pattern_node *nodes; /* of the rung being matched */
    const struct wb_flat_tree *tree;
    struct wb_span source;
    struct wb_capture *captures;
    struct frame *frames;
    uint32_t n_frames, frames_capacity;
    struct choice *choices;
    uint32_t n_choices, choices_capacity;
    uint16_t *trail; /* variables that were bound, to be unbound */
    uint32_t n_trail, trail_capacity;
    uint32_t *unmentioned;
    uint32_t n_unmentioned, unmentioned_capacity;
    uint32_t *ends; /* of the nodes that the search is inside */
    uint32_t n_ends, ends_capacity;
    bool needs_lists;    /* a rung is a run of siblings, or may become one */
    uint32_t at;         /* the node to try next */
    size_t rung;         /* the rung to try next there */
    uint32_t given_last; /* of the last match at this node: no rung gives the same again */
    uint32_t root_last;  /* last node of the roots' run */
    size_t steps, given_up;
};

/* May a match of the rung be more than one node? */
static bool is_run(const struct wb_pattern *pattern, const struct wb_pattern_rung *rung)
{
    return rung->n_roots > 1 ||
           (rung->nodes[0].what != WB_PATTERN_NODE && rung->nodes[0].what != WB_PATTERN_LEAF &&
            rung->nodes[0].what != WB_PATTERN_TEXT && pattern->grammar->n_postfix > 0);
}

struct wb_matcher *wb_matcher_new(const struct wb_pattern *pattern)
{
    struct wb_matcher *matcher = wb_alloc(sizeof(*matcher));
    matcher->pattern = pattern;
    for (size_t i = 0; i < pattern->n_rungs; i++) {
        matcher->needs_lists = matcher->needs_lists || is_run(pattern, &pattern->rungs[i]);
    }
    matcher->captures = wb_alloc_array(pattern->n_variables + 1, sizeof(*matcher->captures));
    return matcher;
}

void wb_matcher_free(struct wb_matcher *matcher)
{
    if (matcher != NULL) {
        free(matcher->captures);
        free(matcher->frames);
        free(matcher->choices);
        free(matcher->trail);
        free(matcher->unmentioned);
        free(matcher->ends);
        free(matcher);
    }
}

size_t wb_matcher_given_up(const struct wb_matcher *matcher)
{
    return matcher->given_up;
}

/* --- texts and captures --- */

static struct wb_span text_of(const struct wb_matcher *m, uint32_t node)
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

/* The same tokens, whatever the layout and comments between them. */
static bool same_capture(const struct wb_matcher *m, const struct wb_capture *a,
                         const struct wb_capture *b)
{
    if (is_text_capture(a) || is_text_capture(b)) {
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
        if (!wb_span_equal(text_of(m, i), text_of(m, j))) {
            return false;
        }
        i++;
        j++;
    }
}

static bool bind(struct wb_matcher *m, uint16_t variable, struct wb_capture capture)
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

static struct wb_capture run_of(const struct wb_matcher *m, uint32_t first, uint32_t last)
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
static bool match_text(struct wb_matcher *m, const struct wb_pattern_node *p, uint32_t node)
{
    struct wb_span text = text_of(m, node);
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
        if (!bind(m, piece->variable, capture)) {
            return false;
        }
        at = found + next->literal.len;
        piece = next;
    }
    return at == text.len;
}

/* --- frames and choices --- */

static uint32_t push_frame(struct wb_matcher *m, uint32_t p, uint32_t p_end, uint32_t t,
                           uint32_t t_end, uint32_t up)
{
    WB_GROW(m->frames, m->frames_capacity, m->n_frames + 1);
    m->frames[m->n_frames] = (struct frame){p, p_end, t, t_end, up};
    return m->n_frames++;
}

static void push_choice(struct wb_matcher *m, uint32_t frame, uint32_t end, uint32_t floor)
{
    WB_GROW(m->choices, m->choices_capacity, m->n_choices + 1);
    m->choices[m->n_choices++] = (struct choice){
        .frame = frame,
        .n_frames = m->n_frames,
        .n_trail = m->n_trail,
        .n_unmentioned = m->n_unmentioned,
        .root_last = m->root_last,
        .end = end,
        .floor = floor,
    };
}

static void undo(struct wb_matcher *m, const struct choice *choice)
{
    while (m->n_trail > choice->n_trail) {
        m->captures[m->trail[--m->n_trail]].is_bound = false;
    }
    m->n_unmentioned = choice->n_unmentioned;
    m->root_last = choice->root_last;
    m->n_frames = choice->n_frames;
}

static void mention_not(struct wb_matcher *m, uint32_t node)
{
    WB_GROW(m->unmentioned, m->unmentioned_capacity, m->n_unmentioned + 1);
    m->unmentioned[m->n_unmentioned++] = node;
}

static bool is_extra(const struct wb_matcher *m, uint32_t node)
{
    const struct wb_flat_node *flat = &m->tree->nodes[node];
    return (flat->flags & WB_FLAT_EXTRA) != 0 || flat->start == flat->end;
}

static bool is_named(const struct wb_matcher *m, uint32_t node)
{
    return (m->tree->nodes[node].flags & WB_FLAT_NAMED) != 0;
}

static uint32_t next_sibling(const struct wb_matcher *m, uint32_t node)
{
    return node + m->tree->nodes[node].size;
}

/* Passes over comments, and over tokens too unless a token of this kind is looked for. */
static uint32_t skip(struct wb_matcher *m, uint32_t t, uint32_t t_end, const TSSymbol *token)
{
    while (t < t_end) {
        if (!is_extra(m, t)) {
            if (is_named(m, t) || (token != NULL && m->tree->nodes[t].kind == *token)) {
                break;
            }
        }
        if (m->tree->nodes[t].start != m->tree->nodes[t].end) {
            mention_not(m, t);
        }
        t = next_sibling(m, t);
    }
    return t;
}

/* The frame that is left of a list when its next pattern node is done, and the tree goes on at t.
 * Finished lists go on above; NO_FRAME: all is matched. UINT32_MAX - 1: something is left over. */
#define LEFT_OVER (UINT32_MAX - 1)

static uint32_t advance(struct wb_matcher *m, uint32_t frame, uint32_t t)
{
    struct frame f = m->frames[frame];
    f.p += m->nodes[f.p].size;
    while (f.p == f.p_end && f.up != NO_FRAME) {
        if (skip(m, t, f.t_end, NULL) != f.t_end) {
            return LEFT_OVER;
        }
        t = f.t_end; /* behind the node whose children these are */
        f = m->frames[f.up];
        f.p += m->nodes[f.p].size;
    }
    return f.p == f.p_end ? NO_FRAME : push_frame(m, f.p, f.p_end, t, f.t_end, f.up);
}

/* A list that is empty on the pattern's side. */
static uint32_t enter(struct wb_matcher *m, uint32_t frame, uint32_t t)
{
    const struct frame f = m->frames[frame];
    uint32_t p = f.p, p_end = f.p + m->nodes[f.p].size;
    uint32_t end = next_sibling(m, t);
    if (p + 1 == p_end) {
        return skip(m, t + 1, end, NULL) == end ? advance(m, frame, end) : LEFT_OVER;
    }
    return push_frame(m, p + 1, p_end, t + 1, end, frame);
}

/* The roots' run ends with the last node that a root has matched. */
static void note_root(struct wb_matcher *m, uint32_t frame, uint32_t last)
{
    if (m->frames[frame].up == NO_FRAME) {
        m->root_last = last;
    }
}

/* --- goals --- */

static uint32_t match_node(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    const TSSymbol *token = p->is_named ? NULL : &p->kind;
    uint32_t t = skip(m, f.t, f.t_end, token);
    if (t >= f.t_end || m->tree->nodes[t].kind != p->kind || is_named(m, t) != p->is_named) {
        return LEFT_OVER;
    }
    note_root(m, frame, t);
    if (p->what == WB_PATTERN_NODE) {
        return m->tree->nodes[t].size > 1 ? enter(m, frame, t) : LEFT_OVER;
    }
    bool fits = p->what == WB_PATTERN_TEXT ? match_text(m, p, t)
                : p->is_named              ? wb_span_equal(text_of(m, t), p->text)
                                           : true;
    return fits ? advance(m, frame, next_sibling(m, t)) : LEFT_OVER;
}

static bool is_postfix(const struct wb_matcher *m, uint32_t node)
{
    return wb_grammar_is_postfix(m->pattern->grammar, m->tree->nodes[node].kind);
}

/* $X as first..last, last being the end that is tried now; shorter runs are left as a choice. */
static uint32_t bind_one(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last)
{
    if (last > first) {
        uint32_t shorter = first;
        for (uint32_t t = first; t < last; t = next_sibling(m, t)) {
            shorter = is_extra(m, t) ? shorter : t;
        }
        push_choice(m, frame, shorter, first);
    }
    note_root(m, frame, last);
    return bind(m, m->nodes[m->frames[frame].p].variable, run_of(m, first, last))
               ? advance(m, frame, next_sibling(m, last))
               : LEFT_OVER;
}

static uint32_t match_one(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    uint32_t first = skip(m, f.t, f.t_end, NULL);
    if (first >= f.t_end || is_postfix(m, first)) {
        return LEFT_OVER;
    }
    uint32_t last = first;
    for (uint32_t t = next_sibling(m, first); t < f.t_end && (is_extra(m, t) || is_postfix(m, t));
         t = next_sibling(m, t)) {
        last = is_extra(m, t) ? last : t;
    }
    return bind_one(m, frame, first, last);
}

/* An owned separator at t: where the tree goes on behind it; UINT32_MAX: it is not there. */
static uint32_t take_separator(const struct wb_matcher *m, uint32_t t, uint32_t t_end,
                               TSSymbol kind)
{
    while (t < t_end && is_extra(m, t)) {
        t = next_sibling(m, t);
    }
    return t < t_end && !is_named(m, t) && m->tree->nodes[t].kind == kind ? next_sibling(m, t)
                                                                          : UINT32_MAX;
}

/* $$$ as the nodes from its place to before `end`. */
static uint32_t bind_many(struct wb_matcher *m, uint32_t frame, uint32_t end)
{
    const struct frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t start = f.t, first = UINT32_MAX, last = UINT32_MAX;
    if (end > start && p->separator_before != 0) {
        start = take_separator(m, start, f.t_end, p->separator_before);
        if (start == UINT32_MAX || start > end) {
            return LEFT_OVER;
        }
    }
    for (uint32_t t = start; t < end; t = next_sibling(m, t)) {
        if (!is_extra(m, t) && is_named(m, t)) {
            first = first == UINT32_MAX ? t : first;
            last = t;
        }
    }
    struct wb_capture capture = {.first = UINT32_MAX, .last = UINT32_MAX};
    if (first != UINT32_MAX) {
        capture = run_of(m, first, last);
        note_root(m, frame, last);
    } else if (end > start || end > f.t) {
        return LEFT_OVER; /* tokens alone are no run; the empty one has been tried */
    } else {
        capture.start = capture.end =
            f.t > 0 ? m->tree->nodes[f.t - 1].end : m->tree->nodes[0].start;
    }
    if (first != UINT32_MAX && p->separator_after != 0) {
        end = take_separator(m, end, f.t_end, p->separator_after);
        if (end == UINT32_MAX) {
            return LEFT_OVER;
        }
    }
    return bind(m, p->variable, capture) ? advance(m, frame, end) : LEFT_OVER;
}

/* Is it the last of its list? Then it takes all that is there. */
static bool is_last(const struct wb_matcher *m, const struct frame *f)
{
    return f->p + m->nodes[f->p].size == f->p_end;
}

/* Tries the run up to before `end`; the next longer one is left as a choice. */
static uint32_t try_many(struct wb_matcher *m, uint32_t frame, uint32_t end)
{
    const struct frame f = m->frames[frame];
    if (end < f.t_end) {
        push_choice(m, frame, next_sibling(m, end), UINT32_MAX);
    }
    return bind_many(m, frame, end);
}

static uint32_t match_many(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    if (is_last(m, &f)) {
        uint32_t end = f.t;
        for (uint32_t t = f.t; t < f.t_end; t = next_sibling(m, t)) {
            end = !is_extra(m, t) && is_named(m, t) ? next_sibling(m, t) : end;
        }
        return bind_many(m, frame, end);
    }
    return try_many(m, frame, f.t);
}

static uint32_t match_goal(struct wb_matcher *m, uint32_t frame)
{
    switch (m->nodes[m->frames[frame].p].what) {
    case WB_PATTERN_ONE:
        return match_one(m, frame);
    case WB_PATTERN_MANY:
        return match_many(m, frame);
    default:
        return match_node(m, frame);
    }
}

/* Goes back to the newest choice; there is one. */
static uint32_t retry(struct wb_matcher *m)
{
    const struct choice choice = m->choices[--m->n_choices];
    undo(m, &choice);
    return m->nodes[m->frames[choice.frame].p].what == WB_PATTERN_MANY
               ? try_many(m, choice.frame, choice.end)
               : bind_one(m, choice.frame, choice.floor, choice.end);
}

/* Matches the rung's roots with siblings from `node` on, of a list that ends at t_end. */
static bool match_at(struct wb_matcher *m, const struct wb_pattern_rung *rung, uint32_t node,
                     uint32_t t_end)
{
    m->nodes = rung->nodes;
    m->n_frames = m->n_choices = m->n_trail = m->n_unmentioned = 0;
    for (size_t i = 0; i < m->pattern->n_variables; i++) {
        m->captures[i].is_bound = false;
    }
    m->root_last = node;
    uint32_t frame = match_goal(m, push_frame(m, 0, rung->count, node, t_end, NO_FRAME));
    for (m->steps = 0; frame != NO_FRAME; m->steps++) {
        if (m->steps > WB_MATCH_STEPS_MAX) {
            m->given_up++;
            return false;
        }
        if (frame != LEFT_OVER) {
            frame = match_goal(m, frame);
        } else if (m->n_choices == 0) {
            return false;
        } else {
            frame = retry(m);
        }
    }
    return true;
}

/* --- the search --- */

void wb_matcher_start(struct wb_matcher *m, const struct wb_flat_tree *tree, struct wb_span source)
{
    m->tree = tree;
    m->source = source;
    m->at = 0;
    m->rung = 0;
    m->n_ends = 0;
    m->given_last = UINT32_MAX;
}

/* Can a match begin here? Said by the first root alone, before anything is set up. */
static bool may_begin(const struct wb_matcher *m, const struct wb_pattern_rung *rung, uint32_t node)
{
    const struct wb_pattern_node *p = &rung->nodes[0];
    const struct wb_flat_node *flat = &m->tree->nodes[node];
    if (p->what == WB_PATTERN_ONE || p->what == WB_PATTERN_MANY) {
        return (flat->flags & (WB_FLAT_NAMED | WB_FLAT_EXTRA)) == WB_FLAT_NAMED && node > 0;
    }
    return flat->kind == p->kind && ((flat->flags & WB_FLAT_NAMED) != 0) == p->is_named;
}

/* The end of the siblings' list that node is in. */
static uint32_t list_end(struct wb_matcher *m, uint32_t node)
{
    while (m->n_ends > 0 && m->ends[m->n_ends - 1] <= node) {
        m->n_ends--;
    }
    return m->n_ends > 0 ? m->ends[m->n_ends - 1] : m->tree->count;
}

static void enter_node(struct wb_matcher *m, uint32_t node)
{
    if (m->tree->nodes[node].size > 1) {
        WB_GROW(m->ends, m->ends_capacity, m->n_ends + 1);
        m->ends[m->n_ends++] = node + m->tree->nodes[node].size;
    }
}

static void give(const struct wb_matcher *m, uint32_t node, size_t rung, struct wb_match *ret)
{
    struct wb_capture whole = run_of(m, node, m->root_last);
    *ret = (struct wb_match){
        .first = node,
        .last = m->root_last,
        .start = whole.start,
        .end = whole.end,
        .captures = m->captures,
        .unmentioned = m->unmentioned,
        .n_unmentioned = m->n_unmentioned,
        .rung = rung,
    };
}

bool wb_matcher_next(struct wb_matcher *m, struct wb_match *ret)
{
    for (; m->at < m->tree->count; m->at++, m->rung = 0, m->given_last = UINT32_MAX) {
        uint32_t end = m->needs_lists ? list_end(m, m->at) : next_sibling(m, m->at);
        while (m->rung < m->pattern->n_rungs) {
            size_t index = m->rung++;
            const struct wb_pattern_rung *rung = &m->pattern->rungs[index];
            if (may_begin(m, rung, m->at) && match_at(m, rung, m->at, end) &&
                m->root_last != m->given_last) {
                m->given_last = m->root_last;
                give(m, m->at, index, ret);
                return true;
            }
        }
        if (m->needs_lists) {
            enter_node(m, m->at);
        }
    }
    return false;
}
