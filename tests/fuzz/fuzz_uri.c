/* Fuzzes file: URIs: what decodes to a path must come back from that path's own URI. */
#include <stdlib.h>

#include "sys/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *path = wb_path_from_uri(&arena, (struct wb_span){(const char *)data, size});
    if (path != NULL) {
        const char *again = wb_path_from_uri(&arena, wb_span(wb_path_to_uri(&arena, path)));
        if (path[0] != '/' || again == NULL || !wb_str_equal(path, again)) {
            abort();
        }
    }
    return 0;
}
