/* arena: memory of one call, given back in one go.
 *
 * Not thread-safe: an arena belongs to the thread that runs the call. Everything allocated from it
 * lives until wb_arena_done or wb_arena_clear. Chunks double up to 1 MiB; larger requests get a
 * chunk of their own. */
#ifndef WB_BASE_ARENA_H
#define WB_BASE_ARENA_H

#include "base/base.h"

struct wb_arena_chunk;

struct wb_arena {
    struct wb_arena_chunk *head;
    size_t used_bytes;  /* of the head chunk */
    size_t total_bytes; /* of all chunks, for limits and tests */
};

void wb_arena_init(struct wb_arena *arena);
void wb_arena_done(struct wb_arena *arena);  /* also usable as WB_AUTO(wb_arena_done) */
void wb_arena_clear(struct wb_arena *arena); /* keeps one chunk for reuse */
/* Moves everything of `from` into arena without copying: pointers stay valid and now live as long
 * as arena. `from` is empty afterwards. */
void wb_arena_adopt(struct wb_arena *arena, struct wb_arena *from);

/* Zeroed, aligned for any type. */
void *wb_arena_alloc(struct wb_arena *arena, size_t bytes);
void *wb_arena_alloc_array(struct wb_arena *arena, size_t count, size_t item_bytes);
/* A larger block with the contents of the old one, not zeroed behind them. The newest of the large
 * blocks grows where it is; of others the old block stays in the arena until its end. */
void *wb_arena_grow(struct wb_arena *arena, void *ptr, size_t old_bytes, size_t bytes);

/* NUL-terminated copies. */
char *wb_arena_strdup(struct wb_arena *arena, const char *cstr);
char *wb_arena_strndup(struct wb_arena *arena, const char *ptr, size_t len);
struct wb_span wb_arena_span(struct wb_arena *arena, struct wb_span bytes);
WB_PRINTF(2, 3) char *wb_arena_printf(struct wb_arena *arena, const char *fmt, ...);

#define WB_ARENA_NEW(arena, type) ((type *)wb_arena_alloc((arena), sizeof(type)))

/* Growable array in an arena, kept as (items, count, capacity): returns the slot of a new, zeroed
 * last item. The old block stays in the arena until its end. */
#define WB_ARENA_PUSH(arena, items, count, capacity)                                               \
    ({                                                                                             \
        if ((count) == (capacity)) {                                                               \
            size_t wb_cap = (capacity) != 0 ? 2 * (capacity) : 8;                                  \
            void *wb_new = wb_arena_alloc_array((arena), wb_cap, sizeof(*(items)));                \
            if ((count) != 0) {                                                                    \
                memcpy(wb_new, (items), (count) * sizeof(*(items)));                               \
            }                                                                                      \
            (items) = wb_new;                                                                      \
            (capacity) = wb_cap;                                                                   \
        }                                                                                          \
        &(items)[(count)++];                                                                       \
    })

#endif
