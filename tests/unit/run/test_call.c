/* Tests of run/call and run/run: the surface, the order of the spine, turns, cancellation, many
 * calls at once, and what the transcript keeps. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fixture.h"

struct args {
    struct wb_span path, text;
};

static const struct wb_arg table[] = {
    {.key = "path", .kind = WB_ARG_PATH, .offset = offsetof(struct args, path)},
    {.key = "text", .kind = WB_ARG_STRING, .offset = offsetof(struct args, text)},
};

#define ARGS                                                                                       \
    {                                                                                              \
        .table = table, .n = WB_COUNT(table), .bytes = sizeof(struct args)                         \
    }

/* echo: answers its text, with data. */
static int call_echo(struct wb_call *call, const void *argp, struct wb_result *result,
                     struct wb_error *err)
{
    const struct args *args = argp;
    struct wb_json_writer w;
    (void)err;
    wb_call_progress(call, 1, 2, "echoing %d bytes", (int)args->text.len);
    wb_text_add_span(&result->text, args->text);
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "id", (int64_t)call->id);
    wb_json_end_object(&w);
    return 0;
}

/* put: writes its text into its file. */
static int call_put(struct wb_call *call, const void *argp, struct wb_result *result,
                    struct wb_error *err)
{
    const struct args *args = argp;
    const char *path = wb_call_path(call, args->path, err);
    const struct wb_commit_op op = {
        .kind = WB_COMMIT_WRITE, .path = path, .new_content = args->text};
    if (path == NULL || wb_call_write(call, &op, 1, result, err) != 0) {
        return -1;
    }
    wb_text_printf(&result->text, "wrote %s", wb_call_relative(call, path));
    return 0;
}

/* hold: waits until the test lets one call go, or for its cancellation; counts who is inside. */
static sem_t hold_entered;
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;
static int n_releases, n_inside, most_inside; /* with the lock */

static void wake_holders(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&hold_lock);
    pthread_cond_broadcast(&hold_changed);
    pthread_mutex_unlock(&hold_lock);
}

static void release_one(void)
{
    pthread_mutex_lock(&hold_lock);
    n_releases++;
    pthread_cond_broadcast(&hold_changed);
    pthread_mutex_unlock(&hold_lock);
}

static int call_hold(struct wb_call *call, const void *argp, struct wb_result *result,
                     struct wb_error *err)
{
    struct wb_cancel_hook hook = {.fire = wake_holders};
    (void)argp;
    wb_cancel_hook_add(call->cancel, &hook);
    pthread_mutex_lock(&hold_lock);
    n_inside++;
    most_inside = WB_MAX(most_inside, n_inside);
    sem_post(&hold_entered);
    while (n_releases == 0 && !wb_cancel_is_fired(call->cancel)) {
        pthread_cond_wait(&hold_changed, &hold_lock);
    }
    bool cancelled = wb_cancel_is_fired(call->cancel);
    n_releases -= cancelled ? 0 : 1;
    n_inside--;
    pthread_mutex_unlock(&hold_lock);
    wb_cancel_hook_remove(call->cancel, &hook);
    if (cancelled) {
        return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled inside");
    }
    wb_text_printf(&result->text, "%d", (int)call->id);
    return 0;
}

static bool has_staging(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_STAGING) != NULL;
}

static const struct wb_tool echo = {.name = "echo",
                                    .tier = WB_TIER_READ,
                                    .parallel_safe = true,
                                    .args = ARGS,
                                    .call = call_echo};
static const struct wb_tool put = {.name = "put",
                                   .tier = WB_TIER_WRITE,
                                   .parallel_safe = true,
                                   .args = ARGS,
                                   .call = call_put};
static const struct wb_tool hold = {.name = "hold",
                                    .tier = WB_TIER_EXEC,
                                    .args = ARGS,
                                    .call = call_hold};

/* A call with the text "now" is there to end the one that has the turn. */
static bool is_now(const void *argp)
{
    const struct args *args = argp;
    return wb_span_is(args->text, "now");
}

static const struct wb_tool hold_or_now = {.name = "hold_or_now",
                                           .tier = WB_TIER_EXEC,
                                           .args = ARGS,
                                           .interrupts = is_now,
                                           .call = call_hold};
static const struct wb_tool hold_many = {.name = "hold_many",
                                         .tier = WB_TIER_EXEC,
                                         .parallel_safe = true,
                                         .args = ARGS,
                                         .call = call_hold};
