/* report: a cell as a result: text for the model in the order in which things happened, pictures,
 * data for programs, other forms for the transcript. Knows no process. */
#ifndef WB_KERNEL_REPORT_H
#define WB_KERNEL_REPORT_H

#include "kernel/cell.h"
#include "run/call.h"

/* What a report says besides the cell itself. */
struct wb_report_options {
    struct wb_span told; /* lines in front: of a fresh kernel */
    const char *cwd;     /* before the cell; NULL: not known */
    int64_t inactivity_ms, limit_ms;
};

void wb_report(struct wb_call *call, struct wb_cell *cell, const struct wb_report_options *options,
               struct wb_result *result);

#endif
