/* base: what every file of the program may use without asking.
 *
 * Spans, small macros, ownership helpers, allocation that cannot fail. Knows nothing of processes,
 * files or threads. Include this one first; the other headers of base/ build on it. */
#ifndef WB_BASE_BASE_H
#define WB_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WB_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WB_MAX(a, b) ((a) > (b) ? (a) : (b))

#define WB_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define WB_MUST_CHECK __attribute__((warn_unused_result))

/* Runs free_fn(&variable) when the variable leaves its scope. free_fn takes a pointer to the
 * variable; WB_DEFINE_AUTO makes one from an x_free function that takes the pointer itself. */
#define WB_AUTO(free_fn) __attribute__((cleanup(free_fn)))
#define WB_DEFINE_AUTO(name, type, free_fn)                                                        \
    static inline void name(type **wb_auto_p)                                                      \
    {                                                                                              \
        free_fn(*wb_auto_p);                                                                       \
    }                                                                                              \
    struct wb_require_semicolon

/* Hands the pointer out and leaves NULL behind, so that its WB_AUTO does nothing. */
#define WB_STEAL(pointer)                                                                          \
    ({                                                                                             \
        __typeof__(pointer) wb_stolen = (pointer);                                                 \
        (pointer) = NULL;                                                                          \
        wb_stolen;                                                                                 \
    })

/* The structure that holds `member` at address `ptr`. */
#define WB_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Borrowed bytes. Not NUL-terminated unless the function that made it says so. */
struct wb_span {
    const char *ptr;
    size_t len;
};

#define WB_SPAN(literal) ((struct wb_span){(literal), sizeof(literal) - 1})
#define WB_SPAN_FMT "%.*s"
#define WB_SPAN_ARG(span) (int)(span).len, (span).ptr

static inline struct wb_span wb_span(const char *cstr)
{
    return (struct wb_span){cstr, cstr != NULL ? strlen(cstr) : 0};
}

static inline bool wb_span_equal(struct wb_span a, struct wb_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool wb_span_is(struct wb_span a, const char *cstr)
{
    return wb_span_equal(a, wb_span(cstr));
}

static inline bool wb_str_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static inline bool wb_str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool wb_str_ends(const char *s, const char *suffix);

/* Allocation. Never returns NULL: out of memory ends the process with one line on stderr. Sizes
 * that a peer or a file controls are checked against base/limits.h before they come here. */
void *wb_alloc(size_t bytes);                    /* zeroed */
void *wb_realloc(void *ptr, size_t bytes);       /* grown part is not zeroed */
void *wb_alloc_array(size_t count, size_t item); /* zeroed; overflow aborts */
char *wb_strdup(const char *cstr);
char *wb_strndup(const char *ptr, size_t len);
WB_PRINTF(1, 2) char *wb_sprintf(const char *fmt, ...);

/* Cleanup function for WB_AUTO on malloc'ed pointers: WB_AUTO(wb_free_p) char *s = ... */
void wb_free_p(void *pointer_to_pointer);

/* Grows an owned array so that it holds at least `need` items; doubles. For plain C arrays kept as
 * (items, count, capacity). */
#define WB_GROW(items, capacity, need)                                                             \
    do {                                                                                           \
        if ((need) > (capacity)) {                                                                 \
            size_t wb_cap = (capacity) != 0 ? 2 * (capacity) : 8;                                  \
            while (wb_cap < (need)) {                                                              \
                wb_cap *= 2;                                                                       \
            }                                                                                      \
            (items) = wb_realloc((items), wb_cap * sizeof(*(items)));                              \
            (capacity) = wb_cap;                                                                   \
        }                                                                                          \
    } while (0)

/* 64-bit FNV-1a; for hash maps and change detection, not against an adversary. */
uint64_t wb_hash(struct wb_span bytes);

#endif