static const struct wb_tool staged = {.name = "staged",
                                      .tier = WB_TIER_WRITE,
                                      .args = ARGS,
                                      .available = has_staging,
                                      .call = call_echo};
static const struct wb_tool *const tools[] = {&echo,        &put,    &hold, &hold_many,
                                              &hold_or_now, &staged, NULL};

static struct fixture f;

static int set_up(void **state)
{
    (void)state;
    fixture_init(&f, tools);
    sem_init(&hold_entered, 0, 0);
    n_releases = n_inside = most_inside = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_done(&f);
    sem_destroy(&hold_entered);
    return 0;
}

static const struct wb_run_options everything = {.allow = WB_TIER_EXEC};

static const char *list_surface(struct wb_run *run)
{
    const struct wb_tool *tool;
    char *list = wb_arena_strdup(&f.scratch.arena, "");
    for (size_t cursor = 0; (tool = wb_run_next_tool(run, &cursor)) != NULL;) {
        list = wb_arena_printf(&f.scratch.arena, "%s%s ", list, tool->name);
    }
    return list;
}

static void the_surface_follows_cap_names_and_resources(void **state)
{
    static const char *const only[] = {"put", "echo", NULL};

    static const struct {
        struct wb_run_options options;
        bool attach;
        const char *surface;
    } rows[] = {
        {{0}, false, "echo put hold hold_many hold_or_now "},
        {{0}, true, "echo put hold hold_many hold_or_now staged "},
        {{.cap = WB_TIER_WRITE}, true, "echo put staged "},
        {{.cap = WB_TIER_READ}, true, "echo "},
        {{.cap = WB_TIER_READ, .allow = WB_TIER_EXEC}, true, "echo "},
        {{.only = only}, true, "echo put "},
        {{.only = only, .cap = WB_TIER_READ}, true, "echo "},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        fixture_open(&f, rows[i].options);
        if (rows[i].attach) {
            wb_run_attach(f.run, WB_RESOURCE_STAGING, &f, NULL);
        }
        assert_string_equal(list_surface(f.run), rows[i].surface);
        wb_run_close(f.run);
        f.run = NULL;
    }
}

static void what_the_surface_lacks_is_unknown(void **state)
{
    bool failed;
    (void)state;
    fixture_open(&f, (struct wb_run_options){.cap = WB_TIER_READ});
    assert_string_equal(fixture_call(&f, "put", "{}", &failed),
                        "there is no tool `put`; the tools are: echo");
    assert_true(failed);
    assert_string_equal(fixture_call(&f, "staged", "{}", &failed),
                        "there is no tool `staged`; the tools are: echo");
    assert_string_equal(fixture_call(&f, "ehco", "{}", &failed),
                        "there is no tool `ehco`; did you mean `echo`?");
}

static void opening_says_what_is_wrong(void **state)
{
    static const char *const only[] = {"pit", NULL};
    scratch_write(&f.scratch, "file", "");

    const struct {
        struct wb_run_options options;
        const char *message;
    } rows[] = {
        {{.workspace = scratch_path(&f.scratch, "none")}, "there is no folder "},
        {{.workspace = scratch_path(&f.scratch, "file")}, "the workspace must be a folder"},
        {{.workspace = f.workspace, .only = only}, "there is no tool `pit`; did you mean `put`?"},
        {{.workspace = f.workspace, .conversation_id = "../x"}, "the conversation id `../x`"},
        {{.workspace = f.workspace, .config_file = "/none"}, ""},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_error err;
        assert_null(wb_run_open(f.host, &rows[i].options, &err));
        assert_true(wb_str_starts(err.message, rows[i].message));
    }
}

static void arguments_that_are_no_json_are_told(void **state)
{
    bool failed;
    (void)state;
    fixture_open(&f, everything);
    const char *text = fixture_call(&f, "echo", "{\"text\": ", &failed);
    assert_true(failed);
    assert_true(wb_str_starts(text, "echo: the arguments are not JSON: "));
    fixture_call(&f, "echo", "", &failed);
    assert_false(failed);
}

static void count_progress(void *ctx, const char *message, int64_t done, int64_t total)
{
    assert_string_equal(message, "echoing 2 bytes");
    assert_int_equal(done, 1);
    assert_int_equal(total, 2);
    (*(int *)ctx)++;
}

