/* tcp: see tcp.h. Any user of the machine may connect to a port, or take one; /proc/net/tcp says whose
 * the other end is. */
#include "sys/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_MS 20     /* how often a wait asks whether it is over */
#define RETRY_MS 3     /* between two tries to connect */
#define RETRY_MAX_MS 5 /* later tries are farther apart */

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int wb_tcp_listen(int *ret_port, struct wb_error *err)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 4) != 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        wb_error_errno(err, errno, "cannot listen on a local port");
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

int wb_tcp_free_port(struct wb_error *err)
{
    int port;
    int fd = wb_tcp_listen(&port, err);
    if (fd < 0) {
        return -1;
    }
    close(fd);
    return port;
}

struct owners {
    bool own, other;
};

/* proc(5): "sl local:port remote:port state queues timer retransmit uid". */
static void read_owners(const char *table, int port, struct owners *ret)
{
    char line[512];
    FILE *file = fopen(table, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned local_port, uid;
        if (sscanf(line,
                   " %*u: %*[0-9A-F]:%4X %*[0-9A-F]:%*4X %*2X %*[0-9A-F]:%*[0-9A-F] "
                   "%*[0-9A-F]:%*[0-9A-F] %*[0-9A-F] %u",
                   &local_port, &uid) == 2 &&
            local_port == (unsigned)port) {
            *(uid == geteuid() ? &ret->own : &ret->other) = true;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Does the other end, whose port this is, belong to somebody else? Root may speak to anybody. */
static bool is_foreign(int port)
{
    struct owners owners = {0};
    read_owners("/proc/net/tcp", port, &owners);
    if (!owners.own) {
        read_owners("/proc/net/tcp6", port, &owners);
    }
    return owners.other && !owners.own && geteuid() != 0;
}

static bool is_foreign_peer(int fd)
{
    struct sockaddr_in peer;
    socklen_t len = sizeof(peer);
    return getpeername(fd, (struct sockaddr *)&peer, &len) != 0 || is_foreign(ntohs(peer.sin_port));
}

/* Messages are small and answered one by one: none shall wait for the next. */
static int ready(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

/* What ends a wait, as an error; 0: go on. */
static int check_wait(const struct wb_tcp_wait *wait, const char *what, struct wb_error *err)
{
    if (wb_cancel_is_fired(wait->cancel)) {
        return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled while waiting for %s", what);
    }
    if (wait->is_over != NULL && wait->is_over(wait->ctx)) {
        return wb_error_set(err, WB_ERROR_CLOSED, "it ended before there was %s", what);
    }
    if (wb_clock_left_ms(wait->deadline_ms) == 0) {
        return wb_error_set(err, WB_ERROR_TIMEOUT, "there was no %s in time", what);
    }
    return 0;
}

int wb_tcp_accept(int listener, const struct wb_tcp_wait *wait, struct wb_error *err)
{
    for (;;) {
        struct pollfd look = {.fd = listener, .events = POLLIN};
        if (poll(&look, 1, LOOK_MS) > 0) {
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            if (fd >= 0 && !is_foreign_peer(fd)) {
                return ready(fd);
            }
            if (fd >= 0) {
                close(fd);
            }
        }
        if (check_wait(wait, "a connection", err) != 0) {
            return -1;
        }
    }
}

/* >= 0: connected. -1: nobody listens there; -2: err. */
static int try_connect(int port, struct wb_error *err)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        wb_error_errno(err, errno, "cannot make a socket");
        return -2;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    if (is_foreign(port)) {
        close(fd);
        wb_error_set(err, WB_ERROR_DENIED, "what listens on port %d belongs to another user", port);
        return -2;
    }
    return ready(fd);
}

int wb_tcp_connect(int port, const struct wb_tcp_wait *wait, struct wb_error *err)
{
    for (int64_t pause_ms = RETRY_MS;; pause_ms = WB_MIN(2 * pause_ms, (int64_t)RETRY_MAX_MS)) {
        int fd = try_connect(port, err);
        if (fd != -1) {
            return fd >= 0 ? fd : -1;
        }
        if (check_wait(wait, "anybody listening", err) != 0) {
            return -1;
        }
        poll(NULL, 0, (int)pause_ms);
    }
}
