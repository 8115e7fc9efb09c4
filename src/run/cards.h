/* cards: the queue of a conversation's cards, between those who ask and the surfaces on which a human
 * answers. It is a question port.
 *
 *   asked --no surface attached, or none that can show it--> no_operator, at once
 *     |
 *     `-> open -> answered | skipped | timed_out | cancelled
 *
 * A card has an id, which no other card of any queue has, and a number, which counts the queue's cards
 * from 1. It stays open while surfaces come and go; the deadline is the asker's. The first answer wins,
 * and a later one gets an error. An answer is checked against its card (wb_card_check_answer), and it is
 * in the transcript on the disk before the surface hears that it was taken and before the asker goes on.
 * Any thread. */
#ifndef WB_RUN_CARDS_H
#define WB_RUN_CARDS_H

#include "run/card.h"

struct wb_cards;

/* A card as surfaces see it. */
struct wb_card_view {
    const char *id; /* [0-9a-f-]+ */
    uint64_t number;
    struct wb_card card;
    int64_t deadline_ms;
};

/* A copy in the arena, for a surface that keeps it. */
void wb_card_view_copy(struct wb_arena *arena, const struct wb_card_view *from,
                       struct wb_card_view *ret);

/* Something that shows cards. Each card is added once and then ended once, in this order, cards in the
 * order of their numbers. The callbacks run on any thread, one at a time, without the queue's lock:
 * they may look and answer, but not block, attach or detach. What they are given is theirs until they
 * return. */
struct wb_card_surface {
    void (*added)(void *ctx, const struct wb_card_view *card);
    /* However it ended: also by an answer of this surface's own. */
    void (*ended)(void *ctx, const struct wb_card_view *card, const struct wb_card_answer *answer);
    void *ctx;
    /* The queue's: */
    struct wb_card_surface *next;
    uint64_t last_number; /* added last */
};

struct wb_cards *wb_cards_new(void);
/* No asker is waiting, no surface is attached. NULL is allowed. */
void wb_cards_free(struct wb_cards *cards);
/* Attended means that a surface is attached, or was: one that comes back finds its tools. */
const struct wb_question_port *wb_cards_port(struct wb_cards *cards);

/* Cards that are open are added at once. */
void wb_cards_attach(struct wb_cards *cards, struct wb_card_surface *surface);
/* Afterwards no callback runs. Open cards stay open. */
void wb_cards_detach(struct wb_cards *cards, struct wb_card_surface *surface);

/* The oldest open card with a number above `after`, a copy in the arena; false: there is none. */
bool wb_cards_next(struct wb_cards *cards, uint64_t after, struct wb_arena *arena,
                   struct wb_card_view *ret);

/* choices: indices, in any order; text: NULL or what was typed. -1: the card is not open any more, or
 * this is no answer to it, with a sentence for the human. */
WB_MUST_CHECK int wb_cards_answer(struct wb_cards *cards, const char *id, const size_t *choices,
                                  size_t n_choices, const char *text, struct wb_error *err);
/* No answer to a question; no to an approval. */
WB_MUST_CHECK int wb_cards_skip(struct wb_cards *cards, const char *id, struct wb_error *err);
/* Reads what a human types in answer to a card: "2", "#2", "1 3", "1,3", "skip", a label, or text. */
WB_MUST_CHECK int wb_cards_answer_typed(struct wb_cards *cards, const char *id,
                                        struct wb_span typed, struct wb_error *err);

/* This surface cannot show the card after all: with no other attached it ends as no_operator. Not from
 * a callback. */
void wb_cards_cannot_show(struct wb_cards *cards, const struct wb_card_surface *surface,
                          const char *id);

#endif
