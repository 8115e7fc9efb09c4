/* doctor: the examination itself, which the tour shows too. */
#ifndef WB_APP_DOCTOR_H
#define WB_APP_DOCTOR_H

#include "base/text.h"
#include "run/run.h"

/* Appends what is usable in the run's workspace, and why not, as text or one line of JSON. The run
 * has language servers, parsers and the debugger attached. */
WB_MUST_CHECK int wb_doctor_examine(struct wb_run *run, bool json, struct wb_text *out,
                                    struct wb_error *err);

#endif
