/* observer: interfaces at which folders meet around a call: who wants to know of writes (language
 * servers), and who has something to add to a result (findings that came late). */
#ifndef WB_RUN_OBSERVER_H
#define WB_RUN_OBSERVER_H

#include "run/result.h"
#include "sys/commit.h"

struct wb_call;

struct wb_write_observer {
    /* Before the files change: take a baseline. *ret_state goes to after (in the call's arena). */
    void (*before)(void *ctx, struct wb_call *call, const struct wb_commit *commit,
                   void **ret_state);
    /* After the commit: written says whether it happened. May add text to result->text (which the
     * call's end puts behind the tool's own) and members through wb_result_add_member. */
    void (*after)(void *ctx, struct wb_call *call, const struct wb_commit *commit, bool written,
                  void *state, struct wb_result *result);
    /* At the end of every call of the run, on the call's thread: add what came late. May be NULL. */
    void (*result)(void *ctx, struct wb_call *call, struct wb_result *result);
    void *ctx;
};

#endif
