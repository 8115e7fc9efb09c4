/* Tests of run/gate: what passes, what is asked, and what a refusal says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "run/gate.h"

struct args {
    struct wb_span path, command;
    struct wb_arg_list items;
};

struct item {
    struct wb_span file;
};

static const struct wb_arg item_table[] = {
    {.key = "file", .kind = WB_ARG_PATH, .offset = offsetof(struct item, file)},
};

static const struct wb_arg table[] = {
    {.key = "path", .kind = WB_ARG_PATH, .offset = offsetof(struct args, path)},
    {.key = "command", .kind = WB_ARG_STRING, .offset = offsetof(struct args, command)},
    {.key = "items",
     .kind = WB_ARG_OBJECTS,
     .offset = offsetof(struct args, items),
     .items = item_table,
     .n_items = 1,
     .item_bytes = sizeof(struct item)},
};

static int say_done(struct wb_call *call, const void *args, struct wb_result *result,
                    struct wb_error *err)
{
    (void)call;
    (void)args;
    (void)err;
    wb_text_add_str(&result->text, "done");
    return 0;
}

static int name_command(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                        struct wb_error *err)
{
    (void)call;
    (void)err;
    subject->command = ((const struct args *)args)->command.ptr;
    return 0;
}

#define TOOL(tool_name, tool_tier)                                                                 \
    {                                                                                              \
        .name = (tool_name), .tier = (tool_tier), .parallel_safe = true, .call = say_done,         \
        .subject = name_command, .args = {                                                         \
            .table = table,                                                                        \
            .n = WB_COUNT(table),                                                                  \
            .bytes = sizeof(struct args)                                                           \
        }                                                                                          \
    }

static const struct wb_tool look = TOOL("look", WB_TIER_READ);
static const struct wb_tool change = TOOL("change", WB_TIER_WRITE);
static const struct wb_tool start = TOOL("start", WB_TIER_EXEC);
static const struct wb_tool *const tools[] = {&look, &change, &start, NULL};

static struct fixture f;

static int set_up(void **state)
{
    (void)state;
    fixture_init(&f, tools);
    scratch_write(&f.scratch, "ws/in.c", "in");
    scratch_write(&f.scratch, "out.c", "out");
    scratch_link(&f.scratch, scratch_path(&f.scratch, "out.c"), "ws/link.c");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_done(&f);
    return 0;
}

/* A port that answers as told and keeps what it was asked. */
struct port {
    enum wb_card_outcome outcome;
    size_t choice;
    const char *text;
    unsigned n_asked;
    char question[256], context[4096];
};

static void answer(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                   struct wb_cancel *cancel, struct wb_arena *arena, struct wb_card_answer *ret)
{
    struct port *port = ctx;
    (void)deadline_ms;
    (void)cancel;
    assert_int_equal(card->kind, WB_CARD_APPROVAL);
    assert_false(card->allow_free_text);
    port->n_asked++;
    snprintf(port->question, sizeof(port->question), "%s", card->question);
    snprintf(port->context, sizeof(port->context), "%s", card->context);
    *ret = (struct wb_card_answer){.outcome = port->outcome, .text = port->text};
    if (port->outcome == WB_CARD_ANSWERED) {
        ret->choices = wb_arena_alloc_array(arena, 1, sizeof(*ret->choices));
        ret->choices[0] = port->choice;
        ret->n_choices = 1;
    }
}

static void tiers_within_allow_pass(void **state)
{
    static const struct {
        enum wb_tier allow;
        bool look, change, start;
    } rows[] = {
        {0, true, false, false},
        {WB_TIER_READ, true, false, false},
        {WB_TIER_WRITE, true, true, false},
        {WB_TIER_EXEC, true, true, true},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        bool failed;
        fixture_open(&f, (struct wb_run_options){.allow = rows[i].allow});
        fixture_call(&f, "look", "{}", &failed);
        assert_int_equal(!failed, rows[i].look);
        fixture_call(&f, "change", "{}", &failed);
        assert_int_equal(!failed, rows[i].change);
        fixture_call(&f, "start", "{}", &failed);
        assert_int_equal(!failed, rows[i].start);
        wb_run_close(f.run);
        f.run = NULL;
    }
}

