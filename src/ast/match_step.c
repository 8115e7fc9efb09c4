/* match_step: where a search stands, how it goes on and how it goes back. */
#include "ast/match_state.h"

uint32_t wb_match_push_frame(struct wb_matcher *m, uint32_t p, uint32_t p_end, uint32_t t,
                             uint32_t t_end, uint32_t up)
{
    WB_GROW(m->frames, m->frames_capacity, m->n_frames + 1);
    m->frames[m->n_frames] = (struct wb_match_frame){p, p_end, t, t_end, up};
    return m->n_frames++;
}

void wb_match_push_choice(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last,
                          uint32_t end)
{
    WB_GROW(m->choices, m->choices_capacity, m->n_choices + 1);
    m->choices[m->n_choices++] = (struct wb_match_choice){
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

void wb_match_undo(struct wb_matcher *m, const struct wb_match_choice *choice)
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

/* An end of a statement that the pattern has there too. */
static bool is_optional(const struct wb_matcher *m, uint32_t node, bool is_separated)
{
    return is_separated && wb_kinds_have(m->pattern->grammar->optional, m->tree->nodes[node].kind);
}

/* Passes over comments, and over tokens too unless a token of this kind is looked for. */
uint32_t wb_match_skip(struct wb_matcher *m, uint32_t t, uint32_t t_end, const TSSymbol *token,
                       bool is_separated)
{
    while (t < t_end) {
        bool is_end = is_optional(m, t, is_separated);
        if (!wb_match_is_extra(m, t) && !is_end &&
            (wb_match_is_named(m, t) || (token != NULL && m->tree->nodes[t].kind == *token))) {
            break;
        }
        if (!is_end && wb_match_text_of(m, t).len > 0) { /* a line's end says nothing either */
            mention_not(m, t);
        }
        t = wb_match_next(m, t);
    }
    return t;
}

/* The frame that is left of a list when its next pattern node is done and the tree goes on at t.
 * Finished lists go on above. */
uint32_t wb_match_advance(struct wb_matcher *m, uint32_t frame, uint32_t t)
{
    struct wb_match_frame f = m->frames[frame];
    f.p += m->nodes[f.p].size;
    while (f.p == f.p_end && f.up != WB_MATCH_NO_FRAME) {
        if (wb_match_skip(m, t, f.t_end, NULL, false) != f.t_end) {
            return WB_MATCH_LEFT_OVER;
        }
        t = f.t_end; /* behind the node whose children these are */
        f = m->frames[f.up];
        f.p += m->nodes[f.p].size;
    }
    return f.p == f.p_end ? WB_MATCH_NO_FRAME
                          : wb_match_push_frame(m, f.p, f.p_end, t, f.t_end, f.up);
}

/* An empty list is done at once. */
uint32_t wb_match_enter(struct wb_matcher *m, uint32_t frame, uint32_t t)
{
    const struct wb_match_frame f = m->frames[frame];
    uint32_t p = f.p, p_end = f.p + m->nodes[f.p].size;
    uint32_t end = wb_match_next(m, t);
    if (p + 1 == p_end) {
        return wb_match_skip(m, t + 1, end, NULL, false) == end ? wb_match_advance(m, frame, end)
                                                                : WB_MATCH_LEFT_OVER;
    }
    return wb_match_push_frame(m, p + 1, p_end, t + 1, end, frame);
}

/* The roots' run ends with the last node that a root has matched. */
void wb_match_note_root(struct wb_matcher *m, uint32_t frame, uint32_t last)
{
    if (m->frames[frame].up == WB_MATCH_NO_FRAME) {
        m->root_last = last;
    }
}

/* Has what was matched before t ended with this semicolon? */
bool wb_match_has_taken(const struct wb_matcher *m, uint32_t t, TSSymbol kind)
{
    return t > 0 && m->tree->nodes[t - 1].kind == kind &&
           wb_span_is(wb_match_text_of(m, t - 1), ";");
}
