/* cache: files that were parsed, shared by the runs of a host, so that the second question about a
 * workspace parses nothing that did not change.
 *
 * A file is what its path, size, times and inode say; one that was changed within the clock's
 * granularity of being read is compared by content. An entry holds the content and its flat tree;
 * the least recently used go when all take more than the bound. Any thread. */
#ifndef WB_AST_CACHE_H
#define WB_AST_CACHE_H

#include "ast/flat_tree.h"
#include "run/host.h"
#include "sys/file.h"

#define WB_TREE_CACHE_BYTES (256 * WB_MIB) /* unless ast.cache_mb says otherwise */

struct wb_tree_cache;

/* A parsed file. Immutable; held by references. */
struct wb_parsed {
    struct wb_span source;
    struct wb_flat_tree tree;
};

struct wb_tree_cache *wb_tree_cache_of_host(struct wb_host *host);
void wb_tree_cache_set_bound(struct wb_tree_cache *cache, size_t bytes);

/* The entry of a file that is still as it was parsed; NULL: there is none. */
const struct wb_parsed *wb_tree_cache_get(struct wb_tree_cache *cache, const char *path,
                                          const struct wb_grammar *grammar);
/* Keeps a tree (taken) of this content (copied), and gives it out as get does. stamp: the file's
 * while it was read. */
const struct wb_parsed *wb_tree_cache_put_take(struct wb_tree_cache *cache, const char *path,
                                               const struct wb_grammar *grammar,
                                               struct wb_span source,
                                               const struct wb_file_stamp *stamp,
                                               struct wb_flat_tree *tree);
void wb_parsed_release(const struct wb_parsed *parsed);

#endif
