/* call: one call from the shell, or one a line from standard input, all in one run.
 *
 * The answer is the result's text, or with --json and for lines one object:
 * {"tool", "text", "data", "attachments": [{"mime", "path"}], "is_error"}. Pictures go into files of
 * the user's cache folder. */
#include <errno.h>
#include <unistd.h>

#include "app/attachment.h"
#include "app/command.h"
#include "app/interrupt.h"
#include "app/output.h"
#include "app/session.h"
#include "wire/frame.h"

#define READ_BYTES (64 * WB_KIB)

struct caller {
    struct wb_session session;
    struct wb_interrupt *interrupt;
    unsigned n_attachments; /* written, for their names */
};

static int open_caller(const struct wb_options *options, struct caller *ret, struct wb_error *err)
{
    *ret = (struct caller){.interrupt = wb_interrupt_start(err)};
    if (ret->interrupt == NULL) {
        return -1;
    }
    if (wb_session_open(options, NULL, &ret->session, err) != 0) {
        wb_interrupt_stop(ret->interrupt);
        return -1;
    }
    return 0;
}

static void close_caller(struct caller *caller)
{
    wb_session_close(&caller->session);
    wb_interrupt_stop(caller->interrupt);
}

static void run_call(struct caller *caller, const char *tool, struct wb_span arguments,
                     struct wb_result *ret)
{
    struct wb_cancel cancel;
    const struct wb_call_options options = {.cancel = &cancel, .origin = "operator"};
    wb_cancel_init(&cancel);
    wb_interrupt_target(caller->interrupt, &cancel);
    wb_run_call(caller->session.run, tool, arguments, &options, ret);
    wb_interrupt_target(caller->interrupt, NULL);
    wb_cancel_done(&cancel);
}

static void put_attachments(struct caller *caller, struct wb_json_writer *w,
                            struct wb_result *result)
{
    wb_json_begin_array(w);
    for (size_t i = 0; i < result->n_attachments; i++) {
        const struct wb_attachment *attachment = &result->attachments[i];
        struct wb_error err;
        const char *path = wb_attachment_save(caller->session.run, &caller->n_attachments,
                                              &result->arena, attachment, &err);
        wb_json_begin_object(w);
        wb_json_member_str(w, "mime", attachment->mime);
        wb_json_member_str(w, "path", path);
        if (path == NULL) {
            wb_json_member_str(w, "error", err.message);
        }
        wb_json_end_object(w);
    }
    wb_json_end_array(w);
}

/* tool NULL: the line named none. */
static int answer_json(struct caller *caller, const char *tool, struct wb_result *result,
                       struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    struct wb_json_writer w;
    wb_json_writer_init(&w, &line);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "tool", tool);
    wb_json_member_span(&w, "text", wb_text_span(&result->text));
    wb_json_key(&w, "data");
    wb_result_put_data(&w, result);
    wb_json_key(&w, "attachments");
    put_attachments(caller, &w, result);
    wb_json_member_bool(&w, "is_error", result->is_error);
    wb_json_end_object(&w);
    wb_text_add_char(&line, '\n');
    return wb_output_write(wb_text_span(&line), err);
}

static int answer_text(struct caller *caller, struct wb_result *result, struct wb_error *err)
{
    struct wb_text *text = &result->text;
    if (text->len > 0 && text->ptr[text->len - 1] != '\n') {
        wb_text_add_char(text, '\n');
    }
    for (size_t i = 0; i < result->n_attachments; i++) {
        const struct wb_attachment *attachment = &result->attachments[i];
        struct wb_error save_err;
        const char *path = wb_attachment_save(caller->session.run, &caller->n_attachments,
                                              &result->arena, attachment, &save_err);
        wb_text_printf(text, "[%s: %s]\n", attachment->mime,
                       path != NULL ? path : save_err.message);
    }
    return wb_output_write(wb_text_span(text), err);
}

/* --- one call --- */

static int read_input(struct wb_text *out, struct wb_error *err)
{
    for (;;) {
        wb_text_reserve(out, READ_BYTES);
        ssize_t n = read(STDIN_FILENO, out->ptr + out->len, READ_BYTES);
        if (n < 0 && errno != EINTR) {
            return wb_error_errno(err, errno, "cannot read standard input");
        }
        if (n == 0) {
            return 0;
        }
        out->len += n > 0 ? (size_t)n : 0;
        if (out->len > WB_CALL_ARGUMENT_BYTES_MAX) {
            return wb_error_set(err, WB_ERROR_LIMIT, "the arguments are over %zu bytes",
                                (size_t)WB_CALL_ARGUMENT_BYTES_MAX);
        }
    }
}

/* The arguments must be JSON before anything starts: exit status 2 says so. */
static int check_json(struct wb_span text, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    if (!wb_utf8_valid(text)) {
        return wb_error_set(err, WB_ERROR_INVALID, "they are not valid UTF-8");
    }
    return wb_json_parse(&arena, text, err) != NULL ? 0 : -1;
}

