/* replace: old text for new in a file's content, on memory. Keeps the file's line ends, byte order
 * mark and the state of its last line. */
#ifndef WB_FILES_REPLACE_H
#define WB_FILES_REPLACE_H

#include "base/arena.h"
#include "base/error.h"

#define WB_REPLACE_LINES_TOLD 20

struct wb_replacement {
    struct wb_span content;              /* the whole new content, in the arena */
    size_t count;                        /* of hits */
    size_t lines[WB_REPLACE_LINES_TOLD]; /* 1-based, of the first hits */
};

/* old_text must occur exactly once, unless `all`. Line ends in old_text and new_text may be LF
 * where the file has CRLF, and the other way round. shown names the file in the error, which says
 * where several hits are, or what comes nearest to none. */
WB_MUST_CHECK int wb_replace_text(struct wb_arena *arena, struct wb_span content, const char *shown,
                                  struct wb_span old_text, struct wb_span new_text, bool all,
                                  struct wb_replacement *ret, struct wb_error *err);

#endif
