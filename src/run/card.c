/* card: the port that nobody sits behind. */
#include "run/card.h"

static void ask_nobody(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                       struct wb_cancel *cancel, struct wb_arena *arena, struct wb_card_answer *ret)
{
    (void)ctx;
    (void)card;
    (void)deadline_ms;
    (void)cancel;
    (void)arena;
    *ret = (struct wb_card_answer){.outcome = WB_CARD_NO_OPERATOR};
}

const struct wb_question_port wb_question_port_none = {.ask = ask_nobody};
