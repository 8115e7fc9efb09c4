/* output: what the debuggee and its adapter wrote: the newest bytes, each piece with its category.
 *
 * Cursors count the bytes ever added, so that a reader who comes back gets what is new, and is told
 * how much was lost meanwhile. Text is cleaned on its way in: CRLF becomes LF, terminal sequences
 * go, invalid UTF-8 is replaced. Not thread-safe: its session's lock guards it. */
#ifndef WB_DEBUG_OUTPUT_H
#define WB_DEBUG_OUTPUT_H

#include "base/text.h"

#define WB_DEBUG_OUTPUT_BYTES_MAX ((size_t)256 * 1024)

enum wb_debug_category {
    WB_DEBUG_STDOUT = 1,
    WB_DEBUG_STDERR = 2,
    WB_DEBUG_CONSOLE = 4, /* the adapter's own words */
};

struct wb_debug_piece {
    uint64_t begin; /* cursor */
    enum wb_debug_category category;
};

struct wb_debug_output {
    struct wb_text text; /* from `begin` on */
    uint64_t begin;
    struct wb_debug_piece *pieces; /* ascending; the first begins at or before `begin` */
    size_t n_pieces, pieces_capacity;
    struct wb_text unfinished[3]; /* an escape sequence or character cut by a piece's end */
};

void wb_debug_output_done(struct wb_debug_output *output);
/* "stdout", "stderr"; everything else is the console's. */
enum wb_debug_category wb_debug_category_parse(const char *name);
void wb_debug_output_add(struct wb_debug_output *output, enum wb_debug_category category,
                         struct wb_span bytes);
uint64_t wb_debug_output_end(const struct wb_debug_output *output);
/* Appends what was added at or after the cursor in these categories (or-ed). Returns how many bytes
 * of all categories behind the cursor are gone. */
uint64_t wb_debug_output_read(const struct wb_debug_output *output, uint64_t since,
                              unsigned categories, struct wb_text *out);

#endif
