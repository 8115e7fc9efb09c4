/* cards: the queue of a conversation's cards, between those who ask and the surfaces on which a human
 * answers. It is a question port.
 *
 *   asked --no surface attached--> no_operator, at once
 *     |
 *     `-> open -> answered | skipped | timed_out | cancelled
 *
 * Cards are numbered from 1 in the order of asking. They stay open while surfaces come and go; the
 * deadline is the asker's. The first answer wins, and a later one gets an error. An answer is checked
 * against its card: nothing chosen and nothing typed is no answer. Any thread. */
#ifndef WB_RUN_CARDS_H
#define WB_RUN_CARDS_H

#include "run/card.h"
#include "run/transcript.h"

struct wb_cards;

/* Something that shows cards. changed: the queue is not what it was; called from any thread, without
 * the queue's lock; it looks and does not block. */
struct wb_card_surface {
    void (*changed)(void *ctx);
    void *ctx;
    struct wb_card_surface *next; /* the queue's */
};

struct wb_cards *wb_cards_new(void);
/* No asker is waiting, no surface is attached. NULL is allowed. */
void wb_cards_free(struct wb_cards *cards);
const struct wb_question_port *wb_cards_port(struct wb_cards *cards);

/* Cards and answers go to this transcript, each before anybody acts upon it: an answer that a surface
 * shows as taken is not lost. Set before the first card; the transcript outlives the cards. */
void wb_cards_record(struct wb_cards *cards, struct wb_transcript *transcript, const char *run_id);

void wb_cards_attach(struct wb_cards *cards, struct wb_card_surface *surface);
/* Afterwards changed neither runs nor is running. */
void wb_cards_detach(struct wb_cards *cards, struct wb_card_surface *surface);

/* A card as a surface shows it: a copy in the arena. */
struct wb_card_view {
    uint64_t number;
    struct wb_card card;
    int64_t deadline_ms;
};

/* The oldest open card with a number above `after`; false: there is none. */
bool wb_cards_next(struct wb_cards *cards, uint64_t after, struct wb_arena *arena,
                   struct wb_card_view *ret);

/* choices: indices, in any order; text: NULL or what was typed. -1: the card is not open any more, or
 * this is no answer to it, with a sentence for the human. */
WB_MUST_CHECK int wb_cards_answer(struct wb_cards *cards, uint64_t number, const size_t *choices,
                                  size_t n_choices, const char *text, struct wb_error *err);
WB_MUST_CHECK int wb_cards_skip(struct wb_cards *cards, uint64_t number, struct wb_error *err);

/* Reads what a human types in answer to a card: "2", "1 3", "1,3", "skip", a label, or text. */
WB_MUST_CHECK int wb_cards_answer_typed(struct wb_cards *cards, uint64_t number,
                                        const struct wb_card *card, struct wb_span typed,
                                        struct wb_error *err);

#endif
