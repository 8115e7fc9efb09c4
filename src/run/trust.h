/* trust: which workspaces the operator believes, with exactly which project file. One small file a
 * workspace in the user's state folder holds the workspace's path and the trusted content whole: a
 * comparison of bytes needs no hash that somebody could aim at. Any thread. */
#ifndef WB_RUN_TRUST_H
#define WB_RUN_TRUST_H

#include "base/arena.h"
#include "base/error.h"

enum wb_trust { WB_TRUST_NONE, WB_TRUST_CHANGED, WB_TRUST_GIVEN };

/* content: of the project file; ptr NULL when there is none. A record that cannot be read is no
 * trust. */
enum wb_trust wb_trust_look_up(const char *workspace, struct wb_span content);
WB_MUST_CHECK int wb_trust_record(const char *workspace, struct wb_span content,
                                  struct wb_error *err);
WB_MUST_CHECK int wb_trust_remove(const char *workspace, struct wb_error *err);

#endif
