/* embed_test: the embedding interface from outside, with nothing but its header: options of every
 * size, both ways to call, cancellation, the question port, and mistakes of the embedder's.
 *     embed_test WORKSPACE */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <werkbank.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "embed_test: line %d: %s\n", __LINE__, #condition);                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char *workspace;
static char error[WERKBANK_ERROR_BYTES];

static struct werkbank_run *open_run(struct werkbank_host *host,
                                     struct werkbank_run_options options)
{
    options.size = sizeof(options);
    options.workspace = workspace;
    struct werkbank_run *run = werkbank_run_open(host, &options, error);
    CHECK(run != NULL);
    return run;
}

static bool has_tool(const struct werkbank_run *run, const char *name)
{
    const struct werkbank_tool *tool = NULL;
    while ((tool = werkbank_run_next_tool(run, tool)) != NULL) {
        if (strcmp(werkbank_tool_name(tool), name) == 0) {
            CHECK(werkbank_tool_description(tool)[0] != '\0');
            return true;
        }
    }
    return false;
}

static void test_mistakes(struct werkbank_host *host)
{
    struct werkbank_run_options options = {.size = sizeof(options)};
    struct werkbank_host_options host_options = {.size = sizeof(host_options), .log_level = 99};
    CHECK(werkbank_host_open(&host_options, error) == NULL && error[0] != '\0');
    CHECK(werkbank_run_open(host, NULL, error) == NULL && error[0] != '\0');
    CHECK(werkbank_run_open(host, &options, NULL) == NULL);
    options.workspace = "/nonexistent";
    CHECK(werkbank_run_open(host, &options, error) == NULL && strstr(error, "/nonexistent"));
    /* A caller built against a header that ended behind `workspace`. */
    options = (struct werkbank_run_options){
        .size = offsetof(struct werkbank_run_options, conversation_id),
        .workspace = workspace,
        .conversation_id = "../not read",
    };
    struct werkbank_run *run = werkbank_run_open(host, &options, error);
    CHECK(run != NULL);
    werkbank_run_close(run);
    werkbank_run_close(NULL);
    werkbank_host_close(NULL);
    werkbank_result_free(NULL);
    werkbank_cancel_free(NULL);
}

static void test_surface(struct werkbank_host *host)
{
    static const char *const only[] = {"read", NULL};
    struct werkbank_run *run = open_run(host, (struct werkbank_run_options){0});
    CHECK(has_tool(run, "read") && has_tool(run, "shell"));
    CHECK(!has_tool(run, "lsp") && !has_tool(run, "lsp_rename"));
    werkbank_run_attach_language_servers(run);
    CHECK(has_tool(run, "lsp") && has_tool(run, "lsp_rename"));
    CHECK(!has_tool(run, "debug"));
    werkbank_run_attach_debugger(run);
    CHECK(has_tool(run, "debug"));
    werkbank_run_close(run);
    run = open_run(host, (struct werkbank_run_options){.tools = only});
    CHECK(has_tool(run, "read") && !has_tool(run, "shell"));
    werkbank_run_close(run);
}

static void test_results(struct werkbank_host *host)
{
    struct werkbank_run *run = open_run(host, (struct werkbank_run_options){0});
    struct werkbank_result *result = werkbank_run_call(run, "read", "{\"path\": \"a.txt\"}", NULL);
    CHECK(!werkbank_result_is_error(result));
    CHECK(strstr(werkbank_result_text(result), "embedded text") != NULL);
    CHECK(strcmp(werkbank_result_data(result), "\"embedded text\\n\"") == 0);
    CHECK(werkbank_result_attachment_count(result) == 0);
    werkbank_result_free(result);
    static const char *const bad[] = {"{", "", "[]", "{\"path\": 7}", "{\"path\": \"absent\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        result = werkbank_run_call(run, "read", bad[i], NULL);
        CHECK(werkbank_result_is_error(result) && werkbank_result_text(result)[0] != '\0');
        CHECK(strcmp(werkbank_result_data(result), "null") == 0);
        werkbank_result_free(result);
    }
    werkbank_run_close(run);
}

struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n, n_errors;
};

static void take(void *ctx, struct werkbank_result *result)
{
    struct inbox *inbox = ctx;
    pthread_mutex_lock(&inbox->lock);
    inbox->n++;
    inbox->n_errors += werkbank_result_is_error(result);
    pthread_cond_signal(&inbox->changed);
    pthread_mutex_unlock(&inbox->lock);
    werkbank_result_free(result);
}

