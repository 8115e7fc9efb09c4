/* Tests of app/mcp_server on memory: a peer that writes lines and reads what comes back. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../scratch.h"
#include "app/mcp_server.h"

static sem_t slow_entered;

static void wake(void *ctx)
{
    sem_post(ctx);
}

/* look: text, data as an array, a picture, progress. */
static int call_look(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    (void)args;
    (void)err;
    wb_call_progress(call, 0, 0, "looking");
    wb_call_progress(call, 7, 10, "still looking");
    wb_text_add_str(&result->text, "seen");
    wb_text_add_str(&result->data, "[1]");
    wb_result_attach(result, "image/png", WB_SPAN("foo"));
    return 0;
}

/* fail: an error with data that is an object. */
static int call_fail(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    (void)call;
    (void)args;
    wb_text_add_str(&result->data, "{\"state\":\"unknown\"}");
    return wb_error_set(err, WB_ERROR_TIMEOUT, "it took too long");
}

/* slow: until it is cancelled. */
static int call_slow(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    sem_t cancelled;
    struct wb_cancel_hook hook = {.fire = wake, .ctx = &cancelled};
    (void)args;
    (void)result;
    sem_init(&cancelled, 0, 0);
    sem_post(&slow_entered);
    wb_cancel_hook_add(call->cancel, &hook);
    sem_wait(&cancelled);
    wb_cancel_hook_remove(call->cancel, &hook);
    sem_destroy(&cancelled);
    return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled");
}

static const struct wb_tool look = {.name = "look",
                                    .tier = WB_TIER_READ,
                                    .parallel_safe = true,
                                    .description = "Looks.",
                                    .call = call_look};
static const struct wb_tool fail_tool = {.name = "fail",
                                         .tier = WB_TIER_READ,
                                         .parallel_safe = true,
                                         .description = "Fails.",
                                         .call = call_fail};
static const struct wb_tool slow = {.name = "slow",
                                    .tier = WB_TIER_EXEC,
                                    .parallel_safe = true,
                                    .description = "Waits.",
                                    .call = call_slow};
static const struct wb_tool *const tools[] = {&look, &fail_tool, &slow, NULL};

static struct scratch scratch;
static struct wb_host *host;
static struct wb_run *run;
static struct wb_mcp_server *server;

/* What the server has written, a line an item. */
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t lines_grew = PTHREAD_COND_INITIALIZER;
static char *lines[256];
static size_t n_lines;

static int keep_line(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    struct wb_text line = {0};
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        wb_text_add_span(&line, spans[i]);
    }
    assert_true(line.len > 0 && memchr(line.ptr, '\n', line.len) == line.ptr + line.len - 1);
    wb_text_cut(&line, line.len - 1);
    pthread_mutex_lock(&lines_lock);
    assert_true(n_lines < WB_COUNT(lines));
    lines[n_lines++] = wb_text_steal(&line);
    pthread_cond_broadcast(&lines_grew);
    pthread_mutex_unlock(&lines_lock);
    return 0;
}

static const char *line_at(size_t index)
{
    pthread_mutex_lock(&lines_lock);
    while (n_lines <= index) {
        pthread_cond_wait(&lines_grew, &lines_lock);
    }
    const char *line = lines[index];
    pthread_mutex_unlock(&lines_lock);
    return line;
}

static int set_up(void **state)
{
    const struct wb_host_options host_options = {.tools = tools, .guard = "/nonexistent"};
    struct wb_error err;
    (void)state;
    scratch_init(&scratch);
    setenv("XDG_STATE_HOME", scratch.folder, 1);
    setenv("XDG_CONFIG_HOME", scratch.folder, 1);
    host = wb_host_new(&host_options);
    const struct wb_run_options run_options = {.workspace = scratch.folder, .allow = WB_TIER_EXEC};
    run = wb_run_open(host, &run_options, &err);
    assert_non_null(run);
    server = wb_mcp_server_new(run, NULL, keep_line, NULL);
    sem_init(&slow_entered, 0, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wb_run_close(run);
    wb_mcp_server_free(server);
    wb_host_free(host);
    for (size_t i = 0; i < n_lines; i++) {
        free(lines[i]);
    }
    n_lines = 0;
    sem_destroy(&slow_entered);
    scratch_done(&scratch);
    return 0;
}

static void say(const char *line)
{
    wb_mcp_server_feed(server, line, strlen(line));
    wb_mcp_server_feed(server, "\n", 1);
}

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}"

