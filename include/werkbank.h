/* werkbank.h: Werkbank in your own process. The whole embedding interface.
 *
 * A host holds what runs share (language servers, threads). A run is one agent at work in a
 * workspace; what is attached to it decides which tools it has. A call goes through the same path
 * as every other: arguments are checked, the gate decides, the result comes back.
 *
 *     struct werkbank_host *host = werkbank_host_open(NULL, error);
 *     struct werkbank_run *run = werkbank_run_open(host, &options, error);
 *     werkbank_run_attach_language_servers(run);
 *     struct werkbank_result *result = werkbank_run_call(run, "read", "{\"path\": \"a.c\"}", NULL);
 *     puts(werkbank_result_text(result));
 *     werkbank_result_free(result);
 *     werkbank_run_close(run);
 *     werkbank_host_close(host);
 *
 * Threads: a run is opened and attached to on one thread; from then on every function may be called
 * from any thread, except that close and free are called once, when no other call on the same object
 * is under way (werkbank_run_close itself cancels the run's calls and waits for them). Callbacks run
 * on threads of the library, several at once, and must not close the run that they belong to.
 * Several hosts in one process do not see each other.
 *
 * Ownership: what a function ending in _open, _new or _call returns is yours until you hand it to the
 * _close or _free of its kind. Strings that accessors return belong to the object. Strings that you
 * pass are copied where they are needed longer. All text is UTF-8.
 *
 * Errors: a function that can fail takes `error`, NULL or at least WERKBANK_ERROR_BYTES, and writes one
 * sentence into it when it returns NULL. A failed call is no such error: it is a result that says
 * werkbank_result_is_error. Out of memory ends the process.
 *
 * Processes: language servers and debug adapters run behind `werkbank-guard`, a small program that is
 * installed with the library; they end with this process, however it ends. SIGCHLD and other signals
 * are left alone.
 *
 * Structures that you fill begin with `size`: set it to their sizeof and the rest to zero, and
 * programs built against an older header keep working with a newer library. */
#ifndef WERKBANK_H
#define WERKBANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WERKBANK_API __attribute__((visibility("default")))
#define WERKBANK_ERROR_BYTES 2048

struct werkbank_host;
struct werkbank_run;
struct werkbank_tool;
struct werkbank_result;
struct werkbank_cancel;
struct werkbank_answer;

/* What a tool may do: read has no side effects, write changes files, exec starts processes. */
enum werkbank_tier { WERKBANK_READ = 1, WERKBANK_WRITE, WERKBANK_EXEC };

/* --- host --- */

enum werkbank_log_level {
    WERKBANK_LOG_DEFAULT, /* warnings and errors */
    WERKBANK_LOG_ERROR,
    WERKBANK_LOG_WARNING,
    WERKBANK_LOG_INFO,
    WERKBANK_LOG_DEBUG,
};

struct werkbank_host_options {
    size_t size;
    /* Path of werkbank-guard. NULL: $WERKBANK_GUARD, else beside this program's file, else where it
     * was installed. */
    const char *guard;
    /* What goes to standard error. The level is the process's, not the host's: the last one set
     * holds. */
    enum werkbank_log_level log_level;
};

/* options: NULL for the defaults. */
WERKBANK_API struct werkbank_host *werkbank_host_open(const struct werkbank_host_options *options,
                                                      char *error);
/* Every run must be closed. Stops the servers. NULL is allowed. */
WERKBANK_API void werkbank_host_close(struct werkbank_host *host);

/* --- questions --- */

enum werkbank_card_kind { WERKBANK_QUESTION, WERKBANK_APPROVAL };

struct werkbank_card_option {
    const char *label;
    const char *description; /* or NULL */
};

/* Something that a human is asked: an approval of a call, or a question of the agent's. An approval's first
 * option allows the call once, its second refuses it; those behind allow more, as their labels say. */
struct werkbank_card {
    size_t size;
    enum werkbank_card_kind kind;
    const char *question;
    const char *context; /* or NULL */
    const struct werkbank_card_option *options;
    size_t n_options;
    bool allow_free_text, multi_select;
    int64_t timeout_ms; /* how long an answer is waited for */
};

struct werkbank_question_port {
    size_t size;
    /* Shows the card and returns when it is answered by one of the functions below, or when
     * werkbank_answer_is_wanted says false. Returning without an answer means that nobody is there.
     * Several cards may be asked at once. The card is yours until you return. */
    void (*ask)(void *ctx, const struct werkbank_card *card, struct werkbank_answer *answer);
    void *ctx;
};

/* index: of the card's options. Once for each chosen one, at most once without multi_select. */
WERKBANK_API void werkbank_answer_choose(struct werkbank_answer *answer, size_t index);
WERKBANK_API void werkbank_answer_text(struct werkbank_answer *answer, const char *text);
WERKBANK_API void werkbank_answer_skip(struct werkbank_answer *answer);
/* False once the call was cancelled or the time is over. */
WERKBANK_API bool werkbank_answer_is_wanted(const struct werkbank_answer *answer);