static void wait_for(struct inbox *inbox, int n)
{
    pthread_mutex_lock(&inbox->lock);
    while (inbox->n < n) {
        pthread_cond_wait(&inbox->changed, &inbox->lock);
    }
    pthread_mutex_unlock(&inbox->lock);
}

static void test_submit_and_cancel(struct werkbank_host *host)
{
    struct inbox inbox = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    struct werkbank_run *run =
        open_run(host, (struct werkbank_run_options){.allow = WERKBANK_EXEC});
    for (int i = 0; i < 50; i++) {
        werkbank_run_submit(run, "read", "{\"path\": \"a.txt\"}", NULL, take, &inbox);
    }
    wait_for(&inbox, 50);
    CHECK(inbox.n_errors == 0);

    struct werkbank_cancel *cancel = werkbank_cancel_new();
    struct werkbank_call_options options = {.size = sizeof(options), .cancel = cancel};
    werkbank_run_submit(run, "shell", "{\"command\": \"sleep 100\"}", &options, take, &inbox);
    werkbank_cancel_fire(cancel);
    wait_for(&inbox, 51);
    CHECK(inbox.n_errors == 1);
    werkbank_cancel_free(cancel);

    /* Closing cancels what is under way. */
    werkbank_run_submit(run, "shell", "{\"command\": \"sleep 100\"}", NULL, take, &inbox);
    werkbank_run_close(run);
    CHECK(inbox.n == 52);
}

struct operator
{
    size_t choice;
    int n_asked;
    bool leave;
};

static void answer(void *ctx, const struct werkbank_card *card, struct werkbank_answer *answer)
{
    struct operator* operator= ctx;
    operator->n_asked++;
    CHECK(card->size == sizeof(*card) && card->kind == WERKBANK_APPROVAL);
    CHECK(card->n_options == 3 && card->timeout_ms > 0 && card->question[0] != '\0');
    CHECK(werkbank_answer_is_wanted(answer));
    if (!operator->leave) {
        werkbank_answer_choose(answer, operator->choice);
        werkbank_answer_choose(answer, operator->choice);
        werkbank_answer_choose(answer, 1000);
    }
}

static bool write_passes(struct werkbank_host *host, struct operator* operator)
{
    const struct werkbank_question_port port = {sizeof(port), answer, operator};
    struct werkbank_run *run = open_run(host, (struct werkbank_run_options){.port = &port});
    struct werkbank_result *result =
        werkbank_run_call(run, "write", "{\"path\": \"new.txt\", \"content\": \"x\"}", NULL);
    bool passes = !werkbank_result_is_error(result);
    werkbank_result_free(result);
    werkbank_run_close(run);
    CHECK(operator->n_asked == 1);
    return passes;
}

/* A tool above the cap is unknown, whatever is allowed, and nobody is asked. */
static void test_cap(struct werkbank_host *host)
{
    struct operator operator= {.choice = 0};
    const struct werkbank_question_port port = {sizeof(port), answer, &operator};
    struct werkbank_run *run = open_run(host, (struct werkbank_run_options){.cap = WERKBANK_READ,
                                                                            .allow = WERKBANK_EXEC,
                                                                            .port = &port});
    static const char *const above[][2] = {
        {"write", "{\"path\": \"capped\", \"content\": \"x\"}"},
        {"shell", "{\"command\": \"touch capped\"}"},
        {"eval", "{\"description\": \"a test\", \"code\": \"open('capped', 'w')\"}"},
    };
    werkbank_run_attach_kernels(run);
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
        CHECK(!has_tool(run, above[i][0]));
        struct werkbank_result *result = werkbank_run_call(run, above[i][0], above[i][1], NULL);
        CHECK(werkbank_result_is_error(result));
        werkbank_result_free(result);
    }
    char path[4096];
    snprintf(path, sizeof(path), "%s/capped", workspace);
    CHECK(access(path, F_OK) != 0 && operator.n_asked == 0);
    werkbank_run_close(run);
}

static void test_questions(struct werkbank_host *host)
{
    CHECK(!write_passes(host, &(struct operator){.leave = true}));
    CHECK(!write_passes(host, &(struct operator){.choice = 1}));
    CHECK(write_passes(host, &(struct operator){.choice = 0}));
}

