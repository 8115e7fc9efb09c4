/* Tests of run/gate: what passes, what is asked, and what a refusal says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "run/gate.h"
#include "sys/path.h"

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

/* rewrite: writes a file that its arguments do not name, as a rename across the project does. */
static int write_other(struct wb_call *call, const void *args, struct wb_result *result,
                       struct wb_error *err)
{
    (void)args;
    const char *path = wb_path_join(call->arena, wb_run_workspace(call->run), "secrets/found.c");
    const struct wb_commit_op op = {
        .kind = WB_COMMIT_WRITE, .path = path, .new_content = WB_SPAN("x")};
    return wb_call_write(call, &op, 1, result, err);
}

static const struct wb_tool rewrite_tool = {.name = "rewrite",
                                            .tier = WB_TIER_WRITE,
                                            .parallel_safe = true,
                                            .call = write_other,
                                            .args = {table, WB_COUNT(table), sizeof(struct args),
                                                     NULL, 0}};
static const struct wb_tool look = TOOL("look", WB_TIER_READ);
static const struct wb_tool change = TOOL("change", WB_TIER_WRITE);
static const struct wb_tool start = TOOL("start", WB_TIER_EXEC);
static const struct wb_tool *const tools[] = {&look, &change, &start, &rewrite_tool, NULL};

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

/* --- what an answer holds for --- */

/* A port with a list of answers: the choices that it gives, one a card. */
struct script {
    const size_t *choices;
    unsigned n_asked;
    size_t n_options; /* of the last card */
    char last_label[128];
    struct wb_run *run;
    enum wb_tier cap; /* set while the card is open; 0: not */
};

static void answer_in_turn(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                           struct wb_cancel *cancel, struct wb_arena *arena,
                           struct wb_card_answer *ret)
{
    struct script *script = ctx;
    (void)deadline_ms;
    (void)cancel;
    script->n_options = card->n_options;
    snprintf(script->last_label, sizeof(script->last_label), "%s",
             card->options[card->n_options - 1].label);
    if (script->cap != 0) {
        wb_run_set_cap(script->run, script->cap);
    }
    *ret = (struct wb_card_answer){.outcome = WB_CARD_ANSWERED, .n_choices = 1};
    ret->choices = wb_arena_alloc_array(arena, 1, sizeof(*ret->choices));
    ret->choices[0] = script->choices[script->n_asked++];
}

enum { ALLOW, REFUSE, ALWAYS, PATTERN };

static void answers_hold_for_what_they_say(void **state)
{
    static const struct {
        size_t answers[4];

        struct {
            const char *tool, *arguments;
            unsigned n_asked; /* altogether, afterwards */
            bool fails;
        } calls[5];
    } rows[] = {
        /* once */
        {{ALLOW, ALLOW},
         {{"change", "{\"path\": \"a.c\"}", 1, false},
          {"change", "{\"path\": \"a.c\"}", 2, false}}},
        /* always: this tool and these arguments */
        {{ALWAYS, ALLOW, ALLOW},
         {{"change", "{\"path\": \"a.c\"}", 1, false},
          {"change", "{\"path\": \"a.c\"}", 1, false},
          {"change", "{\"path\": \"b.c\"}", 2, false},
          {"start", "{\"path\": \"a.c\"}", 3, false}}},
        /* refused: not asked again while nothing else was */
        {{REFUSE, ALLOW, ALLOW},
         {{"change", "{\"path\": \"a.c\"}", 1, true},
          {"change", "{\"path\": \"a.c\"}", 1, true},
          {"change", "{\"path\": \"b.c\"}", 2, false},
          {"change", "{\"path\": \"a.c\"}", 3, false}}},
        /* a pattern of commands */
        {{PATTERN, REFUSE, REFUSE, REFUSE},
         {{"start", "{\"command\": \"git push origin\"}", 1, false},
          {"start", "{\"command\": \"git push -f other\"}", 1, false},
          {"start", "{\"command\": \"git push; rm x\"}", 2, true},
          {"start", "{\"command\": \"./git push\"}", 3, true},
          {"change", "{\"command\": \"git push x\"}", 4, true}}},
        /* a pattern of paths */
        {{PATTERN, REFUSE, REFUSE},
         {{"change", "{\"path\": \"src/a.c\"}", 1, false},
          {"change", "{\"path\": \"src/deep/b.c\"}", 1, false},
          {"change", "{\"path\": \"src/../in.c\"}", 2, true},
          {"change", "{\"path\": \"in.c\", \"items\": [{\"file\": \"src/a.c\"}]}", 3, true}}},
        /* it never covers a path outside */
        {{PATTERN, REFUSE},
         {{"change", "{\"path\": \"src/a.c\"}", 1, false},
          {"change", "{\"path\": \"src/../../out.c\"}", 2, true}}},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct script script = {.choices = rows[i].answers};
        const struct wb_question_port port = {.ask = answer_in_turn, .ctx = &script};
        fixture_open(&f, (struct wb_run_options){.port = &port});
        for (size_t k = 0; k < WB_COUNT(rows[i].calls) && rows[i].calls[k].tool != NULL; k++) {
            bool failed;
            fixture_call(&f, rows[i].calls[k].tool, rows[i].calls[k].arguments, &failed);
            if (failed != rows[i].calls[k].fails || script.n_asked != rows[i].calls[k].n_asked) {
                fail_msg("row %zu, call %zu: asked %u times, %s", i, k, script.n_asked,
                         failed ? "failed" : "ran");
            }
        }
        wb_run_close(f.run);
        f.run = NULL;
    }
}

