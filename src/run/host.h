/* host: one process's Werkbank: the I/O thread, the pool of call threads, the registry of tools, and
 * what runs share. Two hosts in one process do not see each other. Any thread. */
#ifndef WB_RUN_HOST_H
#define WB_RUN_HOST_H

#include "run/tool.h"
#include "sys/loop.h"
#include "sys/pool.h"

struct wb_host;

struct wb_host_options {
    const struct wb_tool *const *tools; /* the registry, NULL-terminated, outlives the host */
    const char *guard;                  /* path of werkbank-guard */
};

struct wb_host *wb_host_new(const struct wb_host_options *options);
/* Every run must be closed. Parts (below) are freed first, in reverse order of adding. */
void wb_host_free(struct wb_host *host);

struct wb_loop *wb_host_loop(struct wb_host *host);
struct wb_pool *wb_host_pool(struct wb_host *host); /* started on first use */
const char *wb_host_guard(const struct wb_host *host);
const struct wb_tool *const *wb_host_tools(const struct wb_host *host);

/* Things of the host that runs share: supervisors, caches. One a key; made on first use under the
 * host's lock; freed with the host. key is a pointer that names the kind (address of a static). */
void *wb_host_part(struct wb_host *host, const void *key, void *(*make)(struct wb_host *host),
                   void (*free_part)(void *part));

#endif
