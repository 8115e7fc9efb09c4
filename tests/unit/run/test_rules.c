/* Guard rules against the ways around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "run/rules.h"

struct command_case {
    const char *pattern, *action, *line;
    bool fits;
};

/* For deny, one simple command that fits is enough; for allow every one must, and all of the line
 * must have been read. */
static const struct command_case commands[] = {
    {"git push *", "deny", "git push", true},
    {"git push *", "deny", "git push origin main", true},
    {"git push *", "deny", "git pushx", false},
    {"git push *", "deny", "git status", false},
    {"git push *", "deny", "git  push   origin", true},
    {"git push *", "deny", "'git' \"push\" origin", true},
    {"git push *", "deny", "g'i't pu\"sh\" origin", true},
    {"git push *", "deny", "g\\it push", true},
    {"git push *", "deny", "/usr/bin/git push", true},
    {"git push *", "deny", "./git push", true},
    {"git push *", "deny", "X=1 git push", true},
    {"git push *", "deny", "X=1 Y='a b' git push", true},
    {"git push *", "deny", "env git push", true},
    {"git push *", "deny", "env -i X=1 git push", true},
    {"git push *", "deny", "env -u HOME git push", true},
    {"git push *", "deny", "sudo -u root git push", true},
    {"git push *", "deny", "nohup git push &", true},
    {"git push *", "deny", "time git push", true},
    {"git push *", "deny", "timeout 5 git push", true},
    {"git push *", "deny", "timeout -k 1 5 git push", true},
    {"git push *", "deny", "command git push", true},
    {"git push *", "deny", "exec git push", true},
    {"git push *", "deny", "echo a | xargs git push", true},
    {"git push *", "deny", "true && git push", true},
    {"git push *", "deny", "true; git push", true},
    {"git push *", "deny", "false || git push", true},
    {"git push *", "deny", "true | git push", true},
    {"git push *", "deny", "true & git push", true},
    {"git push *", "deny", "true\ngit push", true},
    {"git push *", "deny", "(git push)", true},
    {"git push *", "deny", "{ git push; }", true},
    {"git push *", "deny", "if true; then git push; fi", true},
    {"git push *", "deny", "while true; do git push; done", true},
    {"git push *", "deny", "! git push", true},
    {"git push *", "deny", "sh -c 'git push'", true},
    {"git push *", "deny", "bash -lc \"cd x && git push\"", true},
    {"git push *", "deny", "bash -c 'sh -c \"git push\"'", true},
    {"git push *", "deny", "eval git push", true},
    {"git push *", "deny", "eval 'git push'", true},
    {"git push *", "deny", "echo $(git push)", true},
    {"git push *", "deny", "echo `git push`", true},
    {"git push *", "deny", "echo \"$(git push)\"", true},
    {"git push *", "deny", "cat <(git push)", true},
    {"git push *", "deny", "git push > /dev/null 2>&1", true},
    {"git push *", "deny", "> out git push", true},
    {"git push *", "deny", "git \\\npush", true},
    {"git push *", "deny", "echo 'git push'", false},
    {"git push *", "deny", "# git push", false},
    {"git push *", "deny", "echo git push", false},
    {"rm *", "deny", "sudo rm -rf /", true},
    {"*", "deny", "anything at all", true},
    {"git status *", "allow", "git status", true},
    {"git status *", "allow", "git status -s", true},
    {"git status *", "allow", "git status; rm -rf /", false},
    {"git status *", "allow", "git status && git push", false},
    {"git status *", "allow", "git status | sh", false},
    {"git status *", "allow", "git status $(rm x)", false},
    {"git status *", "allow", "git status `rm x`", false},
    {"git status *", "allow", "git status > file", false},
    {"git status *", "allow", "git status 2>/dev/null", true},
    {"git status *", "allow", "$GIT status", false},
    {"git status *", "allow", "git status\nrm x", false},
    {"git status *", "allow", "git status & rm x", false},
    {"git status *", "allow", "sh -c 'git status; rm x'", false},
    {"make *", "allow", "make -j2 test", true},
};

static enum wb_verdict judge(const char *rows, const struct wb_rule_subject *subject,
                             const char **ret_reason, struct wb_arena *arena)
{
    struct wb_error err;
    const struct wb_json *json = wb_json_parse(arena, wb_span(rows), &err);
    assert_non_null(json);
    return wb_rules_judge(wb_rules_load(arena, json), arena, subject, ret_reason);
}

