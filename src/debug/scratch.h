/* scratch: a private folder for a session: what an adapter builds, and what its row puts there. It is
 * removed with the session; what a killed host left is removed by a later one. Any thread. */
#ifndef WB_DEBUG_SCRATCH_H
#define WB_DEBUG_SCRATCH_H

#include "base/json.h"

/* Makes one below the user's cache, with these files in it (name to content; NULL: none). Its path is in
 * the arena. */
char *wb_debug_scratch_make(struct wb_arena *arena, const struct wb_json *files,
                            struct wb_error *err);
/* NULL is allowed. */
void wb_debug_scratch_remove(const char *folder);

#endif