static void initialize_agrees_on_a_version(void **state)
{
    static const struct {
        const char *asked, *agreed;
    } rows[] = {
        {"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"}, {"2025-03-26", "2025-03-26"},
        {"2024-11-05", "2024-11-05"}, {"2026-07-28", "2025-11-25"}, {"", "2025-11-25"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        say(wb_arena_printf(&scratch.arena,
                            "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"initialize\","
                            "\"params\":{\"protocolVersion\":\"%s\"}}",
                            i, rows[i].asked));
        const struct wb_json *answer = wb_json_parse(&scratch.arena, wb_span(line_at(i)), NULL);
        assert_string_equal(wb_json_str(wb_json_path(answer, "result.protocolVersion")),
                            rows[i].agreed);
        assert_non_null(wb_json_path(answer, "result.capabilities.tools"));
    }
}

/* What goes in, and exactly what comes back. */
static void lines_and_their_answers(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}",
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32002,\"message\":\"send `initialize` "
         "first, or name the version in each request's _meta: "
         "io.modelcontextprotocol/protocolVersion\"}}"},
        {INITIALIZE, NULL},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"logging/setLevel\",\"params\":"
         "{\"level\":\"debug\"}}",
         "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"no/such\"}",
         "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601,\"message\":\"Method not "
         "found\"}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{}}",
         "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32602,\"message\":\"tools/call needs "
         "`name`, the name of a tool\"}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"look\","
         "\"arguments\":[]}}",
         "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"`arguments` of "
         "tools/call must be an object\"}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"luuk\"}}",
         "{\"jsonrpc\":\"2.0\",\"id\":6,\"error\":{\"code\":-32602,\"message\":\"there is no tool "
         "`luuk`; the tools are: look, fail, slow\"}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"look\"}}",
         "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
         "\"seen\"},{\"type\":\"image\",\"data\":\"Zm9v\",\"mimeType\":\"image/png\"}],"
         "\"structuredContent\":{\"value\":[1]},\"isError\":false}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"fail\"}}",
         "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"it "
         "took too long\"}],\"structuredContent\":{\"state\":\"unknown\"},\"isError\":true}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"look\"," META
         "}}",
         "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"resultType\":\"complete\",\"_meta\":"
         "{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"werkbank\",\"version\":\"" WB_VERSION
         "\"}},\"content\":[{\"type\":\"text\",\"text\":\"seen\"},{\"type\":\"image\",\"data\":"
         "\"Zm9v\",\"mimeType\":\"image/png\"}],\"structuredContent\":[1],\"isError\":false}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"ping\",\"params\":{" META "}}",
         "{\"jsonrpc\":\"2.0\",\"id\":10,\"error\":{\"code\":-32601,\"message\":\"Method not "
         "found\"}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"tools/list\",\"params\":{\"_meta\":"
         "{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\"}}}",
         "{\"jsonrpc\":\"2.0\",\"id\":11,\"error\":{\"code\":-32022,\"message\":\"Unsupported "
         "protocol version\",\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":"
         "\"2025-11-25\"}}}"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        say(rows[i].in);
        if (rows[i].out != NULL) {
            assert_string_equal(line_at(i), rows[i].out);
        } else {
            line_at(i);
        }
    }
}

static void list_shows_schemas_and_hints(void **state)
{
    (void)state;
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}");
    const struct wb_json *answer = wb_json_parse(&scratch.arena, wb_span(line_at(0)), NULL);
    const struct wb_json *result = wb_json_get(answer, "result");
    const struct wb_json *listed = wb_json_get(result, "tools");
    assert_int_equal(wb_json_count(listed), 3);
    assert_string_equal(wb_json_str(wb_json_get(result, "cacheScope")), "private");
    assert_true(wb_json_int_or(wb_json_get(result, "ttlMs"), -1) > 0);
    assert_string_equal(wb_json_write(&scratch.arena, wb_json_at(listed, 2)).ptr,
                        "{\"name\":\"slow\",\"description\":\"Waits.\",\"inputSchema\":{\"type\":"
                        "\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":"
                        "false},\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,"
                        "\"idempotentHint\":false,\"openWorldHint\":true}}");
}

static void discover_needs_nothing_before_it(void **state)
{
    (void)state;
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}");
    const struct wb_json *answer = wb_json_parse(&scratch.arena, wb_span(line_at(0)), NULL);
    const struct wb_json *result = wb_json_get(answer, "result");
    assert_string_equal(wb_json_str(wb_json_get(result, "resultType")), "complete");
    assert_string_equal(wb_json_str(wb_json_at(wb_json_get(result, "supportedVersions"), 0)),
                        "2026-07-28");
}

static void progress_goes_to_its_token_and_grows(void **state)
{
    (void)state;
    say(INITIALIZE);
    line_at(0);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"look\","
        "\"_meta\":{\"progressToken\":\"t\"}}}");
    assert_string_equal(line_at(1), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                                    "\"params\":{\"progressToken\":\"t\",\"progress\":1,"
                                    "\"message\":\"looking\"}}");
    assert_string_equal(line_at(2), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                                    "\"params\":{\"progressToken\":\"t\",\"progress\":7,"
                                    "\"total\":10,\"message\":\"still looking\"}}");
    assert_non_null(strstr(line_at(3), "\"id\":1,\"result\""));
}

static void a_cancelled_call_gets_no_answer(void **state)
{
    (void)state;
    say(INITIALIZE);
    line_at(0);
    say("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"slow\"}}");
    sem_wait(&slow_entered);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
        "{\"requestId\":99}}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
        "{\"requestId\":\"a\"}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"fail\"}}");
    assert_non_null(strstr(line_at(1), "\"id\":2"));
    wb_run_close(WB_STEAL(run));
    assert_int_equal(n_lines, 2);
}

static void closing_the_run_answers_what_is_under_way(void **state)
{
    (void)state;
    say(INITIALIZE);
    line_at(0);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\"}}");
    sem_wait(&slow_entered);
    wb_run_close(WB_STEAL(run));
    assert_int_equal(n_lines, 2);
    assert_non_null(strstr(line_at(1), "\"isError\":true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(initialize_agrees_on_a_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_and_their_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(list_shows_schemas_and_hints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(discover_needs_nothing_before_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(progress_goes_to_its_token_and_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_call_gets_no_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_the_run_answers_what_is_under_way, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