static void progress_reaches_the_caller(void **state)
{
    int n = 0;
    const struct wb_call_options options = {.on_progress = count_progress, .ctx = &n};
    WB_AUTO(wb_result_done) struct wb_result result;
    (void)state;
    fixture_open(&f, everything);
    wb_run_call(f.run, "echo", WB_SPAN("{\"text\": \"hi\"}"), &options, &result);
    assert_int_equal(n, 1);
    assert_string_equal(wb_text_cstr(&result.text), "hi");
}

static void transcript_shows_every_call(void **state)
{
    const struct wb_json *calls[8], *results[8], *writes[8];
    bool failed;
    (void)state;
    fixture_open(&f, everything);
    fixture_call(&f, "echo", "{\"text\": \"line\\n2\"}", &failed);
    fixture_call(&f, "nothing", "{\n \"a\": 1}", &failed);
    fixture_call(&f, "echo", "{broken\n", &failed);
    fixture_call(&f, "put", "{\"path\": \"a.txt\", \"text\": \"A\"}", &failed);
    assert_false(failed);
    assert_int_equal(fixture_events(&f, "call", calls, 8), 4);
    assert_int_equal(fixture_events(&f, "result", results, 8), 4);
    assert_int_equal(fixture_events(&f, "write", writes, 8), 1);
    assert_string_equal(wb_json_str(wb_json_get(calls[0], "origin")), "operator");
    assert_string_equal(wb_json_str(wb_json_path(calls[0], "arguments.text")), "line\n2");
    assert_string_equal(wb_json_str(wb_json_get(results[0], "text")), "line\n2");
    assert_false(wb_json_bool(wb_json_get(results[0], "is_error"), true));
    assert_string_equal(wb_json_str(wb_json_get(calls[1], "tool")), "nothing");
    assert_string_equal(wb_json_str(wb_json_get(results[1], "code")), "not_found");
    assert_string_equal(wb_json_str(wb_json_get(calls[2], "arguments_text")), "{broken\n");
    assert_true(wb_json_bool(wb_json_get(results[2], "is_error"), false));
    assert_string_equal(
        wb_json_str(wb_json_get(wb_json_at(wb_json_get(writes[0], "files"), 0), "path")), "a.txt");
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(wb_json_int_or(wb_json_get(results[i], "call"), 0), i + 1);
    }
}

/* Observers: the order of what they are told, and where their words land. */
static char order[256];

static void note_before(void *ctx, struct wb_call *call, const struct wb_commit *commit,
                        void **ret_state)
{
    (void)call;
    size_t len = strlen(order);
    snprintf(order + len, sizeof(order) - len, "before-%s(%zu) ", (const char *)ctx, commit->n_ops);
    *ret_state = ctx;
}

static void note_after(void *ctx, struct wb_call *call, const struct wb_commit *commit,
                       bool written, void *state, struct wb_result *result)
{
    (void)call;
    (void)commit;
    assert_ptr_equal(ctx, state);
    size_t len = strlen(order);
    snprintf(order + len, sizeof(order) - len, "after-%s(%d) ", (const char *)ctx, written);
    wb_text_printf(&result->text, "%s saw it\n", (const char *)ctx);
    wb_result_add_member(result, ctx, WB_SPAN("true"));
}

static void note_result(void *ctx, struct wb_call *call, struct wb_result *result)
{
    (void)call;
    (void)result;
    size_t len = strlen(order);
    snprintf(order + len, sizeof(order) - len, "result-%s ", (const char *)ctx);
}

static void observers_speak_in_order_behind_the_tool(void **state)
{
    const struct wb_write_observer a = {note_before, note_after, note_result,
                                        (void *)(uintptr_t) "a"};
    const struct wb_write_observer b = {note_before, note_after, NULL, (void *)(uintptr_t) "b"};
    const struct wb_call_options options = {0};
    struct wb_result result;
    (void)state;
    order[0] = '\0';
    fixture_open(&f, everything);
    wb_run_observe(f.run, &a);
    wb_run_observe(f.run, &b);
    wb_run_call(f.run, "put", WB_SPAN("{\"path\": \"o.txt\", \"text\": \"A\"}"), &options, &result);
    assert_string_equal(wb_text_cstr(&result.text), "wrote o.txt\na saw it\nb saw it\n");
    assert_string_equal(wb_text_cstr(&result.data), "{\"a\":true,\"b\":true}");
    assert_string_equal(order, "before-a(1) before-b(1) after-a(1) after-b(1) result-a ");
    wb_result_done(&result);

    order[0] = '\0'; /* the file is there now: the commit refuses */
    wb_run_call(f.run, "put", WB_SPAN("{\"path\": \"o.txt\", \"text\": \"B\"}"), &options, &result);
    assert_true(result.is_error);
    assert_string_equal(order, "before-a(1) before-b(1) after-a(0) after-b(0) result-a ");
    wb_result_done(&result);
    assert_string_equal(scratch_read(&f.scratch, "ws/o.txt"), "A");
}

