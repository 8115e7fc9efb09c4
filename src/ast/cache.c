/* cache: see the header. */
#include "ast/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/map.h"

#define GRANULARITY_NS 2000000000 /* a change this close to the reading may not show in the stamp */

struct entry {
    struct wb_parsed parsed;
    atomic_uint references; /* the cache's own, and one a reader */
    char *path;
    const TSLanguage *parser;
    struct wb_file_stamp stamp;
    bool is_settled; /* the stamp alone says that nothing changed */
    size_t bytes;
    struct entry *newer, *older; /* by last use */
};

struct wb_tree_cache {
    pthread_mutex_t lock;
    struct wb_map entries; /* path to entry */
    struct entry *newest, *oldest;
    size_t bytes, bound;
};

static const char part_key;

static void release(struct entry *entry)
{
    if (atomic_fetch_sub(&entry->references, 1) == 1) {
        wb_flat_tree_done(&entry->parsed.tree);
        free((char *)(uintptr_t)entry->parsed.source.ptr);
        free(entry->path);
        free(entry);
    }
}

void wb_parsed_release(const struct wb_parsed *parsed)
{
    if (parsed != NULL) {
        release(WB_CONTAINER_OF((uintptr_t)parsed, struct entry, parsed));
    }
}

/* --- the order of use; under the lock --- */

static void unlink_entry(struct wb_tree_cache *cache, struct entry *entry)
{
    *(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
    entry->newer = entry->older = NULL;
}

static void link_newest(struct wb_tree_cache *cache, struct entry *entry)
{
    entry->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

static void drop(struct wb_tree_cache *cache, struct entry *entry)
{
    unlink_entry(cache, entry);
    wb_map_remove(&cache->entries, entry->path);
    cache->bytes -= entry->bytes;
    release(entry);
}

static void keep_bound(struct wb_tree_cache *cache)
{
    while (cache->bytes > cache->bound && cache->oldest != NULL) {
        drop(cache, cache->oldest);
    }
}

/* --- the cache --- */

static void free_cache(void *part)
{
    struct wb_tree_cache *cache = part;
    while (cache->oldest != NULL) {
        drop(cache, cache->oldest);
    }
    wb_map_done(&cache->entries);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static void *make_cache(struct wb_host *host)
{
    struct wb_tree_cache *cache = wb_alloc(sizeof(*cache));
    (void)host;
    pthread_mutex_init(&cache->lock, NULL);
    wb_map_init(&cache->entries);
    cache->bound = WB_TREE_CACHE_BYTES;
    return cache;
}

struct wb_tree_cache *wb_tree_cache_of_host(struct wb_host *host)
{
    return wb_host_part(host, &part_key, make_cache, free_cache);
}

void wb_tree_cache_set_bound(struct wb_tree_cache *cache, size_t bytes)
{
    pthread_mutex_lock(&cache->lock);
    cache->bound = bytes;
    keep_bound(cache);
    pthread_mutex_unlock(&cache->lock);
}

/* With a reference for the caller. */
static struct entry *find(struct wb_tree_cache *cache, const char *path,
                          const struct wb_grammar *grammar)
{
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = wb_map_get(&cache->entries, path);
    if (entry != NULL && entry->parser == grammar->parser) {
        atomic_fetch_add(&entry->references, 1);
        unlink_entry(cache, entry);
        link_newest(cache, entry);
    } else {
        entry = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    return entry;
}

static bool has_same_content(const char *path, struct wb_span source)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_span content;
    struct wb_error ignored;
    wb_arena_init(&arena);
    return wb_file_read(&arena, path, WB_FILE_BYTES_MAX, &content, NULL, &ignored) == 0 &&
           wb_span_equal(content, source);
}

const struct wb_parsed *wb_tree_cache_get(struct wb_tree_cache *cache, const char *path,
                                          const struct wb_grammar *grammar)
{
    struct wb_file_stamp stamp;
    struct entry *entry = find(cache, path, grammar);
    if (entry == NULL) {
        return NULL;
    }
    if (wb_file_kind(path, &stamp) == WB_FILE_REGULAR &&
        wb_file_stamp_equal(&stamp, &entry->stamp) &&
        (entry->is_settled || has_same_content(path, entry->parsed.source))) {
        return &entry->parsed;
    }
    release(entry);
    return NULL;
}

static bool is_settled(const struct wb_file_stamp *stamp)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return now_ns - WB_MAX(stamp->mtime_ns, stamp->ctime_ns) > GRANULARITY_NS;
}

const struct wb_parsed *wb_tree_cache_put_take(struct wb_tree_cache *cache, const char *path,
                                               const struct wb_grammar *grammar,
                                               struct wb_span source,
                                               const struct wb_file_stamp *stamp,
                                               struct wb_flat_tree *tree)
{
    struct entry *entry = wb_alloc(sizeof(*entry));
    atomic_init(&entry->references, 2);
    entry->path = wb_strdup(path);
    entry->parser = grammar->parser;
    entry->stamp = *stamp;
    entry->is_settled = is_settled(stamp);
    entry->parsed.source = (struct wb_span){wb_strndup(source.ptr, source.len), source.len};
    entry->parsed.tree = *tree;
    entry->parsed.tree.nodes =
        wb_realloc(tree->nodes, WB_MAX(tree->count, 1u) * sizeof(*tree->nodes));
    *tree = (struct wb_flat_tree){0};
    entry->bytes = sizeof(*entry) + source.len + strlen(path) +
                   entry->parsed.tree.count * sizeof(struct wb_flat_node);
    pthread_mutex_lock(&cache->lock);
    struct entry *before = wb_map_get(&cache->entries, path);
    if (before != NULL) {
        drop(cache, before);
    }
    wb_map_set(&cache->entries, path, entry);
    link_newest(cache, entry);
    cache->bytes += entry->bytes;
    keep_bound(cache);
    pthread_mutex_unlock(&cache->lock);
    return &entry->parsed;
}
