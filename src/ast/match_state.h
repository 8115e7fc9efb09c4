/* match_state: what the files of the matcher share.
 *
 * Matching is a list of goals. A frame is one list of pattern siblings against one list of tree
 * siblings; frames are immutable and linked upwards, so that a choice point is a frame and a number.
 * A goal that cannot be met goes back to the newest choice point. */
#ifndef WB_AST_MATCH_STATE_H
#define WB_AST_MATCH_STATE_H

#include "ast/matcher.h"

#define WB_MATCH_NO_FRAME UINT32_MAX        /* all is matched */
#define WB_MATCH_LEFT_OVER (UINT32_MAX - 1) /* it does not fit */

struct wb_match_frame {
    uint32_t p, p_end; /* pattern nodes that are left of this list */
    uint32_t t, t_end; /* tree nodes that are left */
    uint32_t up;       /* the list that this one is inside; WB_MATCH_NO_FRAME: the roots */
};

/* Where the search goes on after a failure. */
struct wb_match_choice {
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
    uint32_t lent; /* its semicolon that the context has lent; UINT32_MAX: none */
    const struct wb_flat_tree *tree;
    struct wb_span source;
    struct wb_capture *captures;
    struct wb_match_frame *frames;
    uint32_t n_frames, frames_capacity;
    struct wb_match_choice *choices;
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

static inline bool wb_match_is_extra(const struct wb_matcher *m, uint32_t node)
{
    const struct wb_flat_node *flat = &m->tree->nodes[node];
    return (flat->flags & WB_FLAT_EXTRA) != 0 || flat->start == flat->end;
}

static inline bool wb_match_is_named(const struct wb_matcher *m, uint32_t node)
{
    return (m->tree->nodes[node].flags & WB_FLAT_NAMED) != 0;
}

static inline uint32_t wb_match_next(const struct wb_matcher *m, uint32_t node)
{
    return node + m->tree->nodes[node].size;
}

struct wb_span wb_match_text_of(const struct wb_matcher *m, uint32_t node);
/* The nodes first..last and what is below them. */
struct wb_capture wb_match_run_of(const struct wb_matcher *m, uint32_t first, uint32_t last);
/* False: the variable stands for something else already. */
bool wb_match_bind(struct wb_matcher *m, uint16_t variable, struct wb_capture capture);
bool wb_match_text(struct wb_matcher *m, const struct wb_pattern_node *p, uint32_t node);

uint32_t wb_match_push_frame(struct wb_matcher *m, uint32_t p, uint32_t p_end, uint32_t t,
                             uint32_t t_end, uint32_t up);
void wb_match_push_choice(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t last,
                          uint32_t end);
void wb_match_undo(struct wb_matcher *m, const struct wb_match_choice *choice);
/* Passes over comments, and over tokens too unless a token of this kind is looked for. */
uint32_t wb_match_skip(struct wb_matcher *m, uint32_t t, uint32_t t_end, const TSSymbol *token,
                       bool is_separated);
/* These return the frame to go on with, WB_MATCH_NO_FRAME or WB_MATCH_LEFT_OVER. advance: behind the
 * frame's next pattern node, with the tree at t; enter: into node t. */
uint32_t wb_match_advance(struct wb_matcher *m, uint32_t frame, uint32_t t);
uint32_t wb_match_enter(struct wb_matcher *m, uint32_t frame, uint32_t t);
void wb_match_note_root(struct wb_matcher *m, uint32_t frame, uint32_t last);
/* Has what was matched before t ended with this semicolon? */
bool wb_match_has_taken(const struct wb_matcher *m, uint32_t t, TSSymbol kind);

/* $$$, and the run that is longer than the one from `first` to before `end`. */
uint32_t wb_match_many(struct wb_matcher *m, uint32_t frame);
uint32_t wb_match_longer(struct wb_matcher *m, uint32_t frame, uint32_t first, uint32_t end);

#endif
