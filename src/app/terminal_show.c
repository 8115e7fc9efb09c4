/* terminal_show: see the header. */
#include "app/terminal_show.h"

#include "base/clock.h"

#define BOLD "\x1b[1m"
#define DIM "\x1b[2m"
#define RED "\x1b[31m"
#define RESET "\x1b[0m"

static void put(const struct wb_terminal_style *style, struct wb_text *out, const char *colour,
                const char *text)
{
    if (style->has_colour) {
        wb_text_printf(out, "%s%s%s", colour, text, RESET);
    } else {
        wb_text_add_str(out, text);
    }
}

/* What a tool gives may hold escape sequences; on a terminal they would act. */
static void put_printable(struct wb_text *out, struct wb_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 32 && c != '\n' && c != '\t') {
            wb_text_add_char(out, '^');
            wb_text_add_char(out, (char)(c + '@'));
        } else if (c == 127) {
            wb_text_add_str(out, "^?");
        } else {
            wb_text_add_char(out, (char)c);
        }
    }
}

static void put_attachment(const struct wb_terminal_style *style, const struct wb_run *run,
                           unsigned *n_saved, struct wb_result *result,
                           const struct wb_attachment *attachment, struct wb_text *out)
{
    struct wb_error err;
    wb_picture_put(out, style->pictures, attachment);
    const char *path = wb_attachment_save(run, n_saved, &result->arena, attachment, &err);
    wb_text_printf(out, "[%s: %s]\n", attachment->mime, path != NULL ? path : err.message);
}

void wb_terminal_show_result(const struct wb_terminal_style *style, const struct wb_run *run,
                             unsigned *n_saved, struct wb_result *result, struct wb_text *out)
{
    if (result->is_error) {
        put(style, out, RED, "error: ");
    }
    put_printable(out, wb_text_span(&result->text));
    if (out->len > 0 && out->ptr[out->len - 1] != '\n') {
        wb_text_add_char(out, '\n');
    }
    for (size_t i = 0; i < result->n_attachments; i++) {
        put_attachment(style, run, n_saved, result, &result->attachments[i], out);
    }
}

void wb_terminal_show_card(const struct wb_terminal_style *style, const struct wb_card_view *view,
                           struct wb_text *out)
{
    const struct wb_card *card = &view->card;
    WB_AUTO(wb_text_done) struct wb_text head = {0};
    wb_text_printf(&head, "[%llu] ", (unsigned long long)view->number);
    put_printable(&head, wb_span(card->question));
    wb_text_add_char(out, '\n');
    put(style, out, BOLD, wb_text_cstr(&head));
    wb_text_add_char(out, '\n');
    if (card->origin != NULL && !wb_str_equal(card->origin, "operator")) {
        wb_text_printf(out, "    asked by: %s\n", card->origin);
    }
    if (card->context != NULL) {
        wb_text_add_str(out, "    ");
        put_printable(out, wb_span(card->context));
        wb_text_add_char(out, '\n');
    }
    for (size_t i = 0; i < card->n_options; i++) {
        wb_text_printf(out, "  %zu  ", i + 1);
        put_printable(out, wb_span(card->options[i].label));
        if (card->options[i].description != NULL) {
            wb_text_add_str(out, "  ");
            put(style, out, DIM, card->options[i].description);
        }
        wb_text_add_char(out, '\n');
    }
}

void wb_terminal_show_choices(const struct wb_card *card, struct wb_text *out)
{
    if (card->n_options == 1) {
        wb_text_add_str(out, "1");
    } else if (card->n_options > 1) {
        wb_text_printf(out, "1-%zu%s", card->n_options, card->multi_select ? ", several" : "");
    }
    if (card->allow_free_text) {
        wb_text_add_str(out, card->n_options > 0 ? ", text" : "text");
    }
    wb_text_add_str(out, " or skip> ");
}

void wb_terminal_show_help(const struct wb_run *run, const char *name, struct wb_text *out)
{
    const struct wb_tool *tool;
    if (name != NULL && (tool = wb_run_find_tool(run, name)) != NULL) {
        wb_text_printf(out, "/%s: %s\n\n%s\n\n", tool->name, tool->summary, tool->description);
        wb_args_help(out, &tool->args);
        return;
    }
    wb_text_add_str(out,
                    "Tools, called as /NAME WORDS; words fill the arguments in order, KEY=VALUE "
                    "names one,\n{...} are the arguments as JSON:\n");
    for (size_t cursor = 0; (tool = wb_run_next_tool(run, &cursor)) != NULL;) {
        wb_text_printf(out, "  /%-12s %s\n", tool->name, tool->summary);
    }
    wb_text_add_str(out,
                    "\n  /plan         read only: tools that write or run things are gone\n"
                    "  /ask          what writes or runs things is asked for first\n"
                    "  /edits        writes pass, what runs things is asked for\n"
                    "  /full         all passes, but for guard rules and paths outside\n"
                    "  /help [TOOL]  this, or what a tool takes\n"
                    "  /quit         end (also Ctrl-D)\n"
                    "\nTab completes, a \\ at a line's end goes on with the next, Ctrl-C ends the "
                    "call under way.\n");
}
