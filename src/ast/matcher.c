/* matcher: see the header, and match_state.h for how it works. */
#include "ast/matcher.h"

#include <stdlib.h>
#include <strings.h>

#include "ast/match_state.h"

/* May a match of the rung be more than one node? */
static bool is_run(const struct wb_pattern *pattern, const struct wb_pattern_rung *rung)
{
    return rung->n_roots > 1 ||
           (rung->nodes[0].what != WB_PATTERN_NODE && rung->nodes[0].what != WB_PATTERN_LEAF &&
            rung->nodes[0].what != WB_PATTERN_TEXT && pattern->grammar->postfix.n > 0);
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

/* --- goals --- */

/* The `;` of `$A;` where $A is a declaration that has it already; one that the text of the pattern
 * does not have need not stand behind a body either. */
static bool is_taken(const struct wb_matcher *m, const struct wb_match_frame *f)
{
    const struct wb_pattern_node *p = &m->nodes[f->p];
    bool is_behind_body =
        f->p == m->lent && f->t > 0 && wb_span_is(wb_match_text_of(m, f->t - 1), "}");
    return !p->is_named && f->p > 0 &&
           (p[-1].what == WB_PATTERN_ONE || p[-1].what == WB_PATTERN_MANY) &&
           (is_behind_body || wb_match_has_taken(m, f->t, p->kind));
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
    struct wb_span text = wb_match_text_of(m, t);
    return !p->is_named || wb_span_equal(text, p->text) ||
           (grammar->ignores_case && text.len == p->text.len && is_keyword(grammar, p->kind) &&
            strncasecmp(text.ptr, p->text.ptr, text.len) == 0);
}

static uint32_t match_node(struct wb_matcher *m, uint32_t frame)
{
    const struct wb_match_frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    const TSSymbol *token = p->is_named ? NULL : &p->kind;
    uint32_t n_unmentioned = m->n_unmentioned;
    uint32_t t = wb_match_skip(m, f.t, f.t_end, token, p->is_separated);
    if (t >= f.t_end || m->tree->nodes[t].kind != p->kind ||
        wb_match_is_named(m, t) != p->is_named) {
        m->n_unmentioned = n_unmentioned;
        return is_taken(m, &f) ? wb_match_advance(m, frame, f.t) : WB_MATCH_LEFT_OVER;
    }
    wb_match_note_root(m, frame, t);
    if (p->what == WB_PATTERN_NODE) {
        return m->tree->nodes[t].size > 1 ? wb_match_enter(m, frame, t) : WB_MATCH_LEFT_OVER;
    }
    bool fits = p->what == WB_PATTERN_TEXT ? wb_match_text(m, p, t) : same_leaf(m, p, t);
    return fits ? wb_match_advance(m, frame, wb_match_next(m, t)) : WB_MATCH_LEFT_OVER;
}

static bool is_postfix(const struct wb_matcher *m, uint32_t node)
{
    return wb_kinds_have(m->pattern->grammar->postfix, m->tree->nodes[node].kind);
}

/* $X as first..last, last being the end that is tried now; shorter runs are left as a choice. */
static uint32_t bind_one(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last)
{
    if (last > first) {
        uint32_t shorter = first;
        for (uint32_t t = first; t < last; t = wb_match_next(m, t)) {
            shorter = wb_match_is_extra(m, t) ? shorter : t;
        }
        wb_match_push_choice(m, frame, first, shorter, 0);
    }
    wb_match_note_root(m, frame, last);
    return wb_match_bind(m, m->nodes[m->frames[frame].p].variable, wb_match_run_of(m, first, last))
               ? wb_match_advance(m, frame, wb_match_next(m, last))
               : WB_MATCH_LEFT_OVER;
}

/* Words and operators between what the pattern names and its $X say what $X is: `yield $X` is no
 * `yield from`, `var $X $T` no `var x = 1`. Brackets and separators are layout, a run leaves out
 * what it likes, and what stands in front of a list's first node goes with the node (`async`). */
static bool is_another(const struct wb_matcher *m, const struct wb_match_frame *f, uint32_t first)
{
    uint32_t p_first = f->up == WB_MATCH_NO_FRAME ? 0 : m->frames[f->up].p + 1;
    if (f->p == p_first || m->nodes[f->p - 1].what == WB_PATTERN_MANY) {
        return false;
    }
    for (uint32_t t = f->t; t < first; t = wb_match_next(m, t)) {
        struct wb_span text = wb_match_text_of(m, t);
        if (!wb_match_is_extra(m, t) && text.len > 0 && strchr("([{,;\n", text.ptr[0]) == NULL) {
            return true;
        }
    }
    return false;
}

static uint32_t match_one(struct wb_matcher *m, uint32_t frame)
{
    const struct wb_match_frame f = m->frames[frame];
    uint32_t first = wb_match_skip(m, f.t, f.t_end, NULL, m->nodes[f.p].is_separated);
    if (first >= f.t_end || is_postfix(m, first) || is_another(m, &f, first)) {
        return WB_MATCH_LEFT_OVER;
    }
    uint32_t last = first;
    for (uint32_t t = wb_match_next(m, first);
         t < f.t_end && (wb_match_is_extra(m, t) || is_postfix(m, t)); t = wb_match_next(m, t)) {
        last = wb_match_is_extra(m, t) ? last : t;
    }
    return bind_one(m, frame, first, last);
}

static uint32_t match_goal(struct wb_matcher *m, uint32_t frame)
{
    switch (m->nodes[m->frames[frame].p].what) {
    case WB_PATTERN_ONE:
        return match_one(m, frame);
    case WB_PATTERN_MANY:
        return wb_match_many(m, frame);
    default:
        return match_node(m, frame);
    }
}

/* Goes back to the newest choice; there is one. */
static uint32_t retry(struct wb_matcher *m)
{
    const struct wb_match_choice choice = m->choices[--m->n_choices];
    wb_match_undo(m, &choice);
    return m->nodes[m->frames[choice.frame].p].what == WB_PATTERN_MANY
               ? wb_match_longer(m, choice.frame, choice.first, choice.end)
               : bind_one(m, choice.frame, choice.first, choice.last);
}

/* Matches the rung's roots with siblings from `node` on, of a list that ends at t_end. */
static bool match_at(struct wb_matcher *m, const struct wb_pattern_rung *rung, uint32_t node,
                     uint32_t t_end)
{
    m->nodes = rung->nodes;
    m->lent = rung->is_lent ? rung->count - 1 : UINT32_MAX;
    m->n_frames = m->n_choices = m->n_trail = m->n_unmentioned = 0;
    for (size_t i = 0; i < m->pattern->n_variables; i++) {
        m->captures[i].is_bound = false;
    }
    m->root_last = node;
    m->steps = 0;
    uint32_t frame =
        match_goal(m, wb_match_push_frame(m, 0, rung->count, node, t_end, WB_MATCH_NO_FRAME));
    for (; frame != WB_MATCH_NO_FRAME; m->steps++) {
        if (m->steps > WB_MATCH_STEPS_MAX) {
            m->given_up++;
            return false;
        }
        if (frame != WB_MATCH_LEFT_OVER) {
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
    struct wb_capture whole = wb_match_run_of(m, node, m->root_last);
    bool is_same = whole.start == m->given_start && whole.end == m->given_end;
    /* A $$$ in front has begun as early as it can: the rest of its run is no match more. */
    bool is_rest = m->pattern->rungs[rung].nodes[0].what == WB_PATTERN_MANY &&
                   whole.start > m->given_start && whole.end == m->given_end;
    if (is_same || is_rest) {
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
        uint32_t end = m->needs_lists ? list_end(m, m->at) : wb_match_next(m, m->at);
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
