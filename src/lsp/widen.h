/* widen: some servers know of the files that are open and of no others, unless the project gives them
 * an index (clangd without a compilation database, TypeScript's servers without a tsconfig.json). Before
 * a question that must see every use of a name, the files that have the name are opened. They stay
 * open: the next question of that kind needs them again. */
#ifndef WB_LSP_WIDEN_H
#define WB_LSP_WIDEN_H

#include "lsp/query.h"

#define WB_WIDEN_FILES_MAX 50

/* Opens what mentions the name, and waits until the server has read it. Nothing happens where the
 * row has no index_files, or one of them stands above the file that is asked about. Adds a sentence to
 * note when there are more files than may be opened, or the server did not read all of them in time. */
void wb_query_widen(struct wb_query *query, struct wb_server *server, struct wb_span name,
                    struct wb_text *note);

#endif
