/* cache: what is known of files that were searched, shared by the runs of a host, so that the second
 * question about a workspace parses nothing that did not change.
 *
 * A file is what its path, size, times and inode say; one that was changed within the clock's
 * granularity of being read is compared by a hash of its content. Kept are flat trees, never
 * sources, and facts (ast/filter.h), which are small and stay when their tree has to go. The least
 * recently used go when all take more than the bound. Any thread. */
#ifndef WB_AST_CACHE_H
#define WB_AST_CACHE_H

#include "ast/filter.h"
#include "run/host.h"
#include "sys/file.h"

#define WB_TREE_CACHE_BYTES (256 * WB_MIB) /* unless ast.cache_mb says otherwise */

struct wb_tree_cache;

/* A file as it was read. */
struct wb_source {
    const char *path;
    const struct wb_grammar *grammar;
    struct wb_span content;
    struct wb_file_stamp stamp; /* while it was read */
};

struct wb_tree_cache_counts {
    size_t bytes, n_files, n_trees;
};

struct wb_tree_cache *wb_tree_cache_of_host(struct wb_host *host);
struct wb_tree_cache *wb_tree_cache_new(void);
void wb_tree_cache_free(struct wb_tree_cache *cache);
void wb_tree_cache_set_bound(struct wb_tree_cache *cache, size_t bytes);
struct wb_tree_cache_counts wb_tree_cache_counts(struct wb_tree_cache *cache);

/* Is the file known, unchanged, and known to have no match? Then it need not be read. */
bool wb_tree_cache_rules_out(struct wb_tree_cache *cache, const char *path,
                             const struct wb_pattern *pattern);
/* The tree of this content; NULL: there is none. */
const struct wb_flat_tree *wb_tree_cache_get(struct wb_tree_cache *cache,
                                             const struct wb_source *source);
/* The file was read and there was no need to parse it. The second time its words are learnt. */
void wb_tree_cache_note(struct wb_tree_cache *cache, const struct wb_source *source);
/* Keeps a tree (taken), and gives it out as get does. */
const struct wb_flat_tree *wb_tree_cache_put_take(struct wb_tree_cache *cache,
                                                  const struct wb_source *source,
                                                  struct wb_flat_tree *tree);
/* Gives back what get and put_take gave. NULL is allowed. */
void wb_tree_cache_release(const struct wb_flat_tree *tree);

#endif
