/* display: what a cell shows besides text: bundles of one thing in several forms (MIME types).
 *
 * For the model a bundle becomes a picture (PNG, JPEG), else Markdown, else plain text; what else
 * it has (HTML, SVG, JSON, LaTeX) is kept for the transcript. A display with the id of an earlier
 * one replaces it. All is bounded. Not thread-safe. */
#ifndef WB_KERNEL_DISPLAY_H
#define WB_KERNEL_DISPLAY_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#define WB_DISPLAYS_MAX 200                     /* of one cell; more are counted */
#define WB_DISPLAY_PICTURES_MAX 20              /* of one cell */
#define WB_DISPLAY_PICTURE_BYTES_MAX (32 << 20) /* of one cell, together */
#define WB_DISPLAY_TEXT_BYTES_MAX (16 << 10)    /* for the model, of one display */
#define WB_DISPLAY_VALUE_BYTES_MAX (16 << 20)   /* text/plain of the value, for programs */

struct wb_display {
    uint64_t mark;         /* where in the text; 0: at the end */
    char *id;              /* NULL: none */
    bool is_value;         /* of the last expression */
    struct wb_text text;   /* for the model; empty where the picture says all */
    char *mime;            /* of the picture; NULL: none */
    struct wb_text bytes;  /* of the picture */
    struct wb_text others; /* for the transcript: a JSON object of its other forms, or empty */
};

struct wb_displays {
    struct wb_display *items;
    size_t count, capacity;
    size_t n_pictures, picture_bytes;
    size_t n_left_out, n_pictures_left_out;
    uint64_t clear_mark; /* text and displays before it were cleared; 0: never */
    char *value;         /* text/plain of the last expression; NULL: none */
    size_t value_len;
};

void wb_displays_done(struct wb_displays *displays);
/* Takes the payload of a DISPLAY or RESULT frame. -1: it is none. */
WB_MUST_CHECK int wb_displays_take(struct wb_displays *displays, struct wb_span payload,
                                   bool is_value, struct wb_error *err);
/* A picture that comes without a bundle: of a bridged call. */
void wb_displays_add_picture(struct wb_displays *displays, uint64_t mark, const char *mime,
                             struct wb_span bytes);

#endif
