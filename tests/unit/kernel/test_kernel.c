/* A kernel's course with a scripted process (tests/peers/scripted_kernel.py): what it may write, what
 * it must not, and how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kernel/kernel.h"
#include "sys/file.h"

static struct wb_loop *loop;
static struct wb_arena files;
static struct wb_span loader, bootstrap;

static int set_up(void **state)
{
    (void)state;
    loop = wb_loop_new();
    wb_arena_init(&files);
    if (wb_file_read(&files, LOADER, 1 << 20, &loader, NULL, NULL) != 0 ||
        wb_file_read(&files, SCRIPTED_KERNEL, 1 << 20, &bootstrap, NULL, NULL) != 0) {
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wb_loop_free(loop);
    wb_arena_done(&files);
    return 0;
}

/* What comes to the port, as text. */
struct port {
    pthread_mutex_t lock;
    struct wb_text seen;
};

static void on_call(void *ctx, uint32_t cell, uint32_t call, struct wb_span payload)
{
    struct port *port = ctx;
    pthread_mutex_lock(&port->lock);
    wb_text_printf(&port->seen, "call %u/%u ", cell, call);
    wb_text_add_span(&port->seen, payload);
    wb_text_add_char(&port->seen, ';');
    pthread_mutex_unlock(&port->lock);
}

static void on_cancelled(void *ctx, uint32_t cell, uint32_t call)
{
    struct port *port = ctx;
    pthread_mutex_lock(&port->lock);
    wb_text_printf(&port->seen, "cancelled %u/%u;", cell, call);
    pthread_mutex_unlock(&port->lock);
}

static struct port port = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct wb_kernel *start_with(struct wb_span source, const char *const *prefix,
                                    int64_t deadline_ms, struct wb_cancel *cancel,
                                    struct wb_error *err)
{
    const char *const argv[] = {"/usr/bin/python3", "-c", loader.ptr, NULL};
    const struct wb_kernel_options options = {
        .loop = loop,
        .guard = getenv("WERKBANK_GUARD"),
        .program = argv[0],
        .argv = argv,
        .prefix = prefix,
        .bootstrap = source,
        .port = {on_call, on_cancelled, &port},
    };
    wb_text_clear(&port.seen);
    return wb_kernel_start(&options, deadline_ms, cancel, err);
}

static struct wb_kernel *start(void)
{
    struct wb_error err;
    struct wb_kernel *kernel = start_with(bootstrap, NULL, wb_clock_deadline(60000), NULL, &err);
    if (kernel == NULL) {
        fail_msg("%s", err.message);
    }
    return kernel;
}

static void run_with(struct wb_kernel *kernel, struct wb_kernel_cell_options options,
                     const char *code, struct wb_cell *cell)
{
    options.code = wb_span(code);
    if (options.deadline_ms == 0) {
        options.deadline_ms = wb_clock_deadline(60000);
    }
    wb_cell_init(cell, NULL);
    wb_kernel_run(kernel, &options, cell);
}

static void expect_text(const struct wb_cell *cell, const char *expected)
{
    struct wb_text text = {0};
    wb_output_print(&cell->output, 0, cell->text_bytes, &text);
    assert_string_equal(wb_text_cstr(&text), expected);
    wb_text_done(&text);
}

