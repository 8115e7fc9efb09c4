/* envelope: the four messages of JSON-RPC 2.0 as they go out, put around parameters and results
 * that are JSON text already and are not copied. Knows no connection and no lock. */
#ifndef WB_WIRE_ENVELOPE_H
#define WB_WIRE_ENVELOPE_H

#include "wire/frame.h"

/* Where messages go. write gets one whole framed message; some spans may be empty. */
struct wb_envelope_sink {
    enum wb_framing framing;
    int (*write)(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err);
    void *ctx;
};

/* Each returns what write returns. method: a plain name, nothing in it is escaped. Empty params are
 * left out, empty data too. id_json: the id as the other side wrote it. */
int wb_envelope_request(const struct wb_envelope_sink *sink, int64_t id, const char *method,
                        struct wb_span params_json, struct wb_error *err);
int wb_envelope_notification(const struct wb_envelope_sink *sink, const char *method,
                             struct wb_span params_json, struct wb_error *err);
int wb_envelope_result(const struct wb_envelope_sink *sink, struct wb_span id_json,
                       struct wb_span result_json, struct wb_error *err);
int wb_envelope_error(const struct wb_envelope_sink *sink, struct wb_span id_json, int64_t code,
                      const char *message, struct wb_span data_json, struct wb_error *err);

#endif
