/* cache: see the header. */
#include "ast/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/map.h"

#define GRANULARITY_NS 2000000000 /* a change this close to the reading may not show in the stamp */

/* By last use. */
struct link {
    struct link *newer, *older;
};

struct order {
    struct link *newest, *oldest;
};

/* A tree, held by references: the cache's own, and one a reader. */
struct kept_tree {
    struct wb_flat_tree tree;
    atomic_uint references;
    struct entry *entry;
    struct link use;
    size_t bytes;
};

struct entry {
    char *path;
    const TSLanguage *parser;
    struct wb_file_stamp stamp;
    uint64_t hash;   /* of the content, where the stamp alone does not say that nothing changed */
    bool is_settled; /* it does */
    struct wb_facts facts;
    struct kept_tree *tree; /* or NULL */
    struct link use;
};

struct wb_tree_cache {
    pthread_mutex_t lock;
    struct wb_map entries; /* path to entry */
    struct order by_use, trees;
    size_t bytes, bound, n_trees;
};

static const char part_key;

/* --- the order of use; under the lock --- */

static void unlink_use(struct order *order, struct link *link)
{
    *(link->newer != NULL ? &link->newer->older : &order->newest) = link->older;
    *(link->older != NULL ? &link->older->newer : &order->oldest) = link->newer;
    link->newer = link->older = NULL;
}

static void link_newest(struct order *order, struct link *link)
{
    link->older = order->newest;
    *(order->newest != NULL ? &order->newest->newer : &order->oldest) = link;
    order->newest = link;
}

static void use_again(struct order *order, struct link *link)
{
    unlink_use(order, link);
    link_newest(order, link);
}

/* --- entries and trees; under the lock --- */

static void release(struct kept_tree *tree)
{
    if (atomic_fetch_sub(&tree->references, 1) == 1) {
        wb_flat_tree_done(&tree->tree);
        free(tree);
    }
}

static void drop_tree(struct wb_tree_cache *cache, struct kept_tree *tree)
{
    unlink_use(&cache->trees, &tree->use);
    cache->bytes -= tree->bytes;
    cache->n_trees--;
    tree->entry->tree = NULL;
    release(tree);
}

static size_t entry_bytes(const struct entry *entry)
{
    return sizeof(*entry) + strlen(entry->path) + wb_facts_bytes(&entry->facts);
}

static void drop_entry(struct wb_tree_cache *cache, struct entry *entry)
{
    if (entry->tree != NULL) {
        drop_tree(cache, entry->tree);
    }
    unlink_use(&cache->by_use, &entry->use);
    wb_map_remove(&cache->entries, entry->path);
    cache->bytes -= entry_bytes(entry);
    wb_facts_done(&entry->facts);
    free(entry->path);
    free(entry);
}

/* Trees go first: facts are small, and answer most questions. */
static void keep_bound(struct wb_tree_cache *cache)
{
    while (cache->bytes > cache->bound && cache->trees.oldest != NULL) {
        drop_tree(cache, WB_CONTAINER_OF(cache->trees.oldest, struct kept_tree, use));
    }
    while (cache->bytes > cache->bound && cache->by_use.oldest != NULL) {
        drop_entry(cache, WB_CONTAINER_OF(cache->by_use.oldest, struct entry, use));
    }
}

static bool is_settled(const struct wb_file_stamp *stamp)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return now_ns - WB_MAX(stamp->mtime_ns, stamp->ctime_ns) > GRANULARITY_NS;
}

/* The entry of a file that is as it was. */
static struct entry *find(struct wb_tree_cache *cache, const char *path, const TSLanguage *parser,
                          const struct wb_file_stamp *stamp)
{
    struct entry *entry = wb_map_get(&cache->entries, path);
    return entry != NULL && entry->parser == parser && wb_file_stamp_equal(stamp, &entry->stamp)
               ? entry
               : NULL;
}

/* The entry of this content, made anew if what is there is another's. */
static struct entry *take_entry(struct wb_tree_cache *cache, const struct wb_source *source,
                                bool settled, uint64_t hash)
{
    struct entry *entry = find(cache, source->path, source->grammar->parser, &source->stamp);
    if (entry != NULL && (entry->is_settled || entry->hash == hash)) {
        use_again(&cache->by_use, &entry->use);
        entry->is_settled = entry->is_settled || settled;
        return entry;
    }
    entry = wb_map_get(&cache->entries, source->path);
    if (entry != NULL) {
        drop_entry(cache, entry);
    }
    entry = wb_alloc(sizeof(*entry));
    entry->path = wb_strdup(source->path);
    entry->parser = source->grammar->parser;
    entry->stamp = source->stamp;
    entry->is_settled = settled;
    entry->hash = hash;
    wb_map_set(&cache->entries, entry->path, entry);
    link_newest(&cache->by_use, &entry->use);
    cache->bytes += entry_bytes(entry);
    return entry;
}

/* --- the cache --- */

struct wb_tree_cache *wb_tree_cache_new(void)
{
    struct wb_tree_cache *cache = wb_alloc(sizeof(*cache));
    pthread_mutex_init(&cache->lock, NULL);
    wb_map_init(&cache->entries);
    cache->bound = WB_TREE_CACHE_BYTES;
    return cache;
}