static void a_cell_comes_back_whole(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){0},
             "text('one\\n')\n"
             "bundle(DISPLAY, {'text/plain': 'fig'}, [('image/png', b'\\x89PNG\\r\\n\\x1a\\nx')])\n"
             "text('two\\n')\n"
             "bundle(RESULT, {'text/plain': '42'})\n"
             "done()\n",
             &cell);
    assert_int_equal(cell.status, WB_CELL_OK);
    assert_null(cell.death);
    expect_text(&cell, "one\ntwo\n");
    assert_int_equal(cell.displays.count, 2);
    assert_string_equal(cell.displays.items[0].mime, "image/png");
    assert_int_equal(wb_cell_offset(&cell, cell.displays.items[0].mark), 4);
    assert_string_equal(cell.displays.value, "42");
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void text_behind_the_end_is_background_of_the_next(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){0},
             "text('mine')\nm = mark()\ntext('late')\n"
             "send(DONE, {'mark': m, 'status': 'ok', 'cwd': '/', 'ending': False})\n"
             "text(' later')\n",
             &cell);
    expect_text(&cell, "mine");
    wb_cell_done(&cell);
    run_with(kernel, (struct wb_kernel_cell_options){0}, "text('next')\ndone()\n", &cell);
    /* What had not come when the next cell began is that one's. */
    struct wb_text all = {0};
    wb_text_add_span(&all, wb_text_span(&cell.background));
    wb_output_print(&cell.output, 0, cell.text_bytes, &all);
    assert_string_equal(wb_text_cstr(&all), "late laternext");
    wb_text_done(&all);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void frames_of_another_cell_are_not_taken(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){0},
             "send(DONE, {'mark': 1, 'status': 'error', 'cwd': '/x', 'ending': True}, 77)\n"
             "send(ERROR, {'name': 'E', 'message': '', 'traceback': ''}, 0)\n"
             "done()\n",
             &cell);
    assert_int_equal(cell.status, WB_CELL_OK);
    assert_null(cell.error_name);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void who_breaks_the_protocol_is_ended(void **state)
{
    static const char *const cells[] = {
        "os.write(frames_out, b'x' * 16)\n",
        "send(99, b'')\n",
        "send(DONE, b'no json')\n",
        "send(DONE, b'[]')\n",
        "send(ERROR, b'\"' + b'x' * 100)\n",
        "send(DISPLAY, b'')\n",
        "send(DISPLAY, b'\\xff\\xff\\xff\\xff{}')\n",
        "send(DISPLAY, struct.pack('<I', 2) + b'{}surplus')\n",
        "send(HELLO, {'protocol': 1}, 0)\n",
        "send(DONE, {'mark': 900, 'status': 'ok'})\nsend(DONE, {'mark': 900, 'status': 'ok'})\n",
    };
    (void)state;
    for (size_t i = 0; i < WB_COUNT(cells); i++) {
        struct wb_kernel *kernel = start();
        struct wb_cell cell;
        run_with(kernel, (struct wb_kernel_cell_options){0}, cells[i], &cell);
        assert_int_equal(cell.status, WB_CELL_DIED);
        assert_non_null(strstr(cell.death, "broke its protocol"));
        assert_false(wb_kernel_is_alive(kernel, NULL));
        wb_cell_done(&cell);
        wb_kernel_free(kernel);
    }
}

static void deaths_have_their_cause(void **state)
{
    static const struct {
        const char *code, *cause;
    } cases[] = {
        {"text('last words')\nos._exit(3)\n", "exited with status 3"},
        {"os.kill(os.getpid(), signal.SIGSEGV)\n", "was killed by signal 11 (SIGSEGV)"},
        {"os.close(frames_out)\n", "lost its channel"},
        /* The channel ends a while before the process does. */
        {"os.close(frames_out)\ntime.sleep(0.5)\nos._exit(9)\n", "exited with status 9"},
        {"os.close(frames_out)\ntime.sleep(0.5)\nos.kill(os.getpid(), signal.SIGSEGV)\n",
         "was killed by signal 11 (SIGSEGV)"},
        {"send(DONE, {'mark': 900, 'status': 'ok', 'cwd': '/', 'ending': False})\n"
         "os.close(frames_out)\ntime.sleep(0.5)\nos._exit(9)\n",
         "exited with status 9"},
        {"done(ending=True)\nos._exit(0)\n", "exited with status 0"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_kernel *kernel = start();
        struct wb_cell cell;
        run_with(kernel, (struct wb_kernel_cell_options){0}, cases[i].code, &cell);
        assert_non_null(cell.death);
        assert_non_null(strstr(cell.death, cases[i].cause));
        if (i == 0) {
            assert_int_equal(cell.status, WB_CELL_DIED);
            expect_text(&cell, "last words");
        }
        wb_cell_done(&cell);
        wb_kernel_free(kernel);
    }
}

static void a_silent_cell_is_interrupted_and_lives(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){.inactivity_ms = 200},
             "text('before ')\nwait(INTERRUPT)\ntext('after')\ndone('interrupted')\n", &cell);
    assert_int_equal(cell.status, WB_CELL_INTERRUPTED);
    assert_int_equal(cell.stop, WB_CELL_STOP_INACTIVE);
    expect_text(&cell, "before after");
    wb_cell_done(&cell);
    run_with(kernel, (struct wb_kernel_cell_options){0}, "done()\n", &cell);
    assert_int_equal(cell.status, WB_CELL_OK);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void a_chatty_cell_is_not(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){.inactivity_ms = 1500},
             "import time\nfor i in range(20):\n    text('.')\n    time.sleep(0.1)\ndone()\n",
             &cell);
    assert_int_equal(cell.status, WB_CELL_OK);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void the_second_rung_is_a_signal_the_third_kills(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){.inactivity_ms = 100},
             "import time\n"
             "while not signals:\n    time.sleep(0.01)\n"
             "done('interrupted')\n",
             &cell);
    assert_int_equal(cell.status, WB_CELL_INTERRUPTED);
    wb_cell_done(&cell);
    run_with(kernel, (struct wb_kernel_cell_options){.inactivity_ms = 100},
             "import time\nwhile True:\n    time.sleep(1)\n", &cell);
    assert_int_equal(cell.status, WB_CELL_KILLED);
    assert_int_equal(cell.stop, WB_CELL_STOP_INACTIVE);
    assert_non_null(cell.death);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void held_calls_stop_the_budget(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    wb_kernel_hold(kernel, 1);
    run_with(kernel, (struct wb_kernel_cell_options){.inactivity_ms = 200, .limit_ms = 1000},
             "send(TOOL_CALL, {'tool': 'x', 'args': {}}, call=1)\n"
             "wait(INTERRUPT)\nsend(TOOL_CANCELLED, {}, call=1)\ndone('interrupted')\n",
             &cell);
    assert_int_equal(cell.stop, WB_CELL_STOP_LIMIT);
    wb_cell_done(&cell);
    wb_kernel_hold(kernel, -1);
    run_with(kernel, (struct wb_kernel_cell_options){.inactivity_ms = 200},
             "wait(INTERRUPT)\ndone('interrupted')\n", &cell);
    assert_int_equal(cell.stop, WB_CELL_STOP_INACTIVE);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
    assert_string_equal(wb_text_cstr(&port.seen),
                        "call 1/1 {\"tool\": \"x\", \"args\": {}};cancelled 1/1;");
}

