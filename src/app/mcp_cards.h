/* mcp_cards: a conversation's cards as elicitations of an MCP client.
 *
 * Each open card becomes one elicitation/create; what the client answers goes to the queue. accept is
 * an answer, decline and cancel skip a question and refuse an approval. A card that ended elsewhere
 * is cancelled at the client. A client's error leaves the card open for others, until its deadline.
 *
 * Source: modelcontextprotocol.io, specification 2025-11-25: "Elicitation" (form mode). */
#ifndef WB_APP_MCP_CARDS_H
#define WB_APP_MCP_CARDS_H

#include "run/cards.h"
#include "sys/pool.h"
#include "wire/peer.h"

struct wb_mcp_cards;

/* Attaches to the queue: cards that are open already are sent at once. Everything outlives it. */
struct wb_mcp_cards *wb_mcp_cards_new(struct wb_cards *cards, struct wb_peer *peer,
                                      struct wb_pool *pool);
/* Detaches, gives up what is asked, and waits for it. NULL is allowed. */
void wb_mcp_cards_free(struct wb_mcp_cards *mcp_cards);

#endif
