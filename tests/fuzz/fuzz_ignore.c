/* Fuzzes ignore rules and globs: "path NUL rules" or "path NUL glob"; no input may crash, read out
 * of bounds or take long. */
#include "sys/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *text = (const char *)data;
    const uint8_t *nul = size != 0 ? memchr(data, '\0', size) : NULL;
    size_t path_len = nul != NULL ? (size_t)(nul - data) : 0;
    struct wb_span rules = {text + path_len + (nul != NULL), size - path_len - (nul != NULL)};
    const char *path = wb_arena_strndup(&arena, text, path_len);

    const struct wb_ignore *top = wb_ignore_push(&arena, NULL, "", rules);
    wb_ignore_matches(top, path, true);
    const char *below = wb_arena_printf(&arena, "sub/%s", path);
    wb_ignore_matches(wb_ignore_push(&arena, top, "sub", rules), below, false);
    wb_ignore_glob(wb_arena_strndup(&arena, rules.ptr, rules.len), path);
    return 0;
}
