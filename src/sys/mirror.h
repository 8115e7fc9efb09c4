/* mirror: a copy of a workspace for builds that cannot leave their source tree alone.
 *
 * The copy is <folder>/tree, with modes and times of the originals, so that an incremental build goes
 * on where it stopped: what a build made in the copy stays there. Any thread; one update of a
 * folder at a time (wb_file_lock). */
#ifndef WB_SYS_MIRROR_H
#define WB_SYS_MIRROR_H

#include "base/cancel.h"
#include "base/error.h"

/* Brings the copy up to date, making it where it is not there. Hidden files are copied, .git is not;
 * ignored: also what ignore files leave out. Links that lead into the workspace lead into the copy.
 * WB_ERROR_LIMIT: over a bound of base/limits.h. */
WB_MUST_CHECK int wb_mirror_update(const char *workspace, const char *folder, bool ignored,
                                   struct wb_cancel *cancel, struct wb_error *err);

/* An incremental build tells the warnings of a file only when it compiles it. The next update gives
 * these files (relative to the workspace) the current time. Replaces the list of before. */
void wb_mirror_compile_again(const char *folder, const char *const *paths, size_t n);

#endif