static void test_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(commands); i++) {
        const struct command_case *c = &commands[i];
        const char *reason;
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        const char *rows = wb_arena_printf(
            &arena, "[{\"id\":\"r\",\"tool\":\"shell\",\"command\":\"%s\",\"action\":\"%s\"}]",
            c->pattern, c->action);
        const struct wb_rule_subject subject = {
            .tool = "shell", .workspace = "/ws", .command = c->line};
        bool fits = judge(rows, &subject, &reason, &arena) != WB_VERDICT_NONE;
        if (fits != c->fits) {
            fail_msg("%s %s: %s", c->action, c->pattern, c->line);
        }
    }
}

struct path_case {
    const char *pattern, *action;
    const char *paths[3];
    bool fits;
};

static const struct path_case paths[] = {
    {"secrets/*", "deny", {"/ws/secrets/a"}, true},
    {"secrets/*", "deny", {"/ws/secrets/deep/b"}, true},
    {"secrets/*", "deny", {"/ws/src/a"}, false},
    {"secrets/*", "deny", {"/ws/src/a", "/ws/secrets/b"}, true},
    {"*.pem", "deny", {"/ws/a/key.pem"}, true},
    {"/etc/*", "deny", {"/etc/passwd"}, true},
    {"/etc/*", "deny", {"/ws/etc/passwd"}, false},
    {"docs/*", "allow", {"/ws/docs/a"}, true},
    {"docs/*", "allow", {"/ws/docs/a", "/ws/src/b"}, false},
    {"docs/*", "allow", {NULL}, false},
};

static void test_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(paths); i++) {
        const struct path_case *c = &paths[i];
        const char *reason;
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        const char *rows =
            wb_arena_printf(&arena, "[{\"id\":\"r\",\"path\":\"%s\",\"action\":\"%s\"}]",
                            c->pattern, c->action);
        struct wb_rule_subject subject = {.tool = "write", .workspace = "/ws", .paths = c->paths};
        while (subject.n_paths < WB_COUNT(c->paths) && c->paths[subject.n_paths] != NULL) {
            subject.n_paths++;
        }
        if ((judge(rows, &subject, &reason, &arena) != WB_VERDICT_NONE) != c->fits) {
            fail_msg("%s %s: %s", c->action, c->pattern, c->paths[0]);
        }
    }
}

static void test_deny_over_prompt_over_allow(void **state)
{
    static const char rows[] =
        "[{\"id\":\"a\",\"tool\":\"*\",\"action\":\"allow\"},"
        "{\"id\":\"b\",\"tool\":\"debug\",\"operation\":\"launch\",\"action\":\"deny\","
        "\"reason\":\"not here\"},"
        "{\"id\":\"c\",\"tool\":\"debug\",\"action\":\"prompt\"}]";
    const char *reason;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    struct wb_rule_subject subject = {.tool = "debug", .operation = "launch", .workspace = "/ws"};
    assert_int_equal(judge(rows, &subject, &reason, &arena), WB_VERDICT_DENY);
    assert_string_equal(reason, "not here");
    subject.operation = "status";
    assert_int_equal(judge(rows, &subject, &reason, &arena), WB_VERDICT_PROMPT);
    subject.tool = "shell";
    assert_int_equal(judge(rows, &subject, &reason, &arena), WB_VERDICT_ALLOW);
}

/* What cannot be understood denies what it would have governed. */
static void test_mistakes(void **state)
{
    static const char *const rows[] = {
        "[{\"id\":\"a\",\"tool\":\"shell\",\"action\":\"alow\"}]",
        "[{\"id\":\"a\",\"tool\":\"shell\",\"action\":\"allow\",\"comand\":\"git *\"}]",
        "[{\"id\":\"a\",\"tool\":\"shell\",\"command\":[\"git\"],\"action\":\"allow\"}]",
        "[{\"id\":\"a\",\"tool\":\"shell\"}]",
    };
    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        const char *reason;
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        struct wb_rule_subject subject = {
            .tool = "shell", .workspace = "/ws", .command = "git status"};
        assert_int_equal(judge(rows[i], &subject, &reason, &arena), WB_VERDICT_DENY);
        assert_non_null(strstr(reason, "cannot be understood"));
        subject.tool = "read";
        assert_int_equal(judge(rows[i], &subject, &reason, &arena), WB_VERDICT_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_deny_over_prompt_over_allow),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
