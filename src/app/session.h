/* session: a host with one run in it, as the sub-commands open it from their options. */
#ifndef WB_APP_SESSION_H
#define WB_APP_SESSION_H

#include "app/options.h"
#include "run/run.h"

struct wb_session {
    struct wb_host *host;
    struct wb_run *run;
};

/* Every resource attached; what the project's configuration was not believed of is logged. -1: the
 * error is of the options (a workspace that is none, a configuration that cannot be read). */
WB_MUST_CHECK int wb_session_open(const struct wb_options *options,
                                  const struct wb_question_port *port, struct wb_session *ret,
                                  struct wb_error *err);
void wb_session_close(struct wb_session *session); /* also WB_AUTO(wb_session_close) */

#endif
