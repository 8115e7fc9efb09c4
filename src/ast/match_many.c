/* match_many: the runs that a $$$ may stand for.
 *
 * Where the rest of the list says how many nodes are left to the run there is only one; else runs are
 * tried from the shortest on. */
#include "ast/match_state.h"

/* An owned separator at t: where the tree goes on behind it; UINT32_MAX: it is not there. */
static uint32_t take_separator(const struct wb_matcher *m, uint32_t t, uint32_t t_end,
                               TSSymbol kind)
{
    while (t < t_end && wb_match_is_extra(m, t)) {
        t = wb_match_next(m, t);
    }
    return t < t_end && !wb_match_is_named(m, t) && m->tree->nodes[t].kind == kind
               ? wb_match_next(m, t)
               : UINT32_MAX;
}

/* $$$ as no node at all. One of its separators may be there, if nothing else wants it. */
static uint32_t bind_none(struct wb_matcher *m, uint32_t frame)
{
    const struct wb_match_frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t end = f.t > 0 ? m->tree->nodes[f.t - 1].end : m->tree->nodes[0].start;
    struct wb_capture none = {.first = UINT32_MAX, .last = UINT32_MAX, .start = end, .end = end};
    TSSymbol separator = p->separator_after != 0 ? p->separator_after : p->separator_before;
    bool is_wanted = f.p + 1 < f.p_end &&
                     (p[1].what == WB_PATTERN_MANY || (!p[1].is_named && p[1].kind == separator));
    separator = is_wanted ? 0 : separator;
    uint32_t behind = separator != 0 ? take_separator(m, f.t, f.t_end, separator) : UINT32_MAX;
    return wb_match_bind(m, p->variable, none)
               ? wb_match_advance(m, frame, behind != UINT32_MAX ? behind : f.t)
               : WB_MATCH_LEFT_OVER;
}

static bool is_member(const struct wb_matcher *m, uint32_t node)
{
    return wb_match_is_named(m, node) && !wb_match_is_extra(m, node);
}

static bool is_comment(const struct wb_matcher *m, uint32_t node)
{
    return wb_match_is_extra(m, node) && m->tree->nodes[node].end > m->tree->nodes[node].start;
}

/* May the nodes be what the $$$ stands for? No clauses; what is in a list's node is that node. */
static bool is_run_of(const struct wb_matcher *m, TSSymbol list, uint32_t first, uint32_t last)
{
    const struct wb_grammar *grammar = m->pattern->grammar;
    uint32_t n = 0;
    for (uint32_t t = first; t <= last; t = wb_match_next(m, t)) {
        TSSymbol kind = m->tree->nodes[t].kind;
        if (is_member(m, t) &&
            ((list != 0 && (kind != list || ++n > 1)) || wb_kinds_have(grammar->clauses, kind))) {
            return false;
        }
    }
    return true;
}

/* $$$ as first..last, which is not empty; the list goes on at `end`. */
static uint32_t bind_many(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last)
{
    const struct wb_match_frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t end = wb_match_next(m, last);
    bool is_free = p->kind == 0 && m->pattern->grammar->clauses.n == 0;
    if (!is_free && !is_run_of(m, p->kind, first, last)) {
        return WB_MATCH_LEFT_OVER;
    }
    if (p->separator_after != 0) {
        uint32_t behind = take_separator(m, end, f.t_end, p->separator_after);
        if (behind == UINT32_MAX && !wb_match_has_taken(m, end, p->separator_after)) {
            return WB_MATCH_LEFT_OVER;
        }
        end = behind != UINT32_MAX ? behind : end;
    }
    wb_match_note_root(m, frame, last);
    return wb_match_bind(m, p->variable, wb_match_run_of(m, first, last))
               ? wb_match_advance(m, frame, end)
               : WB_MATCH_LEFT_OVER;
}

/* The first node that the run of a $$$ may have: behind its separator, which a run needs. */
static uint32_t run_start(const struct wb_matcher *m, const struct wb_match_frame *f)
{
    TSSymbol separator = m->nodes[f->p].separator_before;
    return separator != 0 ? take_separator(m, f->t, f->t_end, separator) : f->t;
}

