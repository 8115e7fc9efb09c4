/* leftovers: where a name still stands as text after a rename: comments, strings, files that the
 * server does not index. Information for the agent, never an edit. */
#ifndef WB_LSP_LEFTOVERS_H
#define WB_LSP_LEFTOVERS_H

#include "lsp/locations.h"

struct wb_leftovers {
    struct wb_location_list places; /* the first ones */
    size_t total, n_files;
    bool cut; /* the workspace was too large to be searched whole */
};

/* Whole-word occurrences in the workspace's text files, ignore rules respected. */
void wb_leftovers_find(struct wb_call *call, struct wb_span name, struct wb_leftovers *ret);

/* Calls visit for each text file of the workspace that has the name as a whole word, in path order.
 * path is valid during the call. */
void wb_leftovers_visit(struct wb_call *call, struct wb_span name,
                        void (*visit)(void *ctx, const char *path), void *ctx);

#endif
