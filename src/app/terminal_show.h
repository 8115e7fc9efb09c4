/* terminal_show: what the terminal surface prints: results, cards, help. Knows no input. */
#ifndef WB_APP_TERMINAL_SHOW_H
#define WB_APP_TERMINAL_SHOW_H

#include "app/attachment.h"
#include "run/cards.h"
#include "run/run.h"

struct wb_terminal_style {
    bool has_colour;
    enum wb_picture_protocol pictures;
};

void wb_terminal_show_result(const struct wb_terminal_style *style, const struct wb_run *run,
                             unsigned *n_saved, struct wb_result *result, struct wb_text *out);
/* The card, its options numbered from 1. */
void wb_terminal_show_card(const struct wb_terminal_style *style, const struct wb_card_view *view,
                           struct wb_text *out);
/* What may be typed: "1-3 or skip". */
void wb_terminal_show_choices(const struct wb_card *card, struct wb_text *out);
void wb_terminal_show_help(const struct wb_run *run, const char *tool, struct wb_text *out);

#endif
