/* output: the text that a cell and its children print, as it comes from the raw stream.
 *
 * Kept for model and programs: head and tail, with carriage returns folded (a progress bar's ten
 * thousand states are one line). Kept whole, as it came: a spill file, written from the moment that
 * the text is more than the model is shown. Offsets are those of the folded text, so that a display
 * can be put where its mark was. Not thread-safe. */
#ifndef WB_KERNEL_OUTPUT_H
#define WB_KERNEL_OUTPUT_H

#include "base/error.h"
#include "base/text.h"

/* A bounded text: its first bytes and its last. */
struct wb_output_ends {
    struct wb_text head, tail;
    size_t half_bytes; /* of each */
    uint64_t total_bytes;
};

struct wb_output {
    struct wb_output_ends kept;
    struct wb_text line; /* the last line, which a carriage return may still begin anew */
    bool carriage_return;
    struct wb_text unspilled; /* as it came, until there is a spill file */
    char *spill_path;         /* NULL: none is wanted, or it could not be written */
    int spill_fd;             /* -1: none yet */
    uint64_t spilled_bytes;
    bool spill_is_wanted; /* somebody was told of it: it stays */
};

/* spill_path may be NULL; copied. */
void wb_output_init(struct wb_output *output, size_t kept_bytes, const char *spill_path);
void wb_output_done(struct wb_output *output);
void wb_output_add(struct wb_output *output, const char *ptr, size_t len);
/* Where the text ends now; what is there is not folded any more. */
uint64_t wb_output_offset(struct wb_output *output);
/* The path of the file that has everything, which stays then; NULL: there is none. *ret_is_whole:
 * false where the file reached its own limit. */
const char *wb_output_spill(struct wb_output *output, bool *ret_is_whole);

/* Appends what is kept between two offsets as valid UTF-8, with "[... N bytes left out ...]" where
 * something is missing. */
void wb_output_print(const struct wb_output *output, uint64_t from, uint64_t to,
                     struct wb_text *out);

#endif
