/* map: strings to pointers. Open addressing; keys are copied; values belong to the caller.
 *
 * Not thread-safe. Iteration order is that of insertion as long as nothing was removed. */
#ifndef WB_BASE_MAP_H
#define WB_BASE_MAP_H

#include "base/base.h"

struct wb_map_entry {
    char *key; /* NULL: removed */
    uint64_t hash;
    void *value;
};

struct wb_map {
    struct wb_map_entry *entries; /* dense, in order of insertion */
    size_t n_entries, entries_capacity, count;
    uint32_t *slots; /* index + 1 into entries; 0 empty */
    size_t n_slots;  /* a power of two, or 0 */
};

void wb_map_init(struct wb_map *map);
void wb_map_done(struct wb_map *map); /* values are not freed */
void *wb_map_get(const struct wb_map *map, const char *key);
/* Returns the value that was there before, or NULL. value must not be NULL. */
void *wb_map_set(struct wb_map *map, const char *key, void *value);
/* Returns the removed value, or NULL. */
void *wb_map_remove(struct wb_map *map, const char *key);
/* Iterates over what is there: start with *cursor 0; false at the end. Removing the entry just
 * given is allowed. */
bool wb_map_next(const struct wb_map *map, size_t *cursor, const char **ret_key, void **ret_value);

#endif
