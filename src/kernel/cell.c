/* cell: see cell.h. */
#include "kernel/cell.h"

#include <stdlib.h>

#include "base/limits.h"

void wb_cell_init(struct wb_cell *cell, const char *spill_path)
{
    *cell = (struct wb_cell){0};
    wb_output_init(&cell->output, WB_KERNEL_OUTPUT_BYTES_MAX, spill_path);
}

void wb_cell_done(struct wb_cell *cell)
{
    wb_output_done(&cell->output);
    wb_displays_done(&cell->displays);
    wb_text_done(&cell->background);
    free(cell->marks);
    free(cell->error_name);
    free(cell->error_message);
    free(cell->traceback);
    free(cell->cwd);
    free(cell->death);
}

void wb_cell_mark(struct wb_cell *cell, uint64_t mark)
{
    bool rises = cell->n_marks == 0 || mark > cell->marks[cell->n_marks - 1].mark;
    if (rises && cell->n_marks < WB_KERNEL_MARKS_MAX) {
        WB_GROW(cell->marks, cell->marks_capacity, cell->n_marks + 1);
        cell->marks[cell->n_marks++] = (struct wb_cell_mark){mark, wb_output_offset(&cell->output)};
    }
}

uint64_t wb_cell_offset(const struct wb_cell *cell, uint64_t mark)
{
    size_t i = 0;
    while (i < cell->n_marks && cell->marks[i].mark < mark) {
        i++;
    }
    return mark != 0 && i < cell->n_marks ? cell->marks[i].offset : cell->output.kept.total_bytes;
}
