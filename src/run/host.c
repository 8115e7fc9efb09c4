/* host: what the runs of one process share. Everything costly is made with its first use: a call
 * that needs no thread and no server starts none. */
#include "run/host.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"

struct part {
    const void *key;
    void *value;
    void (*free_part)(void *part);
    struct part *older;
};

struct wb_host {
    const struct wb_tool *const *tools;
    char *guard;
    struct wb_loop *loop;
    pthread_mutex_t lock; /* of pool and parts; recursive: a part's make may want another part */
    struct wb_pool *pool;
    struct part *newest;
};

static void init_recursive(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

struct wb_host *wb_host_new(const struct wb_host_options *options)
{
    struct wb_host *host = wb_alloc(sizeof(*host));
    host->tools = options->tools;
    host->guard = wb_strdup(options->guard);
    host->loop = wb_loop_new();
    init_recursive(&host->lock);
    return host;
}

void wb_host_free(struct wb_host *host)
{
    if (host == NULL) {
        return;
    }
    while (host->newest != NULL) {
        struct part *part = host->newest;
        host->newest = part->older;
        part->free_part(part->value);
        free(part);
    }
    wb_pool_free(host->pool);
    wb_loop_free(host->loop);
    pthread_mutex_destroy(&host->lock);
    free(host->guard);
    free(host);
}

struct wb_loop *wb_host_loop(struct wb_host *host)
{
    return host->loop;
}

struct wb_pool *wb_host_pool(struct wb_host *host)
{
    pthread_mutex_lock(&host->lock);
    if (host->pool == NULL) {
        host->pool = wb_pool_new(WB_HOST_THREADS_MAX);
    }
    struct wb_pool *pool = host->pool;
    pthread_mutex_unlock(&host->lock);
    return pool;
}

const char *wb_host_guard(const struct wb_host *host)
{
    return host->guard;
}

const struct wb_tool *const *wb_host_tools(const struct wb_host *host)
{
    return host->tools;
}

static struct part *find_part(const struct wb_host *host, const void *key)
{
    struct part *part = host->newest;
    while (part != NULL && part->key != key) {
        part = part->older;
    }
    return part;
}

void *wb_host_part(struct wb_host *host, const void *key, void *(*make)(struct wb_host *host),
                   void (*free_part)(void *part))
{
    pthread_mutex_lock(&host->lock);
    struct part *part = find_part(host, key);
    if (part == NULL) {
        void *value = make(host);
        part = wb_alloc(sizeof(*part));
        /* Linked after make: what it needed of the host is older and outlives it. */
        *part = (struct part){key, value, free_part, host->newest};
        host->newest = part;
    }
    pthread_mutex_unlock(&host->lock);
    return part->value;
}