/* What a card offers besides: only a pattern that is worth one and says what it covers. */
static void patterns_that_are_offered(void **state)
{
    static const struct {
        const char *tool, *arguments, *label; /* NULL: none */
    } rows[] = {
        {"start", "{\"command\": \"npm run build\"}", "Allow all `npm run *`"},
        {"start", "{\"command\": \"python3 a.py x\"}", "Allow all `python3 a.py *`"},
        {"start", "{\"command\": \"make\"}", NULL},
        {"start", "{\"command\": \"rm -rf x\"}", NULL},
        {"start", "{\"command\": \"sh -c 'ls x'\"}", NULL},
        {"start", "{\"command\": \"ls a; ls b\"}", NULL},
        {"start", "{\"command\": \"ls a > b\"}", NULL},
        {"start", "{\"command\": \"git $X\"}", NULL},
        {"start", "{\"command\": \"sudo git push\"}", NULL},
        {"change", "{\"path\": \"src/a.c\"}", "Allow all `src/*`"},
        {"change", "{\"path\": \"in.c\"}", NULL},
        {"change", "{\"path\": \"../out.c\"}", NULL},
        {"change", "{}", NULL},
    };

    static const size_t refuse[WB_COUNT(rows)] = {
        REFUSE, REFUSE, REFUSE, REFUSE, REFUSE, REFUSE, REFUSE,
        REFUSE, REFUSE, REFUSE, REFUSE, REFUSE, REFUSE,
    };
    struct script script = {.choices = refuse};
    const struct wb_question_port port = {.ask = answer_in_turn, .ctx = &script};
    (void)state;
    fixture_open(&f, (struct wb_run_options){.port = &port});
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        bool failed;
        fixture_call(&f, rows[i].tool, rows[i].arguments, &failed);
        assert_true(failed);
        if (rows[i].label == NULL ? script.n_options != 3
                                  : strcmp(script.last_label, rows[i].label) != 0) {
            fail_msg("%s: %s", rows[i].arguments, script.last_label);
        }
    }
    assert_int_equal(script.n_asked, WB_COUNT(rows));
}

/* Plan mode begins while an approval is open: what is approved then does not run any more. */
static void an_approval_does_not_outlive_the_cap(void **state)
{
    static const size_t allow[] = {ALLOW};
    struct script script = {.choices = allow, .cap = WB_TIER_READ};
    const struct wb_question_port port = {.ask = answer_in_turn, .ctx = &script};
    bool failed;
    (void)state;
    fixture_open(&f, (struct wb_run_options){.port = &port});
    script.run = f.run;
    assert_string_equal(fixture_call(&f, "change", "{}", &failed),
                        "the operator has changed what this run may do: `change` did not run");
    assert_true(failed);
    const char *text = fixture_call(&f, "change", "{}", &failed);
    assert_non_null(strstr(text, "there is no tool `change`"));
}

