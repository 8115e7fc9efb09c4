/* mcp_cards: a conversation's cards as elicitations of an MCP client of the legacy era.
 *
 * Each open card becomes one elicitation/create (app/mcp_form.h). A card that ended elsewhere is
 * cancelled at the client. A client that answers with an error, or is gone, cannot show cards: they end
 * unless another surface has them. */
#ifndef WB_APP_MCP_CARDS_H
#define WB_APP_MCP_CARDS_H

#include "run/cards.h"
#include "sys/pool.h"
#include "wire/peer.h"

struct wb_mcp_cards;

/* Attaches to the queue: cards that are open already are sent at once. Everything outlives it.
 * has_arrays: of wb_mcp_form. */
struct wb_mcp_cards *wb_mcp_cards_new(struct wb_cards *cards, struct wb_peer *peer,
                                      struct wb_pool *pool, bool has_arrays);
/* The client is gone: its cards, now and later, cannot be shown. */
void wb_mcp_cards_end(struct wb_mcp_cards *mcp_cards);
/* Detaches, gives up what is asked, and waits for it. NULL is allowed. */
void wb_mcp_cards_free(struct wb_mcp_cards *mcp_cards);

#endif