static int call_once(const struct wb_options *options, const char *tool, struct wb_span arguments)
{
    struct caller caller;
    struct wb_result result;
    struct wb_error err;
    if (check_json(arguments, &err) != 0) {
        return wb_command_refuse("the arguments of %s are not JSON: %s", tool, err.message);
    }
    if (open_caller(options, &caller, &err) != 0) {
        return wb_command_refuse("%s", err.message);
    }
    run_call(&caller, tool, arguments, &result);
    int status = result.is_error ? WB_EXIT_ERROR : WB_EXIT_DONE;
    if ((options->json ? answer_json(&caller, tool, &result, &err)
                       : answer_text(&caller, &result, &err)) != 0) {
        wb_command_refuse("%s", err.message);
        status = WB_EXIT_ERROR;
    }
    wb_result_done(&result);
    close_caller(&caller);
    return status;
}

/* --- a call a line --- */

/* What is wrong with a line before there is a call. */
static int check_line(const struct wb_json *line, struct wb_error *err)
{
    static const char form[] = "a line must be {\"tool\": \"NAME\", \"args\": {...}}";
    if (wb_json_type(line) != WB_JSON_OBJECT) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s, not %s", form,
                            wb_json_type_name(wb_json_type(line)));
    }
    for (struct wb_json_iter it = wb_json_iter(line); wb_json_next(&it);) {
        if (!wb_str_equal(it.key, "tool") && !wb_str_equal(it.key, "args")) {
            return wb_error_set(err, WB_ERROR_INVALID, "%s; it has no `%.64s`", form, it.key);
        }
    }
    if (wb_json_str(wb_json_get(line, "tool")) == NULL) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s: `tool` is missing or no string", form);
    }
    return 0;
}

static int call_line(struct caller *caller, struct wb_span text, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_result_done) struct wb_result result;
    struct wb_error line_err;
    wb_arena_init(&arena);
    const struct wb_json *line = wb_json_parse(&arena, text, &line_err);
    if (line == NULL) {
        wb_error_context(&line_err, "the line is not JSON");
    }
    if (line == NULL || check_line(line, &line_err) != 0) {
        wb_result_init(&result);
        wb_result_fail(&result, &line_err);
        return answer_json(caller, NULL, &result, err);
    }
    const char *tool = wb_json_str(wb_json_get(line, "tool"));
    const struct wb_json *args = wb_json_get(line, "args");
    struct wb_span arguments = args != NULL ? wb_json_write(&arena, args) : WB_SPAN("{}");
    run_call(caller, tool, arguments, &result);
    return answer_json(caller, tool, &result, err);
}

/* Answers every whole line that has come. */
static int call_lines_read(struct caller *caller, struct wb_frame_reader *reader,
                           struct wb_error *err)
{
    struct wb_span line;
    int step;
    while ((step = wb_frame_step(reader, &line, err)) > 0) {
        if (call_line(caller, line, err) != 0) {
            return -1;
        }
    }
    return step;
}

static int call_lines(struct caller *caller, struct wb_error *err)
{
    struct wb_frame_reader reader;
    char buffer[READ_BYTES];
    ssize_t n;
    int status = 0;
    wb_frame_reader_init(&reader, WB_FRAMING_LINES);
    while (status == 0 && (n = read(STDIN_FILENO, buffer, sizeof(buffer))) != 0) {
        if (n > 0) {
            wb_frame_feed(&reader, buffer, (size_t)n);
            status = call_lines_read(caller, &reader, err);
        } else if (errno != EINTR) {
            status = wb_error_errno(err, errno, "cannot read standard input");
        }
    }
    if (status == 0 && wb_frame_unfinished(&reader)) {
        wb_frame_feed(&reader, "\n", 1); /* the last line had no end */
        status = call_lines_read(caller, &reader, err);
    }
    wb_frame_reader_done(&reader);
    return status;
}

static int call_many(const struct wb_options *options)
{
    struct caller caller;
    struct wb_error err;
    if (open_caller(options, &caller, &err) != 0) {
        return wb_command_refuse("%s", err.message);
    }
    int status = WB_EXIT_DONE;
    if (call_lines(&caller, &err) != 0) {
        wb_command_refuse("%s", err.message);
        status = WB_EXIT_ERROR;
    }
    close_caller(&caller);
    return status;
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_text_done) struct wb_text input = {0};
    struct wb_error err;
    if (n_operands == 1) {
        return wb_str_equal(operands[0], "-")
                   ? call_many(options)
                   : wb_command_refuse("`call %s` lacks its arguments: a JSON object, or - to read "
                                       "it from standard input",
                                       operands[0]);
    }
    if (!wb_str_equal(operands[1], "-")) {
        return call_once(options, operands[0], wb_span(operands[1]));
    }
    if (read_input(&input, &err) != 0) {
        return wb_command_refuse("%s", err.message);
    }
    return call_once(options, operands[0], wb_text_span(&input));
}

const struct wb_command wb_command_call = {
    .name = "call",
    .operands = "TOOL JSON | TOOL - | -",
    .min_operands = 1,
    .max_operands = 2,
    .options = WB_OPTION_WORKSPACE | WB_OPTION_RUN | WB_OPTION_JSON,
    .summary = "call one tool, or one a line",
    .details =
        "With TOOL and JSON it makes one call and prints its text; JSON is the object of its\n"
        "arguments, `-` reads it from standard input. With `-` alone it reads a call a line,\n"
        "{\"tool\": NAME, \"args\": {...}}, and answers each with a line, all in one run.\n"
        "--json and lines answer {\"tool\", \"text\", \"data\", \"attachments\", \"is_error\"}.\n"
        "Exit status: 0 done, 1 the call reported an error, 2 options or JSON that does not parse.\n",
    .run = run,
};
