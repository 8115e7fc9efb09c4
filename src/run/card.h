/* card: a question or an approval, and the port through which a human sees and answers it.
 *
 * The interface only. Surfaces implement a port; tools and the gate ask through the run. The
 * deadline belongs to the asker, not to the screen: ask returns at the deadline or on cancel. */
#ifndef WB_RUN_CARD_H
#define WB_RUN_CARD_H

#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/text.h"

struct wb_transcript;

enum wb_card_kind { WB_CARD_QUESTION, WB_CARD_APPROVAL };

struct wb_card_option {
    const char *label;
    const char *description; /* may be NULL */
};

struct wb_card {
    enum wb_card_kind kind;
    const char *question; /* for an approval: "Allow shell: rm -r build?" */
    const char *context;  /* may be NULL */
    const struct wb_card_option *options;
    size_t n_options;
    bool allow_free_text, multi_select;
    size_t refusal; /* of an approval: the option that says no */
    /* Filled in by wb_call_ask: */
    const char *origin; /* who asks, for people: "bridge", "worker tests"; never NULL then */
    const char *run_id;
    const void *caller; /* the call's options->ctx: tells a surface whose call it is */
    struct wb_transcript *transcript; /* where card and answer are written down */
};

enum wb_card_outcome {
    WB_CARD_ANSWERED,
    WB_CARD_SKIPPED,
    WB_CARD_TIMED_OUT,
    WB_CARD_NO_OPERATOR, /* nobody is attached: at once, never after a wait */
    WB_CARD_CANCELLED,
};

struct wb_card_answer {
    enum wb_card_outcome outcome;
    size_t *choices; /* indices into options, ascending; in the arena */
    size_t n_choices;
    const char *text; /* free text, or NULL */
};

struct wb_question_port {
    /* Blocks until an outcome. Any thread, several at once: cards queue in the port. */
    void (*ask)(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                struct wb_cancel *cancel, struct wb_arena *arena, struct wb_card_answer *ret);
    void *ctx;
    /* Is there somebody to ask? Decides whether ask_user is on the surface. NULL: always. */
    bool (*is_attended)(void *ctx);
    bool records; /* it writes cards and answers to the transcript itself */
};

const char *wb_card_outcome_name(enum wb_card_outcome outcome); /* "answered", "timed_out" */

/* Is this an answer to the card? Nothing chosen and nothing typed is none, nor is more than one option
 * where one is asked for, an option that the card lacks, or text where it takes none. -1: a sentence for
 * the human. */
WB_MUST_CHECK int wb_card_check_answer(const struct wb_card *card, const size_t *choices,
                                       size_t n_choices, const char *text, struct wb_error *err);

/* Cards and answers as members of a transcript's event, without braces. */
void wb_card_put_members(struct wb_text *out, uint64_t number, const struct wb_card *card);
void wb_card_answer_put_members(struct wb_text *out, uint64_t number, const struct wb_card *card,
                                const struct wb_card_answer *answer);

/* The port that nobody sits behind: WB_CARD_NO_OPERATOR for everything. */
extern const struct wb_question_port wb_question_port_none;

#endif
