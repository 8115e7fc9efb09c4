/* interrupt: Ctrl-C and its kin (SIGINT, SIGTERM, SIGHUP) cancel the call under way. The second one,
 * or one while no call is under way, ends the process at once; the guards see to the children.
 *
 * Started before any other thread, so that all of them leave these signals to it. */
#ifndef WB_APP_INTERRUPT_H
#define WB_APP_INTERRUPT_H

#include "base/cancel.h"
#include "base/error.h"

struct wb_interrupt;

struct wb_interrupt *wb_interrupt_start(struct wb_error *err);
void wb_interrupt_stop(struct wb_interrupt *interrupt); /* NULL is allowed */
/* The token to fire from now on; NULL: none. Afterwards the former one is not fired any more. */
void wb_interrupt_target(struct wb_interrupt *interrupt, struct wb_cancel *cancel);

#endif
