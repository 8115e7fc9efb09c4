/* survey: which languages a folder has, for the question that names none. Must not read files, but the
 * first line of those whose name says nothing. */
#include <stdlib.h>

#include "ast/scan.h"

struct survey_row {
    const struct wb_grammar *grammar;
    size_t n;
};

struct survey {
    const struct wb_languages *languages;
    const struct wb_grammars *grammars;
    struct survey_row found[128];
    size_t n_found;
};

static bool survey_file(void *ctx, const char *path, const char *shown)
{
    struct survey *survey = ctx;
    const struct wb_grammar *grammar =
        wb_grammars_of(survey->grammars, wb_scan_language(survey->languages, path));
    (void)shown;
    for (size_t i = 0; grammar != NULL && i < WB_COUNT(survey->found); i++) {
        if (i == survey->n_found) {
            survey->found[survey->n_found++].grammar = grammar;
        }
        if (survey->found[i].grammar == grammar) {
            survey->found[i].n++;
            break;
        }
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct survey_row *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n)
                        : strcmp(x->grammar->language->id, y->grammar->language->id);
}

int wb_scan_survey(struct wb_call *call, const struct wb_languages *languages,
                   const struct wb_grammars *grammars, struct wb_span path, struct wb_text *out,
                   struct wb_error *err)
{
    struct survey survey = {.languages = languages, .grammars = grammars};
    struct wb_search search = {.call = call, .visit = survey_file, .ctx = &survey};
    if (wb_search_files(&search, path, err) != 0) {
        return -1;
    }
    qsort(survey.found, survey.n_found, sizeof(survey.found[0]), by_number);
    for (size_t i = 0; i < survey.n_found; i++) {
        wb_text_printf(out, "%s%s (%zu file%s)", i > 0 ? ", " : "",
                       survey.found[i].grammar->language->id, survey.found[i].n,
                       survey.found[i].n == 1 ? "" : "s");
    }
    return 0;
}
