/* tree: the guard's descendants, found in /proc.
 *
 * Single-threaded and without allocation. What is found may be out of date a moment later, so
 * callers that need certainty repeat until the kernel says that no child is left: the guard is a
 * subreaper, every orphan below it becomes its own child. */
#ifndef WB_SYS_GUARD_TREE_H
#define WB_SYS_GUARD_TREE_H

#include <stdint.h>

/* Sends the signal to every descendant, parents before children. */
void wb_tree_signal(int signal);

/* Memory of all descendants, each shared page counted by its share (PSS). Cheap while the sum of
 * the resident sizes stays below enough_bytes: then that sum is returned instead. */
int64_t wb_tree_memory_bytes(int64_t enough_bytes);

#endif
