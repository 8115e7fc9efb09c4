/* envelope: see envelope.h. A message is a short list of spans; the first and the last are the
 * frame's. */
#include "wire/envelope.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

/* Sends the body spans[1 .. n-2]; the first and last span are filled in with the frame. */
static int send_body(const struct wb_envelope_sink *sink, struct wb_span *spans, size_t n,
                     struct wb_error *err)
{
    char head[64];
    size_t body_bytes = 0;

    for (size_t i = 1; i + 1 < n; i++) {
        body_bytes += spans[i].len;
    }
    wb_frame_head(sink->framing, body_bytes, head);
    spans[0] = wb_span(head);
    spans[n - 1] = wb_span(wb_frame_tail(sink->framing));
    return sink->write(sink->ctx, spans, n, err);
}

/* intro: the members before the method, up to its opening quote. */
static int send_method(const struct wb_envelope_sink *sink, struct wb_span intro,
                       const char *method, struct wb_span params_json, struct wb_error *err)
{
    struct wb_span spans[] = {
        {0},
        intro,
        wb_span(method),
        params_json.len != 0 ? WB_SPAN("\",\"params\":") : WB_SPAN("\""),
        params_json,
        WB_SPAN("}"),
        {0},
    };

    return send_body(sink, spans, WB_COUNT(spans), err);
}

int wb_envelope_request(const struct wb_envelope_sink *sink, int64_t id, const char *method,
                        struct wb_span params_json, struct wb_error *err)
{
    char intro[64];

    snprintf(intro, sizeof(intro), "{\"jsonrpc\":\"2.0\",\"id\":%" PRId64 ",\"method\":\"", id);
    return send_method(sink, wb_span(intro), method, params_json, err);
}

int wb_envelope_notification(const struct wb_envelope_sink *sink, const char *method,
                             struct wb_span params_json, struct wb_error *err)
{
    return send_method(sink, WB_SPAN("{\"jsonrpc\":\"2.0\",\"method\":\""), method, params_json,
                       err);
}

/* outcome: the member that holds the value, with its colon. */
static int send_response(const struct wb_envelope_sink *sink, struct wb_span id_json,
                         struct wb_span outcome, struct wb_span value, struct wb_error *err)
{
    struct wb_span spans[] = {
        {0}, WB_SPAN("{\"jsonrpc\":\"2.0\",\"id\":"), id_json, outcome, value, WB_SPAN("}"), {0},
    };

    return send_body(sink, spans, WB_COUNT(spans), err);
}

int wb_envelope_result(const struct wb_envelope_sink *sink, struct wb_span id_json,
                       struct wb_span result_json, struct wb_error *err)
{
    return send_response(sink, id_json, WB_SPAN(",\"result\":"), result_json, err);
}

int wb_envelope_error(const struct wb_envelope_sink *sink, struct wb_span id_json, int64_t code,
                      const char *message, struct wb_span data_json, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text error = {0};
    struct wb_json_writer w;

    wb_json_writer_init(&w, &error);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "code", code);
    wb_json_member_str(&w, "message", message);
    if (data_json.len > 0) {
        wb_json_key(&w, "data");
        wb_json_put_raw(&w, data_json);
    }
    wb_json_end_object(&w);
    return send_response(sink, id_json, WB_SPAN(",\"error\":"), wb_text_span(&error), err);
}
