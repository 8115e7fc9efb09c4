/* mcp_server: a run's tools in MCP's wire format, to the one peer that owns the run.
 *
 * Two eras at once, told apart by each request: legacy (2024-11-05 to 2025-11-25: `initialize`
 * first) and stateless (2026-07-28: the version stands in each request's _meta). Works on memory:
 * bytes come in by feed, lines go out by the write function. Calls run on the host's pool; the
 * thread that ran a call writes its answer.
 *
 * Source: modelcontextprotocol.io, specification 2025-11-25 and 2026-07-28: "Lifecycle",
 * "server/discover", "Tools", "Progress", "Cancellation". */
#ifndef WB_APP_MCP_SERVER_H
#define WB_APP_MCP_SERVER_H

#include "run/cards.h"
#include "run/run.h"

struct wb_mcp_server;

/* cards: the run's question port; a client that offers elicitation answers them. May be NULL.
 * write: one whole line as one unit, from any thread, as of wb_peer_options. */
struct wb_mcp_server *wb_mcp_server_new(struct wb_run *run, struct wb_cards *cards,
                                        int (*write)(void *ctx, const struct wb_span *spans,
                                                     size_t n, struct wb_error *err),
                                        void *ctx);
/* The reading thread. Not after wb_run_close has begun. */
void wb_mcp_server_feed(struct wb_mcp_server *server, const char *ptr, size_t len);
/* Are calls under way? Any thread. */
bool wb_mcp_server_is_busy(struct wb_mcp_server *server);
/* The peer says nothing more: cards that it would have to answer end. Any thread. */
void wb_mcp_server_end_input(struct wb_mcp_server *server);
/* Is the input not understood any more (a line over the limit)? The reason was logged. */
bool wb_mcp_server_is_broken(struct wb_mcp_server *server);
/* After wb_run_close: no call is under way any more. */
void wb_mcp_server_free(struct wb_mcp_server *server);

#endif
