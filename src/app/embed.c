/* embed: the embedding interface (include/werkbank.h), a thin skin over run/. Structures of the
 * caller are copied by their own size; tools are handed out as what they are, under another name. */
#include <stdio.h>
#include <stdlib.h>

#include "app/assemble.h"
#include "ask/ask.h"
#include "ast/ast.h"
#include "base/clock.h"
#include "base/log.h"
#include "debug/debug.h"
#include "kernel/kernels.h"
#include "lsp/lsp.h"
#include "staging/staging.h"
#include "werkbank.h"

struct werkbank_host {
    struct wb_host *host;
};

struct werkbank_run {
    struct wb_run *run;
    struct werkbank_question_port port;
    struct wb_question_port inner_port; /* asks through the port above */
};

struct werkbank_result {
    struct wb_result result;
};

struct werkbank_cancel {
    struct wb_cancel cancel;
};

struct werkbank_answer {
    struct wb_arena *arena;
    struct wb_cancel *cancel;
    int64_t deadline_ms;
    struct wb_card_answer *ret; /* choices: room for every option */
    size_t n_options;
    bool is_skipped, is_answered;
};

/* A structure of the caller's, which may be older and shorter, or newer and longer than ours. */
#define COPY_SIZED(ret, given)                                                                     \
    do {                                                                                           \
        memset((ret), 0, sizeof(*(ret)));                                                          \
        if ((given) != NULL) {                                                                     \
            memcpy((ret), (given), WB_MIN((given)->size, sizeof(*(ret))));                         \
        }                                                                                          \
    } while (0)

static void give_error(char *error, const struct wb_error *err)
{
    if (error != NULL) {
        snprintf(error, WERKBANK_ERROR_BYTES, "%s", err->message);
    }
}

/* --- host --- */

struct werkbank_host *werkbank_host_open(const struct werkbank_host_options *options, char *error)
{
    struct werkbank_host_options given;
    COPY_SIZED(&given, options);
    if (given.log_level > WERKBANK_LOG_DEBUG) {
        struct wb_error err;
        wb_error_set(&err, WB_ERROR_INVALID, "log_level %d is none", (int)given.log_level);
        give_error(error, &err);
        return NULL;
    }
    if (given.log_level != WERKBANK_LOG_DEFAULT) {
        wb_log_set_level((enum wb_log_level)(given.log_level - WERKBANK_LOG_ERROR));
    }
    struct werkbank_host *host = wb_alloc(sizeof(*host));
    host->host = wb_assemble_host(given.guard);
    return host;
}

void werkbank_host_close(struct werkbank_host *host)
{
    if (host != NULL) {
        wb_host_free(host->host);
        free(host);
    }
}

/* --- questions --- */

/* Ascending, each once; what is no option is not taken. */
void werkbank_answer_choose(struct werkbank_answer *answer, size_t index)
{
    struct wb_card_answer *ret = answer->ret;
    size_t at = 0;
    while (at < ret->n_choices && ret->choices[at] < index) {
        at++;
    }
    if (index >= answer->n_options || (at < ret->n_choices && ret->choices[at] == index)) {
        return;
    }
    memmove(&ret->choices[at + 1], &ret->choices[at], (ret->n_choices - at) * sizeof(size_t));
    ret->choices[at] = index;
    ret->n_choices++;
    answer->is_answered = true;
}

void werkbank_answer_text(struct werkbank_answer *answer, const char *text)
{
    answer->ret->text = wb_arena_strdup(answer->arena, text);
    answer->is_answered = true;
}

void werkbank_answer_skip(struct werkbank_answer *answer)
{
    answer->is_skipped = true;
}

bool werkbank_answer_is_wanted(const struct werkbank_answer *answer)
{
    return !wb_cancel_is_fired(answer->cancel) && wb_clock_left_ms(answer->deadline_ms) > 0;
}

static enum wb_card_outcome outcome_of(const struct werkbank_answer *answer)
{
    if (wb_cancel_is_fired(answer->cancel)) {
        return WB_CARD_CANCELLED;
    }
    if (answer->is_skipped) {
        return WB_CARD_SKIPPED;
    }
    if (answer->is_answered) {
        return WB_CARD_ANSWERED;
    }
    return wb_clock_left_ms(answer->deadline_ms) > 0 ? WB_CARD_NO_OPERATOR : WB_CARD_TIMED_OUT;
}

