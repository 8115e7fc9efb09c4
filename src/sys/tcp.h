/* tcp: connections on the loopback address, for adapters that speak over a port. No other host is ever
 * reached or listened to. Descriptors are close-on-exec; they go to wb_stream_open_take. Any thread,
 * not the loop thread. */
#ifndef WB_SYS_TCP_H
#define WB_SYS_TCP_H

#include "base/cancel.h"
#include "base/error.h"

/* Listens on a free port of 127.0.0.1. Returns the descriptor, or -1. */
int wb_tcp_listen(int *ret_port, struct wb_error *err);

/* Gives up waiting when is_over says so (may be NULL); asked every few milliseconds. */
struct wb_tcp_wait {
    int64_t deadline_ms;
    struct wb_cancel *cancel;
    bool (*is_over)(void *ctx);
    void *ctx;
};

/* The first connection that a process of our own user makes; others are closed. -1:
 * WB_ERROR_TIMEOUT, WB_ERROR_CANCELLED, WB_ERROR_CLOSED (is_over). */
int wb_tcp_accept(int listener, const struct wb_tcp_wait *wait, struct wb_error *err);
/* Connects, again and again while nobody listens there yet. -1 as above, WB_ERROR_DENIED when the
 * listener is another user's. */
int wb_tcp_connect(int port, const struct wb_tcp_wait *wait, struct wb_error *err);
/* A port that was free just now. */
int wb_tcp_free_port(struct wb_error *err);

#endif
