/* map: see map.h. Entries are dense so that iteration is in order of insertion; slots hold their
 * indices. A removal leaves a hole in entries, and the table is rebuilt when it fills up. */
#include "base/map.h"

#include <stdlib.h>

static uint64_t hash_key(const char *key)
{
    return wb_hash(wb_span(key));
}

/* The slot of the key, or the empty slot where it would go. */
static size_t find_slot(const struct wb_map *map, const char *key, uint64_t hash)
{
    size_t mask = map->n_slots - 1;
    size_t slot = hash & mask;
    while (map->slots[slot] != 0) {
        const struct wb_map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->key != NULL && entry->hash == hash && wb_str_equal(entry->key, key)) {
            break;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

/* Squeezes the holes out of entries and makes slots for twice what is there. */
static void rebuild(struct wb_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->n_entries; i++) {
        if (map->entries[i].key != NULL) {
            map->entries[kept++] = map->entries[i];
        }
    }
    map->n_entries = kept;
    size_t n_slots = 16;
    while (n_slots < kept * 4) {
        n_slots *= 2;
    }
    free(map->slots);
    map->slots = wb_alloc_array(n_slots, sizeof(*map->slots));
    map->n_slots = n_slots;
    for (size_t i = 0; i < kept; i++) {
        size_t slot = map->entries[i].hash & (n_slots - 1);
        while (map->slots[slot] != 0) {
            slot = (slot + 1) & (n_slots - 1);
        }
        map->slots[slot] = (uint32_t)(i + 1);
    }
}

void wb_map_init(struct wb_map *map)
{
    *map = (struct wb_map){0};
}

void wb_map_done(struct wb_map *map)
{
    for (size_t i = 0; i < map->n_entries; i++) {
        free(map->entries[i].key);
    }
    free(map->entries);
    free(map->slots);
    wb_map_init(map);
}

static struct wb_map_entry *find_entry(const struct wb_map *map, const char *key)
{
    if (map->n_slots == 0) {
        return NULL;
    }
    uint32_t index = map->slots[find_slot(map, key, hash_key(key))];
    return index != 0 ? &map->entries[index - 1] : NULL;
}

void *wb_map_get(const struct wb_map *map, const char *key)
{
    const struct wb_map_entry *entry = find_entry(map, key);
    return entry != NULL ? entry->value : NULL;
}

void *wb_map_set(struct wb_map *map, const char *key, void *value)
{
    struct wb_map_entry *entry = find_entry(map, key);
    if (entry != NULL) {
        void *before = entry->value;
        entry->value = value;
        return before;
    }
    if ((map->n_entries + 1) * 2 > map->n_slots) {
        rebuild(map);
    }
    WB_GROW(map->entries, map->entries_capacity, map->n_entries + 1);
    uint64_t hash = hash_key(key);
    map->slots[find_slot(map, key, hash)] = (uint32_t)(map->n_entries + 1);
    map->entries[map->n_entries++] = (struct wb_map_entry){wb_strdup(key), hash, value};
    map->count++;
    return NULL;
}

void *wb_map_remove(struct wb_map *map, const char *key)
{
    struct wb_map_entry *entry = find_entry(map, key);
    if (entry == NULL) {
        return NULL;
    }
    void *value = entry->value;
    free(entry->key);
    entry->key = NULL; /* its slot stays taken, so that probing goes on past it */
    entry->value = NULL;
    map->count--;
    return value;
}

bool wb_map_next(const struct wb_map *map, size_t *cursor, const char **ret_key, void **ret_value)
{
    while (*cursor < map->n_entries) {
        const struct wb_map_entry *entry = &map->entries[(*cursor)++];
        if (entry->key != NULL) {
            if (ret_key != NULL) {
                *ret_key = entry->key;
            }
            *ret_value = entry->value;
            return true;
        }
    }
    return false;
}
