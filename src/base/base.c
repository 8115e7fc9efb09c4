/* base: allocation that cannot fail, and the few functions of base.h that are not inline.
 *
 * Out of memory has one answer, here: a line on stderr and abort. Nothing above needs a path for
 * it, because sizes that others control are checked before they come here. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void die_out_of_memory(size_t bytes)
{
    fprintf(stderr, "werkbank: out of memory (%zu bytes)\n", bytes);
    abort();
}

void *wb_alloc(size_t bytes)
{
    void *ptr = calloc(1, WB_MAX(bytes, 1));

    if (ptr == NULL) {
        die_out_of_memory(bytes);
    }
    return ptr;
}

void *wb_realloc(void *ptr, size_t bytes)
{
    /* realloc to 0 bytes may free; a caller that shrinks to nothing still owns a block. */
    void *grown = realloc(ptr, WB_MAX(bytes, 1));

    if (grown == NULL) {
        die_out_of_memory(bytes);
    }
    return grown;
}

void *wb_alloc_array(size_t count, size_t item)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, item, &bytes)) {
        die_out_of_memory(SIZE_MAX);
    }
    return wb_alloc(bytes);
}

char *wb_strdup(const char *cstr)
{
    return wb_strndup(cstr, strlen(cstr));
}

char *wb_strndup(const char *ptr, size_t len)
{
    char *copy = wb_alloc(len + 1);

    if (len != 0) {
        memcpy(copy, ptr, len);
    }
    return copy;
}

char *wb_sprintf(const char *fmt, ...)
{
    char *formatted;
    va_list args;

    va_start(args, fmt);
    int len = vasprintf(&formatted, fmt, args);
    va_end(args);
    if (len < 0) {
        die_out_of_memory(0);
    }
    return formatted;
}

void wb_free_p(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

bool wb_str_ends(const char *s, const char *suffix)
{
    size_t len = strlen(s);
    size_t suffix_len = strlen(suffix);

    return len >= suffix_len && memcmp(s + len - suffix_len, suffix, suffix_len) == 0;
}

uint64_t wb_hash(struct wb_span bytes)
{
    uint64_t hash = 0xcbf29ce484222325U; /* FNV offset basis */

    for (size_t i = 0; i < bytes.len; i++) {
        hash ^= (unsigned char)bytes.ptr[i];
        hash *= 0x100000001b3U; /* FNV prime */
    }
    return hash;
}
