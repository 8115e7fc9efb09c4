/* report: see report.h. */
#include "kernel/report.h"

#include "run/run.h"

/* Of the text, the model sees all, or this much of both ends. */
#define SHOWN_HEAD_BYTES_MAX (8 * WB_KIB)
#define SHOWN_TAIL_BYTES_MAX (24 * WB_KIB)
#define TRACEBACK_BYTES_MAX (16 * WB_KIB)

/* The text of a cell on its way into the result. */
struct printer {
    struct wb_cell *cell;
    struct wb_text *out;
    uint64_t at, end;          /* offsets: printed so far, where the cell's text ends */
    uint64_t gap_from, gap_to; /* left out */
};

static void end_line(struct wb_text *out)
{
    if (out->len > 0 && out->ptr[out->len - 1] != '\n') {
        wb_text_add_char(out, '\n');
    }
}

static void tell_gap(struct printer *printer)
{
    bool is_whole;
    const char *path = wb_output_spill(&printer->cell->output, &is_whole);
    end_line(printer->out);
    wb_text_printf(printer->out, "[... %llu bytes of output left out",
                   (unsigned long long)(printer->gap_to - printer->gap_from));
    if (path != NULL) {
        wb_text_printf(printer->out, "; %s is in %s",
                       is_whole ? "all of it, as it came," : "its first GiB, as it came,", path);
    }
    wb_text_add_str(printer->out, " ...]\n");
}

/* The text up to this offset. */
static void print_text(struct printer *printer, uint64_t to)
{
    const struct wb_output *output = &printer->cell->output;
    to = WB_MIN(to, printer->end);
    if (to <= printer->at) {
        return;
    }
    if (printer->at < printer->gap_from) {
        wb_output_print(output, printer->at, WB_MIN(to, printer->gap_from), printer->out);
    }
    if (printer->at <= printer->gap_from && to > printer->gap_from) {
        tell_gap(printer);
        printer->at = printer->gap_to;
    }
    if (to > printer->gap_to) {
        wb_output_print(output, WB_MAX(printer->at, printer->gap_to), to, printer->out);
    }
    printer->at = WB_MAX(printer->at, to);
}

static void begin_printer(struct printer *printer, struct wb_cell *cell, struct wb_text *out)
{
    uint64_t clear = cell->displays.clear_mark;
    *printer = (struct printer){.cell = cell, .out = out, .end = cell->text_bytes};
    printer->at = clear != 0 ? WB_MIN(wb_cell_offset(cell, clear), printer->end) : 0;
    printer->gap_from = printer->gap_to = printer->end;
    if (printer->end - printer->at > SHOWN_HEAD_BYTES_MAX + SHOWN_TAIL_BYTES_MAX) {
        printer->gap_from = printer->at + SHOWN_HEAD_BYTES_MAX;
        printer->gap_to = printer->end - SHOWN_TAIL_BYTES_MAX;
    }
}

static void record_others(const struct wb_call *call, const struct wb_display *display)
{
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    if (display->others.len > 0) {
        wb_text_printf(&members, "\"call\":%llu,\"forms\":", (unsigned long long)call->id);
        wb_text_add_span(&members, wb_text_span(&display->others));
        wb_transcript_add(wb_run_transcript(call->run), wb_run_id(call->run), "display",
                          wb_text_span(&members));
    }
}

static void print_display(struct printer *printer, const struct wb_display *display,
                          struct wb_result *result)
{
    end_line(printer->out);
    if (display->mime != NULL) {
        wb_result_attach(result, display->mime, wb_text_span(&display->bytes));
        wb_text_printf(printer->out, "[picture %zu, %s%s%s]\n", result->n_attachments,
                       display->mime, display->text.len > 0 ? ": " : "",
                       wb_text_cstr(&display->text));
    } else {
        wb_text_add_span(printer->out, wb_text_span(&display->text));
        end_line(printer->out);
    }
}

static void print_body(struct wb_call *call, struct wb_cell *cell, struct wb_result *result)
{
    struct printer printer;
    const struct wb_displays *displays = &cell->displays;
    begin_printer(&printer, cell, &result->text);
    for (size_t i = 0; i < displays->count; i++) {
        print_text(&printer, wb_cell_offset(cell, displays->items[i].mark));
        print_display(&printer, &displays->items[i], result);
        record_others(call, &displays->items[i]);
    }
    print_text(&printer, printer.end);
    end_line(&result->text);
    if (displays->n_left_out > 0) {
        wb_text_printf(&result->text, "[%zu more displays left out; a cell has %d at most]\n",
                       displays->n_left_out, WB_DISPLAYS_MAX);
    }
    if (displays->n_pictures_left_out > 0) {
        wb_text_printf(&result->text,
                       "[%zu more pictures left out; a cell has %d, and %d MB, at most]\n",
                       displays->n_pictures_left_out, WB_DISPLAY_PICTURES_MAX,
                       WB_DISPLAY_PICTURE_BYTES_MAX >> 20);
    }
}

