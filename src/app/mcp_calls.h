/* mcp_calls: the calls of an MCP client that are under way, and in the stateless era the cards that
 * they wait for.
 *
 * In that era a server sends no requests. A call that needs an answer is given back as `input_required`
 * with the forms and a token; the client sends the call again with the answers and the token, and the
 * call, which has stood still meanwhile, goes on:
 *
 *   running --card--> parked (given back) --the call again--> running --> answered
 *                        \--ends by itself--> done, kept for the call again
 *
 * A card goes with the call that it belongs to; one from inside of a call (the bridge) goes with the
 * oldest that can carry it.
 *
 * Source: modelcontextprotocol.io, specification 2026-07-28: "Multi round-trip requests". */
#ifndef WB_APP_MCP_CALLS_H
#define WB_APP_MCP_CALLS_H

#include "run/cards.h"
#include "run/run.h"
#include "wire/peer.h"

struct wb_mcp_calls;

/* cards: NULL: nobody is asked. */
struct wb_mcp_calls *wb_mcp_calls_new(struct wb_run *run, struct wb_peer *peer,
                                      struct wb_cards *cards);
/* After wb_run_close. */
void wb_mcp_calls_free(struct wb_mcp_calls *calls);

/* tools/call. can_ask: of a stateless client that shows forms. The reading thread. */
void wb_mcp_calls_take(struct wb_mcp_calls *calls, const struct wb_peer_message *message,
                       bool is_modern, bool can_ask);
/* notifications/cancelled; id: as JSON. */
void wb_mcp_calls_cancel(struct wb_mcp_calls *calls, struct wb_span id);
/* A stateless client shows forms: from now on cards are asked for in results. */
void wb_mcp_calls_attach(struct wb_mcp_calls *calls);
/* The input has ended: nobody answers cards any more. */
void wb_mcp_calls_end(struct wb_mcp_calls *calls);
/* Does an answer of ours go out still? Any thread. */
bool wb_mcp_calls_are_busy(struct wb_mcp_calls *calls);

#endif