/* Submitted calls report here. */
struct inbox {
    pthread_mutex_t lock;
    sem_t arrived;
    int n, n_errors;
    char texts[512];
    enum wb_error_code last_code;
};

static void inbox_init(struct inbox *inbox)
{
    memset(inbox, 0, sizeof(*inbox));
    pthread_mutex_init(&inbox->lock, NULL);
    sem_init(&inbox->arrived, 0, 0);
}

static void take(void *ctx, struct wb_result *result)
{
    struct inbox *inbox = ctx;
    pthread_mutex_lock(&inbox->lock);
    inbox->n++;
    inbox->n_errors += result->is_error;
    inbox->last_code = result->code;
    size_t len = strlen(inbox->texts);
    snprintf(inbox->texts + len, sizeof(inbox->texts) - len, "%s ", wb_text_cstr(&result->text));
    pthread_mutex_unlock(&inbox->lock);
    wb_result_done(result);
    sem_post(&inbox->arrived);
}

static void wait_for(sem_t *sem, int n)
{
    for (int i = 0; i < n; i++) {
        sem_wait(sem);
    }
}

static void calls_of_a_tool_that_is_not_parallel_safe_take_turns(void **state)
{
    const struct wb_call_options options = {0};
    struct inbox inbox;
    (void)state;
    inbox_init(&inbox);
    fixture_open(&f, everything);
    for (int i = 0; i < 5; i++) {
        wb_run_submit(f.run, "hold", WB_SPAN("{}"), &options, take, &inbox);
    }
    for (int i = 0; i < 5; i++) {
        sem_wait(&hold_entered);
        release_one();
    }
    wait_for(&inbox.arrived, 5);
    assert_int_equal(most_inside, 1);
    assert_string_equal(inbox.texts, "1 2 3 4 5 ");
}

static void a_call_that_interrupts_does_not_wait_for_its_turn(void **state)
{
    const struct wb_call_options options = {0};
    struct inbox inbox;
    (void)state;
    inbox_init(&inbox);
    fixture_open(&f, everything);
    wb_run_submit(f.run, "hold_or_now", WB_SPAN("{}"), &options, take, &inbox);
    wait_for(&hold_entered, 1);
    wb_run_submit(f.run, "hold_or_now", WB_SPAN("{}"), &options, take, &inbox); /* waits */
    wb_run_submit(f.run, "hold_or_now", WB_SPAN("{\"text\": \"now\"}"), &options, take, &inbox);
    wait_for(&hold_entered, 1);
    assert_int_equal(most_inside, 2);
    release_one();
    release_one();
    release_one();
    wait_for(&inbox.arrived, 3);
}

static void calls_of_a_parallel_safe_tool_run_together(void **state)
{
    const struct wb_call_options options = {0};
    struct inbox inbox;
    (void)state;
    inbox_init(&inbox);
    fixture_open(&f, everything);
    for (int i = 0; i < 5; i++) {
        wb_run_submit(f.run, "hold_many", WB_SPAN("{}"), &options, take, &inbox);
    }
    wait_for(&hold_entered, 5); /* all of them are inside, and none has been let go */
    assert_int_equal(most_inside, 5);
    for (int i = 0; i < 5; i++) {
        release_one();
    }
    wait_for(&inbox.arrived, 5);
}

static void a_waiting_call_ends_by_cancel_and_by_deadline(void **state)
{
    struct wb_cancel cancel;
    const struct wb_call_options plain = {0}, cancellable = {.cancel = &cancel};
    struct inbox first, second;
    (void)state;
    wb_cancel_init(&cancel);
    inbox_init(&first);
    inbox_init(&second);
    fixture_open(&f, everything);
    wb_run_submit(f.run, "hold", WB_SPAN("{}"), &plain, take, &first);
    sem_wait(&hold_entered);
    wb_run_submit(f.run, "hold", WB_SPAN("{}"), &cancellable, take, &second);
    wb_cancel_fire(&cancel);
    sem_wait(&second.arrived);
    assert_int_equal(second.last_code, WB_ERROR_CANCELLED);

    const struct wb_call_options late = {.deadline_ms = wb_clock_deadline(1)};
    WB_AUTO(wb_result_done) struct wb_result result;
    wb_run_call(f.run, "hold", WB_SPAN("{}"), &late, &result);
    assert_int_equal(result.code, WB_ERROR_TIMEOUT);
    release_one();
    sem_wait(&first.arrived);
    wb_cancel_done(&cancel);
}

