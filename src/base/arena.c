/* arena: chunks in a list, the newest in front, filled from the bottom.
 *
 * Invariant: the bytes of the head chunk above used_bytes are zero, so that an allocation has
 * nothing to clear. Knows nothing of what is stored. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

#define CHUNK_BYTES_MIN (4 * WB_KIB)
#define CHUNK_BYTES_MAX WB_MIB
#define ALIGNMENT _Alignof(max_align_t)

struct wb_arena_chunk {
    struct wb_arena_chunk *next;
    size_t bytes; /* of data */
    _Alignas(max_align_t) char data[];
};

void wb_arena_init(struct wb_arena *arena)
{
    *arena = (struct wb_arena){0};
}

static void free_chunks(struct wb_arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct wb_arena_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void wb_arena_done(struct wb_arena *arena)
{
    free_chunks(arena->head);
    wb_arena_init(arena);
}

void wb_arena_clear(struct wb_arena *arena)
{
    struct wb_arena_chunk *kept = arena->head;

    if (kept == NULL || kept->bytes > CHUNK_BYTES_MAX) {
        wb_arena_done(arena);
        return;
    }
    free_chunks(kept->next);
    kept->next = NULL;
    memset(kept->data, 0, arena->used_bytes);
    arena->used_bytes = 0;
    arena->total_bytes = kept->bytes;
}

void wb_arena_adopt(struct wb_arena *arena, struct wb_arena *from)
{
    struct wb_arena_chunk *last = from->head;

    if (arena->head == NULL) {
        *arena = *from;
    } else if (last != NULL) {
        while (last->next != NULL) {
            last = last->next;
        }
        /* Behind the head, which goes on being filled. */
        last->next = arena->head->next;
        arena->head->next = from->head;
        arena->total_bytes += from->total_bytes;
    }
    wb_arena_init(from);
}

static struct wb_arena_chunk *new_chunk(struct wb_arena *arena, size_t bytes)
{
    struct wb_arena_chunk *chunk = wb_alloc(sizeof(*chunk) + bytes);

    chunk->bytes = bytes;
    arena->total_bytes += bytes;
    return chunk;
}

static void push_chunk(struct wb_arena *arena, struct wb_arena_chunk *chunk)
{
    chunk->next = arena->head;
    arena->head = chunk;
    arena->used_bytes = 0;
}

/* A chunk of its own, behind the head, which goes on being filled. */
static void *alloc_large(struct wb_arena *arena, size_t bytes)
{
    struct wb_arena_chunk *chunk = new_chunk(arena, bytes);

    if (arena->head == NULL) {
        push_chunk(arena, chunk);
        arena->used_bytes = bytes;
    } else {
        chunk->next = arena->head->next;
        arena->head->next = chunk;
    }
    return chunk->data;
}

static size_t aligned(size_t bytes)
{
    return (WB_MAX(bytes, 1) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static size_t next_chunk_bytes(const struct wb_arena *arena, size_t need)
{
    size_t bytes = arena->head != NULL ? arena->head->bytes * 2 : CHUNK_BYTES_MIN;

    while (bytes < need) {
        bytes *= 2;
    }
    return WB_MIN(bytes, CHUNK_BYTES_MAX);
}

void *wb_arena_alloc(struct wb_arena *arena, size_t bytes)
{
    size_t left = arena->head != NULL ? arena->head->bytes - arena->used_bytes : 0;

    if (bytes > SIZE_MAX / 2) {
        return wb_alloc(bytes); /* aborts: no such block exists */
    }
    bytes = aligned(bytes);
    if (bytes > left) {
        if (bytes > CHUNK_BYTES_MAX / 2) {
            return alloc_large(arena, bytes);
        }
        push_chunk(arena, new_chunk(arena, next_chunk_bytes(arena, bytes)));
    }
    void *ptr = arena->head->data + arena->used_bytes;
    arena->used_bytes += bytes;
    return ptr;
}

void *wb_arena_alloc_array(struct wb_arena *arena, size_t count, size_t item_bytes)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, item_bytes, &bytes)) {
        return wb_alloc_array(count, item_bytes); /* aborts */
    }
    return wb_arena_alloc(arena, bytes);
}

/* The link to the newest chunk that holds nothing but this block, or NULL. */
static struct wb_arena_chunk **find_own_chunk(struct wb_arena *arena, const void *ptr, size_t bytes)
{
    struct wb_arena_chunk **link = &arena->head;

    if (*link != NULL && (*link)->data != ptr) {
        link = &(*link)->next;
    }
    if (*link == NULL || (*link)->data != ptr || (*link)->bytes != aligned(bytes)) {
        return NULL;
    }
    return link;
}

void *wb_arena_grow(struct wb_arena *arena, void *ptr, size_t old_bytes, size_t bytes)
{
    if (bytes <= old_bytes) {
        return ptr;
    }
    struct wb_arena_chunk **own = find_own_chunk(arena, ptr, old_bytes);
    if (own == NULL || bytes > SIZE_MAX / 2) {
        return memcpy(wb_arena_alloc(arena, bytes), ptr, old_bytes);
    }
    bytes = aligned(bytes);
    arena->total_bytes += bytes - (*own)->bytes;
    *own = wb_realloc(*own, sizeof(**own) + bytes);
    (*own)->bytes = bytes;
    if (own == &arena->head) {
        arena->used_bytes = bytes;
    }
    return (*own)->data;
}

char *wb_arena_strdup(struct wb_arena *arena, const char *cstr)
{
    return wb_arena_strndup(arena, cstr, strlen(cstr));
}

char *wb_arena_strndup(struct wb_arena *arena, const char *ptr, size_t len)
{
    char *copy = wb_arena_alloc(arena, len + 1);

    if (len != 0) {
        memcpy(copy, ptr, len);
    }
    return copy;
}

struct wb_span wb_arena_span(struct wb_arena *arena, struct wb_span bytes)
{
    return (struct wb_span){wb_arena_strndup(arena, bytes.ptr, bytes.len), bytes.len};
}

char *wb_arena_printf(struct wb_arena *arena, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0) {
        return wb_arena_strdup(arena, "");
    }
    char *formatted = wb_arena_alloc(arena, (size_t)len + 1);
    va_start(args, fmt);
    vsnprintf(formatted, (size_t)len + 1, fmt, args);
    va_end(args);
    return formatted;
}
