/* cell: what one cell has given: text, displays, pictures, an error, and how it ended. The loop
 * thread fills it under the kernel's lock; when the cell is over it is its caller's alone. */
#ifndef WB_KERNEL_CELL_H
#define WB_KERNEL_CELL_H

#include "kernel/display.h"
#include "kernel/output.h"
#include "sys/child.h"

enum wb_cell_status {
    WB_CELL_OK,
    WB_CELL_ERROR,       /* it raised something */
    WB_CELL_INTERRUPTED, /* stopped, state kept */
    WB_CELL_KILLED,      /* stopped by killing the kernel, state lost */
    WB_CELL_DIED,        /* the kernel ended under it, state lost */
};

/* Why it was stopped. */
enum wb_cell_stop {
    WB_CELL_STOP_NONE,
    WB_CELL_STOP_CANCELLED,
    WB_CELL_STOP_INACTIVE,
    WB_CELL_STOP_LIMIT,    /* of the whole cell */
    WB_CELL_STOP_DEADLINE, /* the caller's */
    WB_CELL_STOP_RESET,    /* somebody else's reset */
};

/* Where in the text a mark was. */
struct wb_cell_mark {
    uint64_t mark, offset;
};

struct wb_cell {
    enum wb_cell_status status;
    enum wb_cell_stop stop;
    bool ending; /* the cell ended the kernel itself: exit() */
    struct wb_output output;
    uint64_t text_bytes; /* of the output that are the cell's: to its last mark */
    struct wb_displays displays;
    struct wb_cell_mark *marks; /* rising */
    size_t n_marks, marks_capacity;
    struct wb_text background;                    /* printed between the cell before and this one */
    char *error_name, *error_message, *traceback; /* NULL: none */
    char *cwd;                                    /* at its end; NULL: not told */
    char *death;                                  /* a clause: how the kernel ended; NULL */
};

void wb_cell_init(struct wb_cell *cell, const char *spill_path);
void wb_cell_done(struct wb_cell *cell);
/* The text has come to this mark. */
void wb_cell_mark(struct wb_cell *cell, uint64_t mark);
/* Where the text of a mark ends; 0, and marks that never came: where all of it ends. */
uint64_t wb_cell_offset(const struct wb_cell *cell, uint64_t mark);

#endif