/* The number of nodes that the rest of the list behind the $$$ must leave to others; UINT32_MAX: that
 * is not one number. */
static uint32_t count_behind(const struct wb_matcher *m, const struct wb_match_frame *f)
{
    uint32_t n = 0;
    for (uint32_t p = f->p + m->nodes[f->p].size; p < f->p_end; p += m->nodes[p].size) {
        bool is_open = m->nodes[p].what == WB_PATTERN_MANY ||
                       (m->nodes[p].what == WB_PATTERN_ONE && m->pattern->grammar->postfix.n > 0);
        if (is_open) {
            return UINT32_MAX;
        }
        n += m->nodes[p].is_named;
    }
    /* The roots need not take their whole list; at their end a run takes all that it may. */
    const struct wb_pattern_node *run = &m->nodes[f->p];
    bool is_bound = run->variable != WB_PATTERN_UNBOUND && m->captures[run->variable].is_bound;
    bool is_free = f->up == WB_MATCH_NO_FRAME && (f->p + run->size < f->p_end || run->kind != 0 ||
                                                  run->separator_after != 0 || is_bound);
    return is_free ? UINT32_MAX : n;
}

/* There is only one run that leaves n_behind nodes to the rest. Comments around it go with it; with
 * nothing but comments it is a run only where no separator is wanted. */
static uint32_t match_rest(struct wb_matcher *m, uint32_t frame, uint32_t n_behind)
{
    const struct wb_match_frame f = m->frames[frame];
    const struct wb_pattern_node *p = &m->nodes[f.p];
    uint32_t n = 0, first = UINT32_MAX, last = UINT32_MAX;
    for (uint32_t t = f.t; t < f.t_end; t = wb_match_next(m, t)) {
        n += is_member(m, t);
    }
    m->steps += n / 8;
    if (n < n_behind) {
        return WB_MATCH_LEFT_OVER;
    }
    bool needs_node =
        p->separator_before != 0 || p->separator_after != 0 || f.up == WB_MATCH_NO_FRAME;
    if (n == n_behind && needs_node) {
        return bind_none(m, frame);
    }
    uint32_t n_before = n;
    for (uint32_t t = run_start(m, &f); t < f.t_end; t = wb_match_next(m, t)) {
        bool is_one = is_member(m, t);
        bool is_end = f.up == WB_MATCH_NO_FRAME && is_one &&
                      wb_kinds_have(m->pattern->grammar->clauses, m->tree->nodes[t].kind);
        if ((n == n_behind && !is_comment(m, t)) || is_end) {
            break;
        }
        bool follows = first == UINT32_MAX || wb_match_next(m, last) == t;
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
uint32_t wb_match_longer(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t end)
{
    uint32_t t = end, t_end = m->frames[frame].t_end;
    bool is_new = first == UINT32_MAX;
    while (t < t_end && !is_member(m, t)) {
        if (is_new) {
            first = !is_comment(m, t) ? UINT32_MAX : first == UINT32_MAX ? t : first;
        }
        t = wb_match_next(m, t);
    }
    if (t >= t_end) {
        return WB_MATCH_LEFT_OVER;
    }
    first = first == UINT32_MAX ? t : first;
    wb_match_push_choice(m, frame, first, t, wb_match_next(m, t));
    return bind_many(m, frame, first, t);
}

uint32_t wb_match_many(struct wb_matcher *m, uint32_t frame)
{
    const struct wb_match_frame f = m->frames[frame];
    uint32_t n_behind = count_behind(m, &f);
    if (n_behind != UINT32_MAX) {
        return match_rest(m, frame, n_behind);
    }
    uint32_t start = run_start(m, &f);
    if (start != UINT32_MAX) {
        wb_match_push_choice(m, frame, UINT32_MAX, UINT32_MAX, start);
    }
    return bind_none(m, frame);
}
