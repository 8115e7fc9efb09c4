/* grants: what the operator has answered at the gate of a run: calls that may run until it ends, one by
 * one or by a pattern, and the call that was refused last. In memory only. Any thread. */
#ifndef WB_RUN_GRANTS_H
#define WB_RUN_GRANTS_H

#include "base/arena.h"
#include "sys/sha256.h"

struct wb_grants;

struct wb_grants *wb_grants_new(void);
void wb_grants_free(struct wb_grants *grants);

/* A call as it was approved: tool and arguments. */
struct wb_sha256 wb_grants_digest(const char *tool, struct wb_span arguments_json);

void wb_grants_add(struct wb_grants *grants, const struct wb_sha256 *digest);
bool wb_grants_has(struct wb_grants *grants, const struct wb_sha256 *digest);
/* The pattern of a tool's commands, or of its paths. */
void wb_grants_add_pattern(struct wb_grants *grants, const char *tool, const char *pattern);
/* The next pattern of the tool, in the arena; *cursor starts at 0. NULL at the end. */
const char *wb_grants_next_pattern(struct wb_grants *grants, struct wb_arena *arena,
                                   const char *tool, size_t *cursor);

/* Of the call that was asked for last. */
void wb_grants_set_refused(struct wb_grants *grants, const struct wb_sha256 *digest, bool refused);
bool wb_grants_was_refused(struct wb_grants *grants, const struct wb_sha256 *digest);

#endif
