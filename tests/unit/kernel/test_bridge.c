/* The bridge between a scripted kernel and a run with tools made for it: who is called, how many at
 * once, what is answered, and what becomes of calls that nobody waits for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../run/fixture.h"
#include "base/clock.h"
#include "kernel/bridge.h"
#include "sys/file.h"

/* --- tools --- */

struct args {
    struct wb_span text;
};

static const struct wb_arg table[] = {
    {.key = "text", .kind = WB_ARG_STRING, .offset = offsetof(struct args, text)},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_inside, most_inside;

static void wake(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static int call_picture(struct wb_call *call, const void *args, struct wb_result *result,
                        struct wb_error *err)
{
    (void)call;
    (void)args;
    (void)err;
    wb_result_attach(result, "image/png", WB_SPAN("PNG"));
    wb_text_add_str(&result->text, "here it is");
    return 0;
}

static int call_large(struct wb_call *call, const void *args, struct wb_result *result,
                      struct wb_error *err)
{
    (void)call;
    (void)args;
    (void)err;
    wb_text_add_char(&result->data, '"');
    for (size_t i = 0; i <= WB_BRIDGE_DATA_BYTES_MAX / 16; i++) {
        wb_text_add_str(&result->data, "0123456789abcdef");
    }
    wb_text_add_char(&result->data, '"');
    return 0;
}

/* Inside until it is cancelled, or until 32 are inside with it. */
static int call_hold(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    struct wb_cancel_hook hook = {.fire = wake};
    bool alone = ((const struct args *)args)->text.ptr != NULL;
    wb_cancel_hook_add(call->cancel, &hook);
    pthread_mutex_lock(&lock);
    n_inside++;
    most_inside = WB_MAX(most_inside, n_inside);
    pthread_cond_broadcast(&changed);
    while (!wb_cancel_is_fired(call->cancel) && (alone || most_inside < WB_BRIDGE_RUNNING_MAX)) {
        pthread_cond_wait(&changed, &lock);
    }
    n_inside--;
    pthread_mutex_unlock(&lock);
    wb_cancel_hook_remove(call->cancel, &hook);
    if (wb_cancel_is_fired(call->cancel)) {
        return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled inside");
    }
    wb_text_add_str(&result->text, "held");
    return 0;
}

#define TOOL(tool_name, fn)                                                                        \
    {                                                                                              \
        .name = tool_name, .tier = WB_TIER_READ, .parallel_safe = true,                            \
        .args = {table, WB_COUNT(table), sizeof(struct args), NULL, 0}, .call = fn                 \
    }

static const struct wb_tool picture = TOOL("picture", call_picture);
static const struct wb_tool large = TOOL("large", call_large);
static const struct wb_tool hold = TOOL("hold", call_hold);
static const struct wb_tool *const tools[] = {&picture, &large, &hold, NULL};

/* --- a bridge with a run on one side and a kernel on the other --- */

struct desk {
    struct fixture f;
    struct wb_bridge *bridge;
    struct wb_kernel *kernel;
    struct wb_cell cell;
};

static void desk_init(struct desk *desk)
{
    struct wb_error err;
    struct wb_span loader, bootstrap;
    fixture_init(&desk->f, tools);
    fixture_open(&desk->f, (struct wb_run_options){0});
    struct wb_arena *arena = &desk->f.scratch.arena;
    assert_int_equal(wb_file_read(arena, LOADER, 1 << 20, &loader, NULL, &err), 0);
    assert_int_equal(wb_file_read(arena, SCRIPTED_KERNEL, 1 << 20, &bootstrap, NULL, &err), 0);
    const char *const argv[] = {"/usr/bin/python3", "-c", loader.ptr, NULL};
    desk->bridge = wb_bridge_new();
    const struct wb_kernel_options options = {
        .loop = wb_host_loop(desk->f.host),
        .guard = wb_host_guard(desk->f.host),
        .program = argv[0],
        .argv = argv,
        .bootstrap = bootstrap,
        .port = wb_bridge_port(desk->bridge),
    };
    desk->kernel = wb_kernel_start(&options, wb_clock_deadline(60000), NULL, &err);
    assert_non_null(desk->kernel);
    n_inside = most_inside = 0;
}

static void desk_done(struct desk *desk)
{
    wb_kernel_free(desk->kernel);
    wb_bridge_free(desk->bridge);
    fixture_done(&desk->f);
}

static void stop_calls(void *ctx)
{
    wb_bridge_end(ctx);
}

/* Runs a cell, which the caller gives back; returns what it printed, in the scratch arena. */
static const char *run(struct desk *desk, const char *code, int64_t limit_ms)
{
    struct wb_text text = {0};
    const struct wb_kernel_cell_options options = {
        .code = wb_span(code),
        .limit_ms = limit_ms,
        .deadline_ms = wb_clock_deadline(60000),
        .on_stop = stop_calls,
        .ctx = desk->bridge,
    };
    wb_cell_init(&desk->cell, NULL);
    wb_bridge_begin(desk->bridge, desk->f.run, desk->kernel, wb_kernel_next_cell(desk->kernel));
    wb_kernel_run(desk->kernel, &options, &desk->cell);
    wb_bridge_end(desk->bridge);
    assert_int_equal(wb_bridge_outstanding(desk->bridge), 0);
    wb_output_print(&desk->cell.output, 0, desk->cell.text_bytes, &text);
    const char *copy = wb_arena_strdup(&desk->f.scratch.arena, wb_text_cstr(&text));
    wb_text_done(&text);
    return copy;
}

#define CALL(number, tool, args)                                                                   \
    "send(TOOL_CALL, {'tool': " tool ", 'args': " args "}, call=" number ")\n"
/* Prints the next answer's call, and members of it. */
#define TELL                                                                                       \
    "c, n, o = wait(TOOL_RESULT)\n"                                                                \
    "text(f\"{c}/{n} {o['ok']} {o['kind']} {o['pictures']} {o['text'][:40]}\\n\")\n"

static void answers_are_told(void **state)
{
    static const struct {
        const char *code, *expected;
    } cases[] = {
        {CALL("1", "'picture'", "{}") TELL "done()\n", "1/1 True None 1 here it is\n"},
        {CALL("7", "'nothing'", "{}") TELL "done()\n",
         "1/7 False not_found 0 there is no tool `nothing`; the tools ar\n"},
        {CALL("1", "'hold'", "{'x': 1}") TELL "done()\n",
         "1/1 False invalid 0 hold: unknown key `x`"},
        {CALL("1", "'large'", "{}") TELL "done()\n",
         "1/1 False limit 0 the result of `large` has 16777234 bytes"},
        {CALL("1", "'eval'", "{}") TELL "done()\n",
         "1/1 False denied 0 `eval` cannot be called from a cell: it "},
        {CALL("1", "5", "{}") TELL "done()\n", "1/1 False invalid 0 a tool is called by its name"},
        {CALL("1", "'hold'", "[]") TELL "done()\n",
         "1/1 False invalid 0 a tool is called by its name"},
        {"send(TOOL_CALL, b'{', call=1)\n" TELL "done()\n",
         "1/1 False invalid 0 a tool is called by its name"},
        {"send(TOOL_CALL, {'tool': 'picture', 'args': {}}, 99, call=1)\n" TELL "done()\n",
         "99/1 False closed 0 no cell is running"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct desk desk;
        desk_init(&desk);
        const char *printed = run(&desk, cases[i].code, 0);
        if (!wb_str_starts(printed, cases[i].expected)) {
            fail_msg("%s", printed);
        }
        assert_int_equal(desk.cell.displays.n_pictures, i == 0 ? 1 : 0);
        wb_cell_done(&desk.cell);
        desk_done(&desk);
    }
}

static void thirty_two_at_once_and_the_rest_waits(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    const char *printed = run(&desk,
                              "for i in range(100):\n"
                              "    send(TOOL_CALL, {'tool': 'hold', 'args': {}}, call=i + 1)\n"
                              "seen = set()\n"
                              "for i in range(100):\n"
                              "    c, n, o = wait(TOOL_RESULT)\n"
                              "    assert o['ok']\n"
                              "    seen.add(n)\n"
                              "text(str(len(seen)))\ndone()\n",
                              0);
    assert_string_equal(printed, "100");
    assert_int_equal(most_inside, WB_BRIDGE_RUNNING_MAX);
    wb_cell_done(&desk.cell);
    desk_done(&desk);
}

static void two_calls_of_one_number(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    const char *printed =
        run(&desk,
            CALL("1", "'hold'", "{'text': 'alone'}") CALL("1", "'picture'", "{}") TELL "done()\n",
            0);
    assert_string_equal(printed, "1/1 False protocol 0 two calls have the number 1\n");
    wb_cell_done(&desk.cell);
    desk_done(&desk);
    assert_int_equal(n_inside, 0);
}

/* The kernel lost interest: of one that runs and one that waits, and of one that never was. */
static void what_the_kernel_drops_is_not_answered(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    const char *printed =
        run(&desk,
            "for i in range(40):\n"
            "    send(TOOL_CALL, {'tool': 'hold', 'args': {'text': 'alone'}}, call=i + 1)\n"
            "for i in range(40):\n"
            "    send(TOOL_CANCELLED, {}, call=i + 1)\n"
            "send(TOOL_CANCELLED, {}, call=500)\n" CALL("50", "'picture'", "{}") TELL "done()\n",
            0);
    assert_string_equal(printed, "1/50 True None 1 here it is\n");
    wb_cell_done(&desk.cell);
    desk_done(&desk);
    assert_int_equal(n_inside, 0);
}

static void stopping_a_cell_cancels_its_calls_first(void **state)
{
    static const char *const ends[] = {"wait(INTERRUPT)\ndone('interrupted')\n", "done('error')\n"};
    (void)state;
    for (size_t i = 0; i < WB_COUNT(ends); i++) {
        struct desk desk;
        desk_init(&desk);
        const char *code = wb_arena_printf(&desk.f.scratch.arena, "%s%s",
                                           CALL("1", "'hold'", "{'text': 'alone'}") TELL, ends[i]);
        assert_string_equal(run(&desk, code, 500),
                            "1/1 False cancelled 0 cancelled, because the cell was stopped \n");
        assert_int_equal(desk.cell.status, WB_CELL_INTERRUPTED);
        wb_cell_done(&desk.cell);
        /* The next cell has the bridge anew. */
        assert_string_equal(run(&desk, CALL("1", "'picture'", "{}") TELL "done()\n", 0),
                            "2/1 True None 1 here it is\n");
        wb_cell_done(&desk.cell);
        desk_done(&desk);
        assert_int_equal(n_inside, 0);
    }
}

static void a_cell_that_ends_leaves_its_calls(void **state)
{
    (void)state;
    struct desk desk;
    desk_init(&desk);
    run(&desk, CALL("1", "'hold'", "{'text': 'alone'}") "done()\n", 0);
    assert_int_equal(desk.cell.status, WB_CELL_OK);
    wb_cell_done(&desk.cell);
    /* A kernel that dies with calls under way. */
    run(&desk, CALL("2", "'hold'", "{'text': 'alone'}") "os._exit(1)\n", 0);
    assert_int_equal(desk.cell.status, WB_CELL_DIED);
    wb_cell_done(&desk.cell);
    desk_done(&desk);
    assert_int_equal(n_inside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_told),
        cmocka_unit_test(thirty_two_at_once_and_the_rest_waits),
        cmocka_unit_test(two_calls_of_one_number),
        cmocka_unit_test(what_the_kernel_drops_is_not_answered),
        cmocka_unit_test(stopping_a_cell_cancels_its_calls_first),
        cmocka_unit_test(a_cell_that_ends_leaves_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
