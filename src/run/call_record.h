/* call_record: a call's events in the transcript: "call", "write", "diagnostics", "result". Any thread. */
#ifndef WB_RUN_CALL_RECORD_H
#define WB_RUN_CALL_RECORD_H

#include "run/call.h"

/* json: the arguments, NULL where arguments_json could not be parsed: they are kept as text then.
 * What is over WB_TRANSCRIPT_FIELD_BYTES_MAX is cut to its head. */
void wb_call_record_begin(const struct wb_call *call, const char *tool_name,
                          const struct wb_json *json, struct wb_span arguments_json);
void wb_call_record_write(const struct wb_call *call, const struct wb_commit *commit, bool written);
/* json: what the call's result has as its member `diagnostics` or `late_diagnostics`. */
void wb_call_record_diagnostics(const struct wb_call *call, struct wb_span json);
void wb_call_record_end(const struct wb_call *call, const char *tool_name,
                        const struct wb_result *result, int64_t took_us);

#endif
