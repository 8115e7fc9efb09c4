/* result: what a call gives back.
 *
 * text is for the model: bounded, and it says what was cut and how to get it. data is JSON, whole,
 * for programs and the bridge. attachments are pictures. A result owns its arena: everything that
 * the call allocated lives until wb_result_done. It may be moved by assignment, and belongs to one
 * thread at a time. */
#ifndef WB_RUN_RESULT_H
#define WB_RUN_RESULT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

struct wb_attachment {
    const char *mime; /* "image/png" */
    struct wb_span bytes;
};

struct wb_result {
    struct wb_arena arena;
    struct wb_text text;
    struct wb_text data; /* one JSON value, or empty: then data is null */
    struct wb_attachment *attachments;
    size_t n_attachments, attachments_capacity;
    bool is_error;
    enum wb_error_code code; /* of the error */
    /* What observers add while the tool still writes its own: notes go behind the text, members
     * ("key":value,...) into the data, both in wb_result_finish. */
    struct wb_text notes, members;
};

void wb_result_init(struct wb_result *result);
void wb_result_done(struct wb_result *result); /* also WB_AUTO(wb_result_done) */

/* Makes it an error with this text. Text that is there already stays in front. */
void wb_result_fail(struct wb_result *result, const struct wb_error *err);
/* Starts data: a writer on result->data. */
void wb_result_data(struct wb_result *result, struct wb_json_writer *w);
void wb_result_attach(struct wb_result *result, const char *mime, struct wb_span bytes);
/* Adds a top-level member to data at the call's end; dropped when data is no object by then.
 * json: one value on one line. */
void wb_result_add_member(struct wb_result *result, const char *key, struct wb_span json);

/* The call's end: notes and members take their places, then wb_result_bound. */
void wb_result_finish(struct wb_result *result);
/* Cuts text over WB_RESULT_TEXT_BYTES_MAX in the middle and says how much was cut. */
void wb_result_bound(struct wb_result *result);

void wb_attachment_base64(struct wb_text *out, const struct wb_attachment *attachment);
/* The data, or null. */
void wb_result_put_data(struct wb_json_writer *w, const struct wb_result *result);

#endif
