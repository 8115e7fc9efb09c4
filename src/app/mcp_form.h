/* mcp_form: a card as the form of an MCP elicitation, and what the client's answer means. Any thread.
 *
 * accept is an answer, decline and cancel skip a question and refuse an approval. An answer that is none
 * (accepted with nothing in it) is asked for again, and taken as declined in the end: it is never
 * consent.
 *
 * Source: modelcontextprotocol.io, specification 2025-06-18, 2025-11-25 and 2026-07-28: "Elicitation"
 * (form mode). */
#ifndef WB_APP_MCP_FORM_H
#define WB_APP_MCP_FORM_H

#include "base/json.h"
#include "run/cards.h"

#define WB_MCP_FORM_TRIES 3

struct wb_mcp_form {
    struct wb_card_view card;
    bool has_arrays;  /* the client's version knows several choices in one field (2025-11-25) */
    const char *note; /* what was wrong with the last answer, or NULL */
    unsigned n_tries;
};

/* Do the client's capabilities say that it shows forms? */
bool wb_mcp_form_offered(const struct wb_json *capabilities);

/* The params of elicitation/create. */
void wb_mcp_form_put(struct wb_json_writer *w, const struct wb_mcp_form *form);

/* Gives the client's result to the queue. 0: the card is done with, answered here or elsewhere. -1: ask
 * once more; form->note says why, in the arena. */
int wb_mcp_form_take(struct wb_mcp_form *form, struct wb_cards *cards, const struct wb_json *result,
                     struct wb_arena *arena);

#endif
