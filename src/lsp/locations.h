/* locations: places in files, as servers answer them and as tools show them:
 * `path:line: the source line`, sorted, grouped by file. */
#ifndef WB_LSP_LOCATIONS_H
#define WB_LSP_LOCATIONS_H

#include "lsp/position.h"
#include "run/call.h"

struct wb_location {
    const char *path;            /* absolute */
    struct wb_position position; /* as the server said it, in its encoding */
    const char *label;           /* shown instead of the source line; NULL: the source line */
};

struct wb_location_list {
    struct wb_location *items;
    size_t count, capacity;
    size_t n_foreign; /* places that are no files (jdt:, untitled:), left out */
};

/* Location, Location[], LocationLink[] or null (LSP 3.17): the target's selection range counts. */
void wb_locations_parse(struct wb_arena *arena, const struct wb_json *answer,
                        struct wb_location_list *list);
struct wb_location *wb_locations_add(struct wb_arena *arena, struct wb_location_list *list);
/* By path and position; the same place is kept once. */
void wb_locations_sort(struct wb_location_list *list);
/* Of a sorted list: drops places in files that are gone, which some servers still remember. */
void wb_locations_drop_missing(struct wb_location_list *list);
bool wb_locations_equal(const struct wb_location_list *a, const struct wb_location_list *b);

/* Writes text (at most `most` places, then "50 of 213 shown") and data ({"locations": [...],
 * "total"}, all of them). what: "references". */
void wb_locations_show(struct wb_call *call, const struct wb_location_list *list, size_t most,
                       const char *what, struct wb_result *result);

#endif