/* --- run --- */

struct werkbank_run_options {
    size_t size;
    const char *workspace;       /* an existing folder; required */
    const char *conversation_id; /* [A-Za-z0-9_-]{1,64}; NULL: a new one */
    enum werkbank_tier cap;      /* the highest tier that the run sees; 0: exec */
    enum werkbank_tier allow;    /* the highest tier that runs unasked; 0: read */
    const char *const *tools;    /* only these, NULL-terminated; NULL: all */
    bool trust;                  /* believe the project's configuration and build scripts */
    const char *config_file;     /* read after the user's and the project's; NULL: none */
    const struct werkbank_question_port *port; /* NULL: nobody answers, approvals are refused */
};

WERKBANK_API struct werkbank_run *werkbank_run_open(struct werkbank_host *host,
                                                    const struct werkbank_run_options *options,
                                                    char *error);
/* Cancels the run's calls, waits for them, and frees what was attached. NULL is allowed. */
WERKBANK_API void werkbank_run_close(struct werkbank_run *run);

/* One attach function a resource: without it exactly its tools are absent. */
WERKBANK_API void werkbank_run_attach_language_servers(struct werkbank_run *run);
/* Python and JavaScript interpreters for `eval`. They outlive the run, for the next one of the same
 * conversation; the host's close ends them. */
WERKBANK_API void werkbank_run_attach_kernels(struct werkbank_run *run);
WERKBANK_API void werkbank_run_attach_debugger(struct werkbank_run *run);
/* ask_user, if the run has a question port. */
WERKBANK_API void werkbank_run_attach_questions(struct werkbank_run *run);
/* ast_grep; with staging, ast_edit too. */
WERKBANK_API void werkbank_run_attach_parsers(struct werkbank_run *run);
/* resolve; holds what is proposed and not written. */
WERKBANK_API void werkbank_run_attach_staging(struct werkbank_run *run);

/* --- surface --- */

/* The run's tools in order; previous NULL: the first. NULL at the end. */
WERKBANK_API const struct werkbank_tool *werkbank_run_next_tool(
    const struct werkbank_run *run, const struct werkbank_tool *previous);
WERKBANK_API const char *werkbank_tool_name(const struct werkbank_tool *tool);
WERKBANK_API enum werkbank_tier werkbank_tool_tier(const struct werkbank_tool *tool);
WERKBANK_API const char *werkbank_tool_description(const struct werkbank_tool *tool);
/* The JSON schema of its arguments, for the model. Yours: werkbank_string_free. */
WERKBANK_API char *werkbank_tool_schema(const struct werkbank_tool *tool);
WERKBANK_API void werkbank_string_free(char *string);

/* --- calls --- */

struct werkbank_call_options {
    size_t size;
    int64_t timeout_ms;             /* 0: none but the tool's own */
    struct werkbank_cancel *cancel; /* or NULL; must live until the result is given */
    /* Long work says where it is; done and total may be 0. May be NULL. */
    void (*on_progress)(void *ctx, const char *message, int64_t done, int64_t total);
    void *ctx;
};

/* Runs the call on this thread. Never NULL: whatever goes wrong is a result. options may be NULL. */
WERKBANK_API struct werkbank_result *werkbank_run_call(struct werkbank_run *run, const char *tool,
                                                       const char *arguments_json,
                                                       const struct werkbank_call_options *options);
/* Runs it on a thread of the library and hands the result, which is then yours, to on_done. */
WERKBANK_API void werkbank_run_submit(struct werkbank_run *run, const char *tool,
                                      const char *arguments_json,
                                      const struct werkbank_call_options *options,
                                      void (*on_done)(void *ctx, struct werkbank_result *result),
                                      void *ctx);

WERKBANK_API struct werkbank_cancel *werkbank_cancel_new(void);
/* Any thread, any number of times. */
WERKBANK_API void werkbank_cancel_fire(struct werkbank_cancel *cancel);
WERKBANK_API void werkbank_cancel_free(struct werkbank_cancel *cancel); /* NULL is allowed */

WERKBANK_API bool werkbank_result_is_error(const struct werkbank_result *result);
/* For the model: bounded, says what was cut. Never NULL. */
WERKBANK_API const char *werkbank_result_text(const struct werkbank_result *result);
/* For programs: one JSON value, whole. "null" without any. */
WERKBANK_API const char *werkbank_result_data(const struct werkbank_result *result);
/* Pictures. */
WERKBANK_API size_t werkbank_result_attachment_count(const struct werkbank_result *result);
WERKBANK_API const char *werkbank_result_attachment_mime(const struct werkbank_result *result,
                                                         size_t index);
WERKBANK_API const void *werkbank_result_attachment_bytes(const struct werkbank_result *result,
                                                          size_t index, size_t *ret_len);
WERKBANK_API void werkbank_result_free(struct werkbank_result *result); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