static void ask_embedder(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                         struct wb_cancel *cancel, struct wb_arena *arena,
                         struct wb_card_answer *ret)
{
    const struct werkbank_run *run = ctx;
    struct werkbank_card_option *options =
        wb_arena_alloc_array(arena, card->n_options, sizeof(*options));
    for (size_t i = 0; i < card->n_options; i++) {
        options[i].label = card->options[i].label;
        options[i].description = card->options[i].description;
    }
    const struct werkbank_card shown = {
        .size = sizeof(shown),
        .kind = card->kind == WB_CARD_APPROVAL ? WERKBANK_APPROVAL : WERKBANK_QUESTION,
        .question = card->question,
        .context = card->context,
        .options = options,
        .n_options = card->n_options,
        .allow_free_text = card->allow_free_text,
        .multi_select = card->multi_select,
        .timeout_ms = wb_clock_left_ms(deadline_ms),
    };
    struct werkbank_answer answer = {
        .arena = arena,
        .cancel = cancel,
        .deadline_ms = deadline_ms,
        .ret = ret,
        .n_options = card->n_options,
    };
    *ret = (struct wb_card_answer){
        .choices = wb_arena_alloc_array(arena, card->n_options, sizeof(*ret->choices)),
    };
    run->port.ask(run->port.ctx, &shown, &answer);
    ret->outcome = outcome_of(&answer);
}

/* --- run --- */

struct werkbank_run *werkbank_run_open(struct werkbank_host *host,
                                       const struct werkbank_run_options *options, char *error)
{
    struct werkbank_run_options given;
    struct wb_error err;
    COPY_SIZED(&given, options);
    if (given.workspace == NULL || given.cap > WERKBANK_EXEC || given.allow > WERKBANK_EXEC) {
        wb_error_set(&err, WB_ERROR_INVALID,
                     "a run needs a workspace, and cap and allow within the tiers");
        give_error(error, &err);
        return NULL;
    }
    struct werkbank_run *run = wb_alloc(sizeof(*run));
    COPY_SIZED(&run->port, given.port);
    run->inner_port = (struct wb_question_port){.ask = ask_embedder, .ctx = run};
    const struct wb_run_options inner = {
        .workspace = given.workspace,
        .conversation_id = given.conversation_id,
        .cap = (enum wb_tier)given.cap,
        .allow = (enum wb_tier)given.allow,
        .only = given.tools,
        .config_file = given.config_file,
        .trust = given.trust,
        .port = run->port.ask != NULL ? &run->inner_port : NULL,
    };
    run->run = wb_run_open(host->host, &inner, &err);
    if (run->run == NULL) {
        give_error(error, &err);
        free(run);
        return NULL;
    }
    return run;
}

void werkbank_run_close(struct werkbank_run *run)
{
    if (run != NULL) {
        wb_run_close(run->run);
        free(run);
    }
}

void werkbank_run_attach_language_servers(struct werkbank_run *run)
{
    wb_lsp_attach(run->run);
}

void werkbank_run_attach_kernels(struct werkbank_run *run)
{
    wb_kernel_attach(run->run);
}

void werkbank_run_attach_questions(struct werkbank_run *run)
{
    wb_ask_attach(run->run);
}

void werkbank_run_attach_parsers(struct werkbank_run *run)
{
    wb_ast_attach(run->run);
}

void werkbank_run_attach_staging(struct werkbank_run *run)
{
    wb_staging_attach(run->run);
}

void werkbank_run_attach_debugger(struct werkbank_run *run)
{
    wb_debug_attach(run->run);
}

/* --- surface --- */

static const struct wb_tool *inner_tool(const struct werkbank_tool *tool)
{
    return (const struct wb_tool *)tool;
}

const struct werkbank_tool *werkbank_run_next_tool(const struct werkbank_run *run,
                                                   const struct werkbank_tool *previous)
{
    const struct wb_tool *tool;
    size_t cursor = 0;
    do {
        tool = wb_run_next_tool(run->run, &cursor);
    } while (previous != NULL && tool != NULL && tool != inner_tool(previous));
    if (previous != NULL && tool != NULL) {
        tool = wb_run_next_tool(run->run, &cursor);
    }
    return (const struct werkbank_tool *)tool;
}

