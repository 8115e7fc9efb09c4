/* matcher: see the header.
 *
 * Matching is a list of goals. A frame is one list of pattern siblings against one list of tree
 * siblings; frames are immutable and linked upwards, so that a choice point is a frame and a number.
 * A goal that cannot be met goes back to the newest choice point. */
#include "ast/matcher.h"

#include <stdlib.h>
#include <strings.h>

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
    uint32_t first; /* the run's first node; UINT32_MAX: none */
    uint32_t last;  /* $X: the last node of the run to try next */
    uint32_t end;   /* $$$: the node behind the run that was tried */
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
    bool needs_lists;                /* a rung is a run of siblings, or may become one */
    uint32_t at;                     /* the node to try next */
    size_t rung;                     /* the rung to try next there */
    uint32_t given_start, given_end; /* of the last match: the same is not given again */
    uint32_t root_last;              /* last node of the roots' run */
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

static void push_choice(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last,
                        uint32_t end)
{
    WB_GROW(m->choices, m->choices_capacity, m->n_choices + 1);
    m->choices[m->n_choices++] = (struct choice){
        .frame = frame,
        .n_frames = m->n_frames,
        .n_trail = m->n_trail,
        .n_unmentioned = m->n_unmentioned,
        .root_last = m->root_last,
        .first = first,
        .last = last,
        .end = end,
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

/* An end of a statement that the pattern has there too. */
static bool is_optional(const struct wb_matcher *m, uint32_t node, bool is_separated)
{
    return is_separated && wb_grammar_is_optional(m->pattern->grammar, m->tree->nodes[node].kind);
}

/* Passes over comments, and over tokens too unless a token of this kind is looked for. */
static uint32_t skip(struct wb_matcher *m, uint32_t t, uint32_t t_end, const TSSymbol *token,
                     bool is_separated)
{
    while (t < t_end) {
        bool is_end = is_optional(m, t, is_separated);
        if (!is_extra(m, t) && !is_end &&
            (is_named(m, t) || (token != NULL && m->tree->nodes[t].kind == *token))) {
            break;
        }
        if (!is_end && text_of(m, t).len > 0) { /* a line's end says nothing either */
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
        if (skip(m, t, f.t_end, NULL, false) != f.t_end) {
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
        return skip(m, t + 1, end, NULL, false) == end ? advance(m, frame, end) : LEFT_OVER;
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

/* Has what was matched before t ended with this semicolon? */
static bool has_taken(const struct wb_matcher *m, uint32_t t, TSSymbol kind)
{
    return t > 0 && m->tree->nodes[t - 1].kind == kind && wb_span_is(text_of(m, t - 1), ";");
}

/* The `;` of `$A;` where $A is a declaration that has it already. */
static bool is_taken(const struct wb_matcher *m, const struct frame *f)
{
    const struct wb_pattern_node *p = &m->nodes[f->p];
    return !p->is_named && f->p > 0 &&
           (p[-1].what == WB_PATTERN_ONE || p[-1].what == WB_PATTERN_MANY) &&
           has_taken(m, f->t, p->kind);
}

/* Some grammars have nodes with names for their keywords. */
static bool is_keyword(const struct wb_grammar *grammar, TSSymbol kind)
{
    const char *name = ts_language_symbol_name(grammar->parser, kind);
    return name != NULL && wb_str_starts(name, "keyword");
}

static bool same_leaf(const struct wb_matcher *m, const struct wb_pattern_node *p, uint32_t t)
{
    const struct wb_grammar *grammar = m->pattern->grammar;
    struct wb_span text = text_of(m, t);
    return !p->is_named || wb_span_equal(text, p->text) ||
           (grammar->ignores_case && text.len == p->text.len && is_keyword(grammar, p->kind) &&
            strncasecmp(text.ptr, p->text.ptr, text.len) == 0);
}

static uint32_t match_node(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    const TSSymbol *token = p->is_named ? NULL : &p->kind;
    uint32_t n_unmentioned = m->n_unmentioned;
    uint32_t t = skip(m, f.t, f.t_end, token, p->is_separated);
    if (t >= f.t_end || m->tree->nodes[t].kind != p->kind || is_named(m, t) != p->is_named) {
        m->n_unmentioned = n_unmentioned;
        return is_taken(m, &f) ? advance(m, frame, f.t) : LEFT_OVER;
    }
    note_root(m, frame, t);
    if (p->what == WB_PATTERN_NODE) {
        return m->tree->nodes[t].size > 1 ? enter(m, frame, t) : LEFT_OVER;
    }
    bool fits = p->what == WB_PATTERN_TEXT ? match_text(m, p, t) : same_leaf(m, p, t);
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
        push_choice(m, frame, first, shorter, 0);
    }
    note_root(m, frame, last);
    return bind(m, m->nodes[m->frames[frame].p].variable, run_of(m, first, last))
               ? advance(m, frame, next_sibling(m, last))
               : LEFT_OVER;
}

static uint32_t match_one(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    uint32_t first = skip(m, f.t, f.t_end, NULL, m->nodes[f.p].is_separated);
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

/* $$$ as no node at all. One of its separators may be there, if no other run wants it. */
static uint32_t bind_none(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t end = f.t > 0 ? m->tree->nodes[f.t - 1].end : m->tree->nodes[0].start;
    struct wb_capture none = {.first = UINT32_MAX, .last = UINT32_MAX, .start = end, .end = end};
    TSSymbol separator = p->separator_after != 0 ? p->separator_after : p->separator_before;
    if (f.p + 1 < f.p_end && p[1].what == WB_PATTERN_MANY) {
        separator = 0;
    }
    uint32_t behind = separator != 0 ? take_separator(m, f.t, f.t_end, separator) : UINT32_MAX;
    return bind(m, p->variable, none) ? advance(m, frame, behind != UINT32_MAX ? behind : f.t)
                                      : LEFT_OVER;
}

static bool is_member(const struct wb_matcher *m, uint32_t node)
{
    return is_named(m, node) && !is_extra(m, node);
}

static bool is_comment(const struct wb_matcher *m, uint32_t node)
{
    return is_extra(m, node) && m->tree->nodes[node].end > m->tree->nodes[node].start;
}

/* May the nodes be what the $$$ stands for? No clauses; what is in a list's node is that node. */
static bool is_run_of(const struct wb_matcher *m, TSSymbol list, uint32_t first, uint32_t last)
{
    const struct wb_grammar *grammar = m->pattern->grammar;
    uint32_t n = 0;
    for (uint32_t t = first; t <= last; t = next_sibling(m, t)) {
        TSSymbol kind = m->tree->nodes[t].kind;
        if (is_member(m, t) &&
            ((list != 0 && (kind != list || ++n > 1)) || wb_grammar_is_clause(grammar, kind))) {
            return false;
        }
    }
    return true;
}

/* $$$ as first..last, which is not empty; the list goes on at `end`. */
static uint32_t bind_many(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last)
{
    const struct frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t end = next_sibling(m, last);
    bool is_free = p->kind == 0 && m->pattern->grammar->n_clauses == 0;
    if (!is_free && !is_run_of(m, p->kind, first, last)) {
        return LEFT_OVER;
    }
    if (p->separator_after != 0) {
        uint32_t behind = take_separator(m, end, f.t_end, p->separator_after);
        if (behind == UINT32_MAX && !has_taken(m, end, p->separator_after)) {
            return LEFT_OVER;
        }
        end = behind != UINT32_MAX ? behind : end;
    }
    note_root(m, frame, last);
    return bind(m, p->variable, run_of(m, first, last)) ? advance(m, frame, end) : LEFT_OVER;
}

/* The first node that the run of a $$$ may have: behind its separator, which a run needs. */
static uint32_t run_start(const struct wb_matcher *m, const struct frame *f)
{
    TSSymbol separator = m->nodes[f->p].separator_before;
    return separator != 0 ? take_separator(m, f->t, f->t_end, separator) : f->t;
}

/* The number of nodes that the rest of the list behind the $$$ must leave to others; UINT32_MAX: that
 * is not one number. */
static uint32_t count_behind(const struct wb_matcher *m, const struct frame *f)
{
    uint32_t n = 0;
    for (uint32_t p = f->p + m->nodes[f->p].size; p < f->p_end; p += m->nodes[p].size) {
        bool is_open = m->nodes[p].what == WB_PATTERN_MANY ||
                       (m->nodes[p].what == WB_PATTERN_ONE && m->pattern->grammar->n_postfix > 0);
        if (is_open) {
            return UINT32_MAX;
        }
        n += m->nodes[p].is_named;
    }
    /* The roots need not take their whole list; at their end a run takes all that it may. */
    const struct wb_pattern_node *run = &m->nodes[f->p];
    bool is_bound = run->variable != WB_PATTERN_UNBOUND && m->captures[run->variable].is_bound;
    bool is_free = f->up == NO_FRAME && (f->p + run->size < f->p_end || run->kind != 0 ||
                                         run->separator_after != 0 || is_bound);
    return is_free ? UINT32_MAX : n;
}

/* There is only one run that leaves n_behind nodes to the rest. Comments around it go with it; with
 * nothing but comments it is a run only where no separator is wanted. */
static uint32_t match_rest(struct wb_matcher *m, uint32_t frame, uint32_t n_behind)
{
    const struct frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t n = 0, first = UINT32_MAX, last = UINT32_MAX;
    for (uint32_t t = f.t; t < f.t_end; t = next_sibling(m, t)) {
        n += is_member(m, t);
    }
    m->steps += n / 8;
    if (n < n_behind) {
        return LEFT_OVER;
    }
    bool needs_node = p->separator_before != 0 || p->separator_after != 0 || f.up == NO_FRAME;
    if (n == n_behind && needs_node) {
        return bind_none(m, frame);
    }
    uint32_t n_before = n;
    for (uint32_t t = run_start(m, &f); t < f.t_end; t = next_sibling(m, t)) {
        bool is_one = is_member(m, t);
        bool is_end = f.up == NO_FRAME && is_one &&
                      wb_grammar_is_clause(m->pattern->grammar, m->tree->nodes[t].kind);
        if ((n == n_behind && !is_comment(m, t)) || is_end) {
            break;
        }
        bool follows = first == UINT32_MAX || next_sibling(m, last) == t;
        if (n == n_before && !follows) {
            first = UINT32_MAX; /* comments in front of a token */
        }
        if (is_one || (is_comment(m, t) && (follows || first == UINT32_MAX))) {
            first = first == UINT32_MAX ? t : first;
            last = t;
        }
        n -= is_one;
    }
    bool is_none = first == UINT32_MAX || (n == n_before && needs_node);
    return is_none ? bind_none(m, frame) : bind_many(m, frame, first, last);
}

/* The run that is longer than the one from `first` to before `end` by the next node. */
static uint32_t try_longer(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t end)
{
    uint32_t t = end, t_end = m->frames[frame].t_end;
    bool is_new = first == UINT32_MAX;
    while (t < t_end && !is_member(m, t)) {
        if (is_new) {
            first = !is_comment(m, t) ? UINT32_MAX : first == UINT32_MAX ? t : first;
        }
        t = next_sibling(m, t);
    }
    if (t >= t_end) {
        return LEFT_OVER;
    }
    first = first == UINT32_MAX ? t : first;
    push_choice(m, frame, first, t, next_sibling(m, t));
    return bind_many(m, frame, first, t);
}

static uint32_t match_many(struct wb_matcher *m, uint32_t frame)
{
    const struct frame f = m->frames[frame];
    uint32_t n_behind = count_behind(m, &f);
    if (n_behind != UINT32_MAX) {
        return match_rest(m, frame, n_behind);
    }
    uint32_t start = run_start(m, &f);
    if (start != UINT32_MAX) {
        push_choice(m, frame, UINT32_MAX, UINT32_MAX, start);
    }
    return bind_none(m, frame);
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
               ? try_longer(m, choice.frame, choice.first, choice.end)
               : bind_one(m, choice.frame, choice.first, choice.last);
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
    m->steps = 0;
    uint32_t frame = match_goal(m, push_frame(m, 0, rung->count, node, t_end, NO_FRAME));
    for (; frame != NO_FRAME; m->steps++) {
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
    m->given_start = m->given_end = UINT32_MAX;
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

static bool give(struct wb_matcher *m, uint32_t node, size_t rung, struct wb_match *ret)
{
    struct wb_capture whole = run_of(m, node, m->root_last);
    if (whole.start == m->given_start && whole.end == m->given_end) {
        return false;
    }
    m->given_start = whole.start;
    m->given_end = whole.end;
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
    return true;
}

bool wb_matcher_next(struct wb_matcher *m, struct wb_match *ret)
{
    for (; m->at < m->tree->count; m->at++, m->rung = 0) {
        uint32_t end = m->needs_lists ? list_end(m, m->at) : next_sibling(m, m->at);
        while (m->rung < m->pattern->n_rungs) {
            size_t index = m->rung++;
            const struct wb_pattern_rung *rung = &m->pattern->rungs[index];
            if (may_begin(m, rung, m->at) && match_at(m, rung, m->at, end) &&
                give(m, m->at, index, ret)) {
                return true;
            }
        }
        if (m->needs_lists) {
            enter_node(m, m->at);
        }
    }
    return false;
}