static void closing_cancels_calls_and_waits_for_them(void **state)
{
    const struct wb_call_options options = {0};
    struct inbox inbox;
    (void)state;
    inbox_init(&inbox);
    fixture_open(&f, everything);
    for (int i = 0; i < 4; i++) {
        wb_run_submit(f.run, i < 2 ? "hold" : "hold_many", WB_SPAN("{}"), &options, take, &inbox);
    }
    wait_for(&hold_entered, 3); /* one of the two that take turns, and the others */
    wb_run_close(f.run);
    f.run = NULL;
    assert_int_equal(inbox.n, 4);
    assert_int_equal(inbox.n_errors, 4);
    assert_int_equal(inbox.last_code, WB_ERROR_CANCELLED);
}

static void two_hundred_calls_at_once(void **state)
{
    const struct wb_json *events[256];
    const struct wb_call_options options = {0};
    struct inbox inbox;
    (void)state;
    inbox_init(&inbox);
    fixture_open(&f, everything);
    for (int i = 0; i < 200; i++) {
        wb_run_submit(f.run, "echo", WB_SPAN("{\"text\": \"x\"}"), &options, take, &inbox);
    }
    wait_for(&inbox.arrived, 200);
    assert_int_equal(inbox.n, 200);
    assert_int_equal(inbox.n_errors, 0);
    assert_int_equal(fixture_events(&f, "call", events, 256), 200);
    assert_int_equal(fixture_events(&f, "result", events, 256), 200);
}

static void one_call_too_many_is_refused(void **state)
{
    const struct wb_call_options options = {0};
    struct inbox inbox;
    bool failed;
    (void)state;
    inbox_init(&inbox);
    fixture_open(&f, everything);
    for (int i = 0; i < WB_RUN_CALLS_MAX; i++) {
        wb_run_submit(f.run, "hold_many", WB_SPAN("{}"), &options, take, &inbox);
    }
    wait_for(&hold_entered, WB_RUN_CALLS_MAX);
    assert_string_equal(fixture_call(&f, "echo", "{}", &failed),
                        "too many calls are running at once; wait until one of them is done");
    for (int i = 0; i < WB_RUN_CALLS_MAX; i++) {
        release_one();
    }
    wait_for(&inbox.arrived, WB_RUN_CALLS_MAX);
    assert_int_equal(inbox.n_errors, 0);
}

/* Parts of a host: one a key, freed in reverse order. */
static const char part_key_a, part_key_b;

static void *make_b(struct wb_host *host)
{
    (void)host;
    return (void *)(uintptr_t) "b";
}

static void free_named(void *part)
{
    size_t len = strlen(order);
    snprintf(order + len, sizeof(order) - len, "%s ", (const char *)part);
}

static void *make_a(struct wb_host *host)
{
    wb_host_part(host, &part_key_b, make_b, free_named); /* a needs b */
    return (void *)(uintptr_t) "a";
}

static void parts_are_made_once_and_freed_in_reverse(void **state)
{
    const struct wb_host_options options = {.tools = tools, .guard = "/nonexistent"};
    (void)state;
    order[0] = '\0';
    struct wb_host *host = wb_host_new(&options);
    void *a = wb_host_part(host, &part_key_a, make_a, free_named);
    assert_ptr_equal(wb_host_part(host, &part_key_a, make_a, free_named), a);
    wb_host_part(host, &part_key_b, make_b, free_named);
    wb_host_free(host);
    assert_string_equal(order, "a b ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_surface_follows_cap_names_and_resources, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_the_surface_lacks_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(opening_says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arguments_that_are_no_json_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(progress_reaches_the_caller, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transcript_shows_every_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(observers_speak_in_order_behind_the_tool, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(calls_of_a_tool_that_is_not_parallel_safe_take_turns,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_interrupts_does_not_wait_for_its_turn, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(calls_of_a_parallel_safe_tool_run_together, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_waiting_call_ends_by_cancel_and_by_deadline, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(closing_cancels_calls_and_waits_for_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_hundred_calls_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_call_too_many_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_are_made_once_and_freed_in_reverse, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