void wb_tree_cache_free(struct wb_tree_cache *cache)
{
    if (cache != NULL) {
        while (cache->by_use.oldest != NULL) {
            drop_entry(cache, WB_CONTAINER_OF(cache->by_use.oldest, struct entry, use));
        }
        wb_map_done(&cache->entries);
        pthread_mutex_destroy(&cache->lock);
        free(cache);
    }
}

static void *make_part(struct wb_host *host)
{
    (void)host;
    return wb_tree_cache_new();
}

static void free_part(void *part)
{
    wb_tree_cache_free(part);
}

struct wb_tree_cache *wb_tree_cache_of_host(struct wb_host *host)
{
    return wb_host_part(host, &part_key, make_part, free_part);
}

void wb_tree_cache_set_bound(struct wb_tree_cache *cache, size_t bytes)
{
    pthread_mutex_lock(&cache->lock);
    cache->bound = bytes;
    keep_bound(cache);
    pthread_mutex_unlock(&cache->lock);
}

struct wb_tree_cache_counts wb_tree_cache_counts(struct wb_tree_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    struct wb_tree_cache_counts counts = {cache->bytes, cache->entries.count, cache->n_trees};
    pthread_mutex_unlock(&cache->lock);
    return counts;
}

bool wb_tree_cache_rules_out(struct wb_tree_cache *cache, const char *path,
                             const struct wb_pattern *pattern)
{
    struct wb_file_stamp stamp;
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = wb_map_get(&cache->entries, path);
    bool rules_out =
        entry != NULL && entry->is_settled && entry->parser == pattern->grammar->parser &&
        wb_facts_rule_out(&entry->facts, pattern) &&
        wb_file_kind(path, &stamp) == WB_FILE_REGULAR && wb_file_stamp_equal(&stamp, &entry->stamp);
    pthread_mutex_unlock(&cache->lock);
    return rules_out;
}

const struct wb_flat_tree *wb_tree_cache_get(struct wb_tree_cache *cache,
                                             const struct wb_source *source)
{
    bool settled = is_settled(&source->stamp);
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = find(cache, source->path, source->grammar->parser, &source->stamp);
    struct kept_tree *tree = entry != NULL ? entry->tree : NULL;
    if (tree != NULL && !entry->is_settled) {
        bool is_same = wb_hash(source->content) == entry->hash;
        entry->is_settled = is_same && settled;
        tree = is_same ? tree : NULL;
    }
    if (tree != NULL) {
        atomic_fetch_add(&tree->references, 1);
        use_again(&cache->by_use, &entry->use);
        use_again(&cache->trees, &tree->use);
    }
    pthread_mutex_unlock(&cache->lock);
    return tree != NULL ? &tree->tree : NULL;
}

/* Of a file that changes right now nothing is noted but its tree. */
void wb_tree_cache_note(struct wb_tree_cache *cache, const struct wb_source *source)
{
    if (!is_settled(&source->stamp)) {
        return;
    }
    struct wb_facts facts = {.words = NULL};
    pthread_mutex_lock(&cache->lock);
    const struct entry *known = find(cache, source->path, source->grammar->parser, &source->stamp);
    bool learns = known != NULL && known->facts.words == NULL;
    bool is_compared = known != NULL && !known->is_settled;
    pthread_mutex_unlock(&cache->lock);
    uint64_t hash = is_compared ? wb_hash(source->content) : 0;
    if (learns) {
        wb_facts_add_words(&facts, source->content);
    }
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = take_entry(cache, source, true, hash);
    if (learns && entry->facts.words == NULL) {
        entry->facts.words = WB_STEAL(facts.words);
        entry->facts.n_word_bits = facts.n_word_bits;
        cache->bytes += wb_facts_bytes(&entry->facts);
    }
    keep_bound(cache);
    pthread_mutex_unlock(&cache->lock);
    wb_facts_done(&facts);
}

const struct wb_flat_tree *wb_tree_cache_put_take(struct wb_tree_cache *cache,
                                                  const struct wb_source *source,
                                                  struct wb_flat_tree *tree)
{
    struct kept_tree *kept = wb_alloc(sizeof(*kept));
    struct wb_facts facts = {.words = NULL};
    bool settled = is_settled(&source->stamp);
    uint64_t hash = settled ? 0 : wb_hash(source->content);
    atomic_init(&kept->references, 2);
    kept->tree = *tree;
    kept->tree.nodes = wb_realloc(tree->nodes, WB_MAX(tree->count, 1u) * sizeof(*tree->nodes));
    kept->bytes = sizeof(*kept) + kept->tree.count * sizeof(struct wb_flat_node);
    *tree = (struct wb_flat_tree){0};
    wb_facts_add_kinds(&facts, &kept->tree);
    pthread_mutex_lock(&cache->lock);
    struct entry *entry = take_entry(cache, source, settled, hash);
    if (entry->tree != NULL) {
        drop_tree(cache, entry->tree);
    }
    memcpy(entry->facts.kinds, facts.kinds, sizeof(facts.kinds));
    entry->facts.has_kinds = true;
    entry->tree = kept;
    kept->entry = entry;
    link_newest(&cache->trees, &kept->use);
    cache->bytes += kept->bytes;
    cache->n_trees++;
    keep_bound(cache);
    pthread_mutex_unlock(&cache->lock);
    return &kept->tree;
}

void wb_tree_cache_release(const struct wb_flat_tree *tree)
{
    if (tree != NULL) {
        release(WB_CONTAINER_OF((uintptr_t)tree, struct kept_tree, tree));
    }
}
