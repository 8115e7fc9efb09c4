/* handles: our own ids for frames and for references to variables.
 *
 * The adapters' own are not unique: lldb-dap's reference 1 is "Locals" of whichever frame was asked
 * for its scopes last, and frame ids name another frame after the next step, with success. So the
 * agent gets ids of ours, which count up through the session and die with the stop that they were
 * made in. Not thread-safe: its session's lock guards it. */
#ifndef WB_DEBUG_HANDLES_H
#define WB_DEBUG_HANDLES_H

#include "base/error.h"

#define WB_HANDLES_MAX 10000 /* of one stop */

enum wb_handle_kind { WB_HANDLE_FRAME, WB_HANDLE_SCOPE, WB_HANDLE_CHILD };

struct wb_handle {
    enum wb_handle_kind kind;
    unsigned link;      /* connection */
    int64_t thread_id;  /* frames */
    int64_t index;      /* frames: 0 is the top */
    int64_t id;         /* the adapter's frame id or variablesReference */
    int64_t frame;      /* scopes: our id of the frame; children: of the scope's frame, or 0 */
    int64_t n_children; /* as the adapter told it; 0: not told */
    int64_t n_indexed;  /* of these, elements */
    char *name;         /* scopes: to find them again; else NULL */
};

struct wb_handles {
    struct wb_handle *items; /* of this stop; ids first, first + 1, ... */
    size_t count, capacity;
    int64_t first;
};

void wb_handles_init(struct wb_handles *handles); /* ids from 1 */
void wb_handles_done(struct wb_handles *handles);
/* A new stop: every id given so far is stale. */
void wb_handles_clear(struct wb_handles *handles);
/* Returns the id; the handle is copied, its name too. The same frame or scope keeps its id. 0: too
 * many. */
int64_t wb_handles_add(struct wb_handles *handles, const struct wb_handle *handle);
/* Valid until the next add or clear. The error tells a stale id from one that never was, and which
 * operation gives a fresh one. what: "frame_id" or "reference". */
const struct wb_handle *wb_handles_find(const struct wb_handles *handles, int64_t id, bool is_frame,
                                        struct wb_error *err);

#endif