const char *werkbank_tool_name(const struct werkbank_tool *tool)
{
    return inner_tool(tool)->name;
}

enum werkbank_tier werkbank_tool_tier(const struct werkbank_tool *tool)
{
    return (enum werkbank_tier)inner_tool(tool)->tier;
}

const char *werkbank_tool_description(const struct werkbank_tool *tool)
{
    return inner_tool(tool)->description;
}

char *werkbank_tool_schema(const struct werkbank_tool *tool)
{
    WB_AUTO(wb_text_done) struct wb_text schema = {0};
    struct wb_json_writer w;
    wb_json_writer_init(&w, &schema);
    wb_args_schema(&w, &inner_tool(tool)->args);
    return wb_text_steal(&schema);
}

void werkbank_string_free(char *string)
{
    free(string);
}

/* --- calls --- */

static struct wb_call_options inner_options(const struct werkbank_call_options *options)
{
    struct werkbank_call_options given;
    COPY_SIZED(&given, options);
    return (struct wb_call_options){
        .deadline_ms = given.timeout_ms > 0 ? wb_clock_deadline(given.timeout_ms) : 0,
        .cancel = given.cancel != NULL ? &given.cancel->cancel : NULL,
        .on_progress = given.on_progress,
        .ctx = given.ctx,
        .origin = "harness",
    };
}

struct werkbank_result *werkbank_run_call(struct werkbank_run *run, const char *tool,
                                          const char *arguments_json,
                                          const struct werkbank_call_options *options)
{
    const struct wb_call_options inner = inner_options(options);
    struct werkbank_result *result = wb_alloc(sizeof(*result));
    wb_run_call(run->run, tool, wb_span(arguments_json), &inner, &result->result);
    return result;
}

struct submission {
    void (*on_done)(void *ctx, struct werkbank_result *result);
    void *ctx;
};

static void give_result(void *ctx, struct wb_result *result)
{
    struct submission *submission = ctx;
    struct werkbank_result *given = wb_alloc(sizeof(*given));
    given->result = *result;
    submission->on_done(submission->ctx, given);
    free(submission);
}

void werkbank_run_submit(struct werkbank_run *run, const char *tool, const char *arguments_json,
                         const struct werkbank_call_options *options,
                         void (*on_done)(void *ctx, struct werkbank_result *result), void *ctx)
{
    const struct wb_call_options inner = inner_options(options);
    struct submission *submission = wb_alloc(sizeof(*submission));
    *submission = (struct submission){on_done, ctx};
    wb_run_submit(run->run, tool, wb_span(arguments_json), &inner, give_result, submission);
}

struct werkbank_cancel *werkbank_cancel_new(void)
{
    struct werkbank_cancel *cancel = wb_alloc(sizeof(*cancel));
    wb_cancel_init(&cancel->cancel);
    return cancel;
}

void werkbank_cancel_fire(struct werkbank_cancel *cancel)
{
    wb_cancel_fire(&cancel->cancel);
}

void werkbank_cancel_free(struct werkbank_cancel *cancel)
{
    if (cancel != NULL) {
        wb_cancel_done(&cancel->cancel);
        free(cancel);
    }
}

bool werkbank_result_is_error(const struct werkbank_result *result)
{
    return result->result.is_error;
}

const char *werkbank_result_text(const struct werkbank_result *result)
{
    return wb_text_cstr(&result->result.text);
}

const char *werkbank_result_data(const struct werkbank_result *result)
{
    return result->result.data.len > 0 ? wb_text_cstr(&result->result.data) : "null";
}

size_t werkbank_result_attachment_count(const struct werkbank_result *result)
{
    return result->result.n_attachments;
}

const char *werkbank_result_attachment_mime(const struct werkbank_result *result, size_t index)
{
    return result->result.attachments[index].mime;
}

const void *werkbank_result_attachment_bytes(const struct werkbank_result *result, size_t index,
                                             size_t *ret_len)
{
    *ret_len = result->result.attachments[index].bytes.len;
    return result->result.attachments[index].bytes.ptr;
}

void werkbank_result_free(struct werkbank_result *result)
{
    if (result != NULL) {
        wb_result_done(&result->result);
        free(result);
    }
}
