/* write_report: what a write's result says of its diagnostics: the new ones, who found none, and who
 * has not spoken. */
#ifndef WB_LSP_WRITE_REPORT_H
#define WB_LSP_WRITE_REPORT_H

#include "lsp/diagnostics.h"
#include "run/call.h"

struct wb_write_report {
    struct wb_diagnostic_list news;
    struct wb_server_answer *answers; /* one a file and server */
    size_t n_answers, answers_capacity;
    bool doubtful;     /* news of a file whose old state is not known */
    size_t n_left_out; /* files that were written and not looked at */
};

/* Text, the member "diagnostics" of data, and the transcript's event. Sorts the news. */
void wb_write_report_show(struct wb_write_report *report, const struct wb_call *call,
                          struct wb_result *result);
/* The findings as a member of the result's data, and in the transcript. */
void wb_write_report_add(const struct wb_write_report *report, const struct wb_call *call,
                         const char *member, struct wb_result *result);
/* At most 20 lines, then a count. */
void wb_write_report_list(const struct wb_diagnostic_list *news, const char *workspace,
                          struct wb_text *out);
/* Begins a new line where text is in one. */
void wb_write_report_separate(struct wb_text *text);

#endif
