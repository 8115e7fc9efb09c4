/* nearest: "did you mean ...?" for names that somebody typed. Any thread. */
#ifndef WB_RUN_NEAREST_H
#define WB_RUN_NEAREST_H

#include "base/base.h"

/* The candidate that is most like the word, or NULL when none is like it. */
const char *wb_nearest(struct wb_span word, const char *const *candidates, size_t n_candidates);

#endif
