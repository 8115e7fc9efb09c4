/* mcp_calls_private: what mcp_calls.c (calls and their answers) and mcp_call_cards.c (the cards that they
 * wait for) share. Nobody else. */
#ifndef WB_APP_MCP_CALLS_PRIVATE_H
#define WB_APP_MCP_CALLS_PRIVATE_H

#include <pthread.h>

#include "app/mcp_calls.h"
#include "app/mcp_form.h"

/* A card that goes with a call. */
struct ask {
    struct wb_mcp_form form;
    struct wb_arena arena;
    bool is_sent; /* with the result that gave the call back */
    struct ask *next;
};

struct mcp_call {
    struct wb_mcp_calls *owner;
    char *id; /* of the request that waits; NULL: parked */
    char *name;
    bool is_modern, can_ask;
    bool is_unknown; /* the surface has no such tool: a protocol error */
    struct wb_cancel cancel;
    char *progress_token; /* JSON, or NULL */
    int64_t progress;     /* told last; it must grow */
    bool is_cancelled;    /* by the peer: it gets no answer */
    char token[40];       /* of a call that was given back; else empty */
    struct ask *asks;
    struct wb_result result; /* of a call that is done, and kept */
    struct mcp_call *prev, *next;
};

struct wb_mcp_calls {
    struct wb_run *run;
    struct wb_peer *peer;
    struct wb_cards *cards;
    struct wb_card_surface surface;
    bool is_attached; /* the reading thread's */
    pthread_mutex_t lock;
    struct mcp_call *first; /* the newest, under way or parked */
    struct mcp_call *done;  /* the newest; parked when they ended */
    uint64_t last_token;
    uint32_t salt; /* of tokens */
    bool has_ended;
    unsigned n_orphans; /* cards that are being given up */
    pthread_cond_t orphans_gone;
};

/* --- mcp_calls.c --- */

void wb_mcp_calls_reply(struct wb_mcp_calls *calls, const char *id, const struct wb_text *result);
/* A parked call of this tool in the list, or NULL. Under the lock. */
struct mcp_call *wb_mcp_calls_find_token(struct mcp_call *list, const char *token,
                                         const char *name);

/* --- mcp_call_cards.c --- */

/* Gives the call back with its forms, when a request waits for it and there is one to send. Under the
 * lock. */
void wb_mcp_call_give_back(struct mcp_call *call);
/* Gives the answers of a call that was sent again to the queue. Without the lock. */
void wb_mcp_call_take_responses(struct wb_mcp_calls *calls, const char *token, const char *name,
                                const struct wb_json *responses);
void wb_mcp_call_free_asks(struct mcp_call *call);
void wb_mcp_call_cards_init(struct wb_mcp_calls *calls);
/* No card of ours is under way any more. */
void wb_mcp_call_cards_done(struct wb_mcp_calls *calls);

#endif