static void open_with_rules(const char *rules)
{
    const char *config = scratch_write(&f.scratch, "rules.json", rules);
    fixture_open(&f, (struct wb_run_options){.allow = WB_TIER_EXEC, .config_file = config});
}

/* A file that a tool comes upon is judged like one that was named. */
static void rules_hold_for_what_is_written(void **state)
{
    bool failed;
    (void)state;
    scratch_folder(&f.scratch, "ws/secrets");
    open_with_rules("{\"rules\": [{\"id\": \"s\", \"path\": \"secrets/*\", \"action\": \"deny\", "
                    "\"reason\": \"not yours\"}]}");
    const char *text = fixture_call(&f, "rewrite", "{}", &failed);
    assert_true(failed);
    assert_non_null(strstr(text, "a guard rule denies this call of `rewrite` with secrets/found.c: "
                                 "not yours"));
    assert_null(scratch_read(&f.scratch, "ws/secrets/found.c"));
    wb_run_close(f.run);
    open_with_rules(
        "{\"rules\": [{\"id\": \"s\", \"path\": \"secrets/*\", \"action\": \"prompt\"}]}");
    text = fixture_call(&f, "rewrite", "{}", &failed);
    assert_true(failed);
    assert_non_null(strstr(text, "wants an approval for `rewrite` with secrets/found.c"));
    wb_run_close(f.run);
    open_with_rules("{\"rules\": [{\"id\": \"s\", \"path\": \"other/*\", \"action\": \"deny\"}]}");
    fixture_call(&f, "rewrite", "{}", &failed);
    assert_false(failed);
}

/* The project's own file: it narrows without trust, and widens only with it. */
static void rules_of_the_project(void **state)
{
    static const struct {
        const char *file;
        bool trust;
        enum wb_tier allow;
        bool fails;
        const char *text;
    } rows[] = {
        {"{\"rules\": [{\"id\": \"a\", \"action\": \"deny\", \"reason\": \"no\"}]}", false,
         WB_TIER_EXEC, true, "no"},
        {"{\"rules\": [{\"id\": \"a\", \"action\": \"allow\"}]}", false, WB_TIER_READ, true,
         "--allow exec"},
        {"{\"rules\": [{\"id\": \"a\", \"action\": \"allow\"}]}", true, WB_TIER_READ, false,
         "done"},
        {"{\"allow\": \"exec\", \"rules\": [{\"id\": \"a\", \"action\": \"deny\"}]}", false,
         WB_TIER_EXEC, true, "denies"},
        {"{\"nonsense\": 1, \"rules\": [{\"id\": \"a\", \"action\": \"deny\"}]}", false,
         WB_TIER_EXEC, true, "denies"},
        {"{\"rules\": [{\"action\": \"deny\"}]}", false, WB_TIER_EXEC, true, "denies"},
        {"{\"rules\": {\"deny\": true}}", false, WB_TIER_EXEC, true, "cannot be understood"},
        {"{\"rules\": [{\"id\": \"a\", \"action\": \"de", false, WB_TIER_EXEC, true,
         "cannot be understood"},
        {"{\"lsp\": ", false, WB_TIER_EXEC, false, "done"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        bool failed;
        scratch_write(&f.scratch, "ws/.werkbank.json", rows[i].file);
        fixture_open(&f, (struct wb_run_options){.allow = rows[i].allow, .trust = rows[i].trust});
        const char *text = fixture_call(&f, "start", "{\"command\": \"ls\"}", &failed);
        if (failed != rows[i].fails || strstr(text, rows[i].text) == NULL) {
            fail_msg("%s: %s", rows[i].file, text);
        }
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
        cmocka_unit_test_setup_teardown(answers_hold_for_what_they_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patterns_that_are_offered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_approval_does_not_outlive_the_cap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_hold_for_what_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_of_the_project, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
