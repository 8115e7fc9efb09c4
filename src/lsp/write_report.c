/* write_report: see write_report.h. */
#include "lsp/write_report.h"

#include "run/call_record.h"
#include "run/run.h"
#include "sys/path.h"

#define FINDINGS_SHOWN 20

void wb_write_report_list(const struct wb_diagnostic_list *news, const char *workspace,
                          struct wb_text *out)
{
    size_t shown = WB_MIN(news->count, (size_t)FINDINGS_SHOWN);
    for (size_t i = 0; i < shown; i++) {
        wb_diagnostic_line(out, &news->items[i], wb_path_relative(news->items[i].path, workspace));
    }
    if (shown < news->count) {
        wb_text_printf(out, "%zu of %zu new diagnostics shown; lsp diagnostics has the rest.\n",
                       shown, news->count);
    }
}

/* The servers that gave an answer, each once. */
static void name_servers(const struct wb_write_report *report, struct wb_text *out)
{
    for (size_t i = 0; i < report->n_answers; i++) {
        bool named = report->answers[i].state == WB_ANSWER_UNKNOWN;
        for (size_t k = 0; k < i && !named; k++) {
            named = report->answers[k].state != WB_ANSWER_UNKNOWN &&
                    wb_str_equal(report->answers[k].server, report->answers[i].server);
        }
        if (!named) {
            wb_text_printf(out, "%s%s", out->len > 0 ? ", " : "", report->answers[i].server);
        }
    }
}

static void tell_unknown(const struct wb_write_report *report, struct wb_text *out)
{
    const char *last = "";
    for (size_t i = 0; i < report->n_answers; i++) {
        const struct wb_server_answer *answer = &report->answers[i];
        if (answer->state == WB_ANSWER_UNKNOWN && !wb_str_equal(last, answer->reason)) {
            wb_text_printf(out, "Diagnostics unknown: %s\n", answer->reason);
            last = answer->reason;
        }
    }
}

void wb_write_report_separate(struct wb_text *text)
{
    if (text->len > 0 && text->ptr[text->len - 1] != '\n') {
        wb_text_add_char(text, '\n');
    }
}

static void tell(struct wb_write_report *report, const char *workspace, struct wb_result *result)
{
    struct wb_text *out = &result->text;
    WB_AUTO(wb_text_done) struct wb_text known;
    wb_text_init(&known);
    name_servers(report, &known);
    wb_write_report_separate(out);
    wb_diagnostics_sort(&report->news);
    if (report->news.count > 0) {
        wb_text_printf(out, "New diagnostics%s:\n",
                       report->doubtful ? " (some may be older: the server had not read the file "
                                          "before the write)"
                                        : "");
        wb_write_report_list(&report->news, workspace, out);
    } else if (known.len > 0) {
        wb_text_printf(out, "No new diagnostics (%s).\n", wb_text_cstr(&known));
    }
    tell_unknown(report, out);
    if (report->n_left_out > 0) {
        wb_text_printf(out,
                       "%zu more files were written and not checked; lsp diagnostics \"*\" "
                       "runs the project check.\n",
                       report->n_left_out);
    }
}

void wb_write_report_add(const struct wb_write_report *report, const struct wb_call *call,
                         const char *member, struct wb_result *result)
{
    WB_AUTO(wb_text_done) struct wb_text json;
    wb_text_init(&json);
    struct wb_json_writer w;
    wb_json_writer_init(&w, &json);
    wb_diagnostics_json(&w, wb_run_workspace(call->run), &report->news, report->answers,
                        report->n_answers);
    wb_result_add_member(result, member, wb_text_span(&json));
    wb_call_record_diagnostics(call, wb_text_span(&json));
}

void wb_write_report_show(struct wb_write_report *report, const struct wb_call *call,
                          struct wb_result *result)
{
    tell(report, wb_run_workspace(call->run), result);
    wb_write_report_add(report, call, "diagnostics", result);
}