static void answers_reach_the_cell(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    wb_kernel_answer(kernel, 1, 5, WB_SPAN("{\"ok\": true}"));
    run_with(kernel, (struct wb_kernel_cell_options){0}, "text('ran')\ndone()\n", &cell);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void cancelling_ends_a_cell(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    struct wb_cancel cancel;
    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);
    run_with(kernel, (struct wb_kernel_cell_options){.cancel = &cancel},
             "wait(INTERRUPT)\ndone('interrupted')\n", &cell);
    assert_int_equal(cell.status, WB_CELL_INTERRUPTED);
    assert_int_equal(cell.stop, WB_CELL_STOP_CANCELLED);
    wb_cell_done(&cell);
    wb_cancel_done(&cancel);
    wb_kernel_free(kernel);
}

static void a_start_that_fails_says_why(void **state)
{
    static const struct {
        const char *source, *says;
    } cases[] = {
        {"import os\nos.write(2, b'no such module\\n')\nos._exit(7)\n", "exited with status 7"},
        {"syntax error here\n", "SyntaxError"},
        {"import os\nos.write(1, b'x' * 2000000)\n", "broke its protocol"},
        {"import time\ntime.sleep(100)\n", "did not come up in time"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_error err;
        int64_t deadline_ms = wb_clock_deadline(i == 3 ? 500 : 60000);
        assert_null(start_with(wb_span(cases[i].source), NULL, deadline_ms, NULL, &err));
        if (strstr(err.message, cases[i].says) == NULL) {
            fail_msg("%s", err.message);
        }
    }
}

static void a_prefix_may_speak_first(void **state)
{
    static const char *const prefix[] = {
        "sh", "-c", "echo welcome to the capsule; echo and to its errors >&2; exec \"$@\"", "sh",
        NULL};
    (void)state;
    struct wb_error err;
    struct wb_cell cell;
    struct wb_kernel *kernel = start_with(bootstrap, prefix, wb_clock_deadline(60000), NULL, &err);
    assert_non_null(kernel);
    run_with(kernel, (struct wb_kernel_cell_options){0}, "text('x')\ndone()\n", &cell);
    expect_text(&cell, "x");
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

static void much_output_is_drained(void **state)
{
    (void)state;
    struct wb_kernel *kernel = start();
    struct wb_cell cell;
    run_with(kernel, (struct wb_kernel_cell_options){0},
             "for i in range(50):\n    text(b'0123456789abcde\\n' * 65536)\ntext('end')\ndone()\n",
             &cell);
    assert_int_equal(cell.text_bytes, 50 * (1 << 20) + 3);
    assert_true(cell.output.kept.head.len + cell.output.kept.tail.len < 8 << 20);
    wb_cell_done(&cell);
    wb_kernel_free(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_comes_back_whole),
        cmocka_unit_test(text_behind_the_end_is_background_of_the_next),
        cmocka_unit_test(frames_of_another_cell_are_not_taken),
        cmocka_unit_test(who_breaks_the_protocol_is_ended),
        cmocka_unit_test(deaths_have_their_cause),
        cmocka_unit_test(a_silent_cell_is_interrupted_and_lives),
        cmocka_unit_test(a_chatty_cell_is_not),
        cmocka_unit_test(the_second_rung_is_a_signal_the_third_kills),
        cmocka_unit_test(held_calls_stop_the_budget),
        cmocka_unit_test(answers_reach_the_cell),
        cmocka_unit_test(cancelling_ends_a_cell),
        cmocka_unit_test(a_start_that_fails_says_why),
        cmocka_unit_test(a_prefix_may_speak_first),
        cmocka_unit_test(much_output_is_drained),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
