/* fuzz_mcp: whatever bytes the peer of `serve` sends, every line that goes back is one JSON object,
 * and closing ends all calls. The tools do nothing, so that the protocol is what is met. */
#include <assert.h>
#include <stdlib.h>

#include "app/mcp_server.h"
#include "base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int do_nothing(struct wb_call *call, const void *args, struct wb_result *result,
                      struct wb_error *err)
{
    (void)args;
    (void)err;
    wb_call_progress(call, 1, 2, "on the way");
    wb_text_add_str(&result->text, "done");
    wb_text_add_str(&result->data, "true");
    return 0;
}

static const struct wb_tool act = {.name = "act",
                                   .tier = WB_TIER_READ,
                                   .parallel_safe = true,
                                   .description = "Acts.",
                                   .call = do_nothing};
static const struct wb_tool *const tools[] = {&act, NULL};

static int check_line(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)ctx;
    wb_arena_init(&arena);
    for (size_t i = 0; i < n; i++) {
        wb_text_add_span(&line, spans[i]);
    }
    assert(memchr(line.ptr, '\n', line.len) == line.ptr + line.len - 1);
    const struct wb_json *json = wb_json_parse(&arena, wb_text_span(&line), err);
    assert(wb_json_type(json) == WB_JSON_OBJECT);
    return 0;
}

static struct wb_host *make_host(void)
{
    static const struct wb_host_options options = {.tools = tools, .guard = "/nonexistent"};
    /* Nothing may be kept of a million runs. */
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    wb_log_set_level(WB_LOG_ERROR);
    return wb_host_new(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wb_host *host; /* of the process: a new one each time would measure threads */
    struct wb_error err;
    if (host == NULL) {
        host = make_host();
    }
    const struct wb_run_options options = {.workspace = "/"};
    struct wb_run *run = wb_run_open(host, &options, &err);
    assert(run != NULL);
    struct wb_mcp_server *server = wb_mcp_server_new(run, NULL, check_line, NULL);
    wb_mcp_server_feed(server, (const char *)data, size);
    wb_mcp_server_feed(server, "\n", 1);
    wb_run_close(run);
    wb_mcp_server_free(server);
    return 0;
}
