/* usable: the two tests that rows of servers, debug adapters and project checks share: is a root
 * marker there, and does a program resolve. Asks the disk at each call. Any thread. */
#ifndef WB_RUN_USABLE_H
#define WB_RUN_USABLE_H

#include "base/arena.h"

/* The first marker that the folder has: a name, a path below it, a name with '*', or
 * a name and a text that it must hold ("Cargo.toml#[workspace]"). Or NULL. */
const char *wb_usable_marker(struct wb_arena *arena, const char *folder, const char **markers);

/* The root for a file or folder below the workspace: the folder of the outermost outer marker, else of
 * the nearest marker. NULL: no marker. *ret_marker (may be NULL) is its name. */
char *wb_usable_root(struct wb_arena *arena, const char *workspace, const char *path,
                     const char **markers, const char **outer_markers, const char **ret_marker);

/* The project-local folders of a row as absolute paths: below the root, then below each parent up
 * to the workspace. NULL-terminated. */
const char *const *wb_usable_local_folders(struct wb_arena *arena, const char **local,
                                           const char *workspace, const char *root);

/* The next of the commands whose program resolves (in the local folders, which may be NULL, then on
 * PATH), with the program's absolute path in place of its name. NULL: none is left. Start with
 * *cursor 0. */
const char *const *wb_usable_command(struct wb_arena *arena, const char *const **commands,
                                     const char *const *local_folders, size_t *cursor);
/* All of them; the list ends with NULL. */
const char *const **wb_usable_commands(struct wb_arena *arena, const char *const **commands,
                                       const char *const *local_folders);

#endif
