/* output: standard output as the answer, written whole. */
#ifndef WB_APP_OUTPUT_H
#define WB_APP_OUTPUT_H

#include "base/error.h"

/* Writes all bytes. -1: nobody reads, or the disk is full. */
WB_MUST_CHECK int wb_output_write(struct wb_span bytes, struct wb_error *err);

#endif