static void a_refusal_names_what_would_allow_it(void **state)
{
    bool failed;
    (void)state;
    fixture_open(&f, (struct wb_run_options){0});
    assert_string_equal(
        fixture_call(&f, "change", "{}", &failed),
        "`change` needs an approval: its tier is write, this run allows read "
        "unasked, and nobody is attached to give it. `--allow write` lets it pass.");
    assert_string_equal(fixture_call(&f, "start", "{\"command\": \"rm x\"}", &failed),
                        "`start` needs an approval: its tier is exec, this run allows read "
                        "unasked, and nobody is attached to give it. `--allow exec` lets it pass.");
}

static void paths_outside_never_pass_unasked(void **state)
{
    static const char *const forms[] = {"{\"path\": \"../out.c\"}", "{\"path\": \"link.c\"}",
                                        "{\"items\": [{}, {\"file\": \"sub/../../out.c\"}]}"};
    const char *out = scratch_path(&f.scratch, "out.c");
    bool failed;
    (void)state;
    fixture_open(&f, (struct wb_run_options){.allow = WB_TIER_EXEC});
    fixture_call(&f, "look", "{\"path\": \"in.c\"}", &failed);
    assert_false(failed);
    fixture_call(&f, "look", "{\"path\": \"sub/../not-there-yet.c\"}", &failed);
    assert_false(failed);
    for (size_t i = 0; i < WB_COUNT(forms); i++) {
        const char *text = fixture_call(&f, "look", forms[i], &failed);
        assert_true(failed);
        assert_true(wb_str_starts(text, out));
        assert_non_null(strstr(text, "is outside the workspace"));
    }
}

static void an_approval_lets_one_call_pass(void **state)
{
    struct port port = {.outcome = WB_CARD_ANSWERED, .choice = 0};
    const struct wb_question_port question_port = {.ask = answer, .ctx = &port};
    bool failed;
    (void)state;
    fixture_open(&f, (struct wb_run_options){.port = &question_port});
    assert_string_equal(fixture_call(&f, "change", "{\"path\": \"in.c\"}", &failed), "done");
    assert_string_equal(port.question, "Allow change: in.c?");
    assert_string_equal(port.context, "Arguments: {\"path\": \"in.c\"}");
    fixture_call(&f, "start", "{\"command\": \"rm -r build\"}", &failed);
    assert_string_equal(port.question, "Allow start: rm -r build?");
    fixture_call(&f, "look", "{\"path\": \"link.c\"}", &failed);
    assert_non_null(strstr(port.context, "out.c is outside the workspace. Arguments: "));
    assert_int_equal(port.n_asked, 3);
    fixture_call(&f, "look", "{\"path\": \"in.c\"}", &failed);
    assert_int_equal(port.n_asked, 3);
}

static void everything_but_allow_is_a_refusal(void **state)
{
    static const struct {
        struct port port;
        const char *text;
    } rows[] = {
        {{.outcome = WB_CARD_ANSWERED, .choice = 1},
         "the operator refused `change`. Do not send the same call again."},
        {{.outcome = WB_CARD_ANSWERED, .choice = 7},
         "the operator refused `change`. Do not send the same call again."},
        {{.outcome = WB_CARD_SKIPPED, .text = "not now"},
         "the operator refused `change`: not now. Do not send the same call again."},
        {{.outcome = WB_CARD_TIMED_OUT},
         "nobody answered the question whether `change` may run: it did not run"},
        {{.outcome = WB_CARD_CANCELLED},
         "cancelled while `change` waited for its approval: it did not run"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct port port = rows[i].port;
        const struct wb_question_port question_port = {.ask = answer, .ctx = &port};
        bool failed;
        fixture_open(&f, (struct wb_run_options){.port = &question_port});
        assert_string_equal(fixture_call(&f, "change", "{}", &failed), rows[i].text);
        assert_true(failed);
        wb_run_close(f.run);
        f.run = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tiers_within_allow_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_names_what_would_allow_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paths_outside_never_pass_unasked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_approval_lets_one_call_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(everything_but_allow_is_a_refusal, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
