/* Fuzzes patches: "content NUL patch". Neither parsing nor applying may crash or read out of
 * bounds, whatever the patch says. */
#include "files/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *text = (const char *)data;
    const uint8_t *nul = size != 0 ? memchr(data, '\0', size) : NULL;
    size_t n = nul != NULL ? (size_t)(nul - data) : 0;
    struct wb_span content = {text, n}, diff = {text + n + (nul != NULL), size - n - (nul != NULL)};
    struct wb_patch patch;
    struct wb_error err;
    if (wb_patch_parse(&arena, diff, &patch, &err) != 0) {
        return 0;
    }
    for (size_t i = 0; i < patch.n_files && i < 100; i++) {
        struct wb_span result;
        if (wb_patch_apply(&arena, &patch.files[i], "f", content, &result, &err) == 0) {
            content = result;
        }
    }
    return 0;
}