static struct werkbank_run *open_conversation(struct werkbank_host *host, const char *id)
{
    struct werkbank_run *run =
        open_run(host,
                 (struct werkbank_run_options){.conversation_id = id, .allow = WERKBANK_EXEC});
    CHECK(!has_tool(run, "eval"));
    werkbank_run_attach_kernels(run);
    CHECK(has_tool(run, "eval"));
    return run;
}

static void expect_cell(struct werkbank_run *run, const char *arguments, bool is_error,
                        const char *says)
{
    struct werkbank_result *result = werkbank_run_call(run, "eval", arguments, NULL);
    CHECK(werkbank_result_is_error(result) == is_error);
    CHECK(strstr(werkbank_result_text(result), says) != NULL);
    werkbank_result_free(result);
}

#define CELL(code) "{\"description\": \"a test\", \"code\": \"" code "\"}"
#define RESET "{\"description\": \"a test\", \"reset\": true, \"code\": \"1\"}"

/* A kernel belongs to the conversation: not to the run, and to no other conversation. */
static void test_kernels(struct werkbank_host *host)
{
    struct werkbank_run *one = open_conversation(host, "one");
    struct werkbank_run *two = open_conversation(host, "two");
    struct werkbank_run *one_too = open_conversation(host, "one");
    struct inbox inbox = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    expect_cell(one, CELL("x = 41"), false, "fresh python");
    expect_cell(one_too, CELL("x + 1"), false, "42");
    expect_cell(two, CELL("x"), true, "NameError");

    /* While a cell waits for a tool, its conversation's eval would wait for itself; a reset does not. */
    werkbank_run_submit(one, "eval", CELL("tool('shell', {'command': 'touch began; sleep 100'})"),
                        NULL, take, &inbox);
    char began[4096];
    snprintf(began, sizeof(began), "%s/began", workspace);
    while (access(began, F_OK) != 0) {
        usleep(10000);
    }
    expect_cell(one_too, CELL("1"), true, "`eval` inside `eval` is refused");
    expect_cell(two, CELL("2"), false, "2");
    expect_cell(one_too, RESET, false, "fresh python");
    wait_for(&inbox, 1);
    CHECK(inbox.n_errors == 1);
    expect_cell(one, CELL("x"), true, "NameError");

    expect_cell(one, CELL("y = 5"), false, "");
    werkbank_run_close(one);
    werkbank_run_close(one_too);
    one = open_conversation(host, "one");
    expect_cell(one, CELL("y"), false, "5");
    /* Closing stops what is under way. */
    werkbank_run_submit(one, "eval", CELL("import time; time.sleep(100)"), NULL, take, &inbox);
    werkbank_run_close(one);
    CHECK(inbox.n == 2);
    werkbank_run_close(two);
}

static void approve_slowly(void *ctx, const struct werkbank_card *card,
                           struct werkbank_answer *answer)
{
    int *n_asked = ctx;
    CHECK(card->kind == WERKBANK_APPROVAL);
    if (++*n_asked > 1) {
        usleep(2500000);
    }
    werkbank_answer_choose(answer, 0);
}

/* The card of a cell's call stays open longer than the cell may be silent. */
static void test_a_bridged_card(struct werkbank_host *host)
{
    int n_asked = 0;
    const struct werkbank_question_port port = {sizeof(port), approve_slowly, &n_asked};
    char config[4096];
    snprintf(config, sizeof(config), "%s/config.json", workspace);
    FILE *file = fopen(config, "w");
    CHECK(file != NULL && fputs("{\"eval\": {\"inactivity_s\": 1}}", file) >= 0);
    fclose(file);
    struct werkbank_run *run =
        open_run(host, (struct werkbank_run_options){.port = &port, .config_file = config});
    werkbank_run_attach_kernels(run);
    expect_cell(run, CELL("tool('write', {'path': 'card.txt', 'content': 'x'})['created']"), false,
                "True");
    CHECK(n_asked == 2);
    werkbank_run_close(run);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    workspace = argv[1];
    struct werkbank_host *host = werkbank_host_open(NULL, error);
    CHECK(host != NULL);
    test_mistakes(host);
    test_surface(host);
    test_results(host);
    test_submit_and_cancel(host);
    test_questions(host);
    test_cap(host);
    test_kernels(host);
    test_a_bridged_card(host);
    werkbank_host_close(host);
    return 0;
}
