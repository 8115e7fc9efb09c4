/* fixture: a host with tools made for tests, and runs in a scratch folder. Include after cmocka.h. */
#ifndef WB_TESTS_RUN_FIXTURE_H
#define WB_TESTS_RUN_FIXTURE_H

#include "../scratch.h"
#include "run/run.h"

struct fixture {
    struct scratch scratch;
    const char *workspace;
    struct wb_host *host;
    struct wb_run *run;
};

static inline void fixture_init(struct fixture *f, const struct wb_tool *const *tools)
{
    const struct wb_host_options options = {.tools = tools, .guard = getenv("WERKBANK_GUARD")};
    memset(f, 0, sizeof(*f));
    scratch_init(&f->scratch);
    setenv("XDG_STATE_HOME", scratch_path(&f->scratch, "state"), 1);
    setenv("XDG_CONFIG_HOME", scratch_path(&f->scratch, "config"), 1);
    f->workspace = scratch_folder(&f->scratch, "ws");
    f->host = wb_host_new(&options);
}

static inline void fixture_open(struct fixture *f, struct wb_run_options options)
{
    struct wb_error err;
    options.workspace = f->workspace;
    options.conversation_id = "c";
    f->run = wb_run_open(f->host, &options, &err);
    assert_non_null(f->run);
}

static inline void fixture_done(struct fixture *f)
{
    wb_run_close(f->run);
    wb_host_free(f->host);
    scratch_done(&f->scratch);
}

/* Calls and returns the text; *ret_error says whether it is an error. */
static inline const char *fixture_call(struct fixture *f, const char *tool, const char *arguments,
                                       bool *ret_error)
{
    const struct wb_call_options options = {.origin = "operator"};
    WB_AUTO(wb_result_done) struct wb_result result;
    wb_run_call(f->run, tool, wb_span(arguments), &options, &result);
    *ret_error = result.is_error;
    return wb_arena_strdup(&f->scratch.arena, wb_text_cstr(&result.text));
}

/* The transcript's events of one kind, in order. */
static inline size_t fixture_events(struct fixture *f, const char *kind,
                                    const struct wb_json **ret_events, size_t max)
{
    struct wb_span rest =
        wb_span(scratch_read(&f->scratch, "state/werkbank/conversations/c.jsonl"));
    struct wb_span line;
    size_t n = 0;
    while (wb_span_next_line(&rest, &line)) {
        const struct wb_json *event = wb_json_parse(&f->scratch.arena, line, NULL);
        assert_non_null(event);
        if (wb_str_equal(wb_json_str_or(wb_json_get(event, "kind"), ""), kind)) {
            assert_true(n < max);
            ret_events[n++] = event;
        }
    }
    return n;
}

#endif
