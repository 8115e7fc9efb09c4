/* ask: questions to the human, attached to a run. */
#ifndef WB_ASK_ASK_H
#define WB_ASK_ASK_H

#include "run/run.h"

/* Attaches the run's question port as a resource: ask_user is on the surface while somebody is there
 * to be asked. */
void wb_ask_attach(struct wb_run *run);

#endif