static void print_error(const struct wb_cell *cell, struct wb_text *out)
{
    struct wb_span traceback = wb_span(cell->traceback);
    if (traceback.len > TRACEBACK_BYTES_MAX) {
        size_t head = wb_utf8_cut(traceback, TRACEBACK_BYTES_MAX / 4);
        size_t tail = traceback.len - TRACEBACK_BYTES_MAX / 4 * 3;
        wb_text_add_utf8(out, (struct wb_span){traceback.ptr, head});
        wb_text_add_str(out, "\n[...]\n");
        traceback.ptr += tail;
        traceback.len -= tail;
    }
    if (traceback.len > 0) {
        wb_text_add_utf8(out, traceback);
    } else if (cell->error_name != NULL) {
        wb_text_printf(out, "%s: %s", cell->error_name,
                       cell->error_message != NULL ? cell->error_message : "");
    }
    end_line(out);
}

/* Why it was stopped, as a clause. */
static const char *describe_stop(struct wb_arena *arena, const struct wb_cell *cell,
                                 const struct wb_report_options *options)
{
    switch (cell->stop) {
    case WB_CELL_STOP_CANCELLED:
        return "on the caller's wish";
    case WB_CELL_STOP_INACTIVE:
        return wb_arena_printf(arena, "after %lld s without output (eval.inactivity_s)",
                               (long long)(options->inactivity_ms / 1000));
    case WB_CELL_STOP_LIMIT:
        return wb_arena_printf(arena, "after %lld s (eval.limit_s)",
                               (long long)(options->limit_ms / 1000));
    case WB_CELL_STOP_DEADLINE:
        return "at the caller's deadline";
    case WB_CELL_STOP_RESET:
        return "by a reset";
    case WB_CELL_STOP_NONE:
        break;
    }
    return "";
}

#define FRESH_NEXT "the next cell starts a fresh interpreter"

static void print_end(struct wb_arena *arena, const struct wb_cell *cell,
                      const struct wb_report_options *options, struct wb_text *out)
{
    const char *stop = describe_stop(arena, cell, options);
    switch (cell->status) {
    case WB_CELL_INTERRUPTED:
        wb_text_printf(out, "[interrupted, state kept: stopped %s]\n", stop);
        break;
    case WB_CELL_KILLED:
        wb_text_printf(
            out,
            "[killed, state lost: stopped %s, and the interrupt did not end it; " FRESH_NEXT "]\n",
            stop);
        break;
    case WB_CELL_DIED:
        wb_text_printf(out, "[state lost: the interpreter %s; " FRESH_NEXT "]\n", cell->death);
        break;
    default:
        if (cell->death != NULL) {
            wb_text_printf(out,
                           "[state lost: the cell ended the interpreter, which %s; " FRESH_NEXT
                           "]\n",
                           cell->death);
        }
        break;
    }
    if (cell->cwd != NULL && options->cwd != NULL && !wb_str_equal(cell->cwd, options->cwd)) {
        wb_text_printf(out, "[the working directory is now %s]\n", cell->cwd);
    }
}

/* --- data --- */

static void put_error(struct wb_json_writer *w, const struct wb_cell *cell)
{
    wb_json_key(w, "error");
    if (cell->error_name == NULL) {
        wb_json_put_null(w);
        return;
    }
    wb_json_begin_object(w);
    wb_json_member_str(w, "name", cell->error_name);
    wb_json_member_str(w, "message", cell->error_message);
    wb_json_end_object(w);
}

static void put_data(struct wb_cell *cell, struct wb_result *result)
{
    WB_AUTO(wb_text_done) struct wb_text output = {0};
    struct wb_json_writer w;
    wb_output_print(&cell->output, 0, cell->text_bytes, &output);
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "value");
    if (cell->displays.value != NULL) {
        wb_json_put_span(&w, (struct wb_span){cell->displays.value, cell->displays.value_len});
    } else {
        wb_json_put_null(&w);
    }
    wb_json_member_span(&w, "output", wb_text_span(&output));
    wb_json_member_str(&w, "state", cell->death != NULL ? "lost" : "kept");
    put_error(&w, cell);
    wb_json_end_object(&w);
}

static enum wb_error_code code_of(const struct wb_cell *cell)
{
    static const enum wb_error_code codes[] = {
        [WB_CELL_STOP_NONE] = WB_ERROR_CLOSED,      [WB_CELL_STOP_CANCELLED] = WB_ERROR_CANCELLED,
        [WB_CELL_STOP_INACTIVE] = WB_ERROR_TIMEOUT, [WB_CELL_STOP_LIMIT] = WB_ERROR_TIMEOUT,
        [WB_CELL_STOP_DEADLINE] = WB_ERROR_TIMEOUT, [WB_CELL_STOP_RESET] = WB_ERROR_CANCELLED,
    };

    return cell->status == WB_CELL_OK || cell->status == WB_CELL_ERROR ? WB_ERROR_NONE
                                                                       : codes[cell->stop];
}

void wb_report(struct wb_call *call, struct wb_cell *cell, const struct wb_report_options *options,
               struct wb_result *result)
{
    struct wb_text *out = &result->text;
    wb_text_add_span(out, options->told);
    if (cell->background.len > 0) {
        wb_text_add_str(out, "[background output since the cell before:]\n");
        wb_text_add_span(out, wb_text_span(&cell->background));
        end_line(out);
        wb_text_add_str(out, "[end of the background output]\n");
    }
    print_body(call, cell, result);
    print_error(cell, out);
    print_end(call->arena, cell, options, out);
    result->is_error = cell->status != WB_CELL_OK;
    result->code = code_of(cell);
    put_data(cell, result);
}
