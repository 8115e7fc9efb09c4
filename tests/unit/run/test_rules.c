/* Guard rules against the ways around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "../scratch.h"
#include "run/rules.h"

#define NO WB_VERDICT_NONE
#define ALLOW WB_VERDICT_ALLOW
#define PROMPT WB_VERDICT_PROMPT
#define DENY WB_VERDICT_DENY

struct command_case {
    const char *pattern, *action, *line;
    enum wb_verdict verdict;
};

/* For deny, one simple command that fits is enough; for allow every one must, and all of the line
 * must have been read. */
static const struct command_case commands[] = {
    {"git push *", "deny", "git push", DENY},
    {"git push *", "deny", "git push origin main", DENY},
    {"git push *", "deny", "git pushx", NO},
    {"git push *", "deny", "git status", NO},
    {"git push *", "deny", "git  push   origin", DENY},
    {"git push *", "deny", "'git' \"push\" origin", DENY},
    {"git push *", "deny", "g'i't pu\"sh\" origin", DENY},
    {"git push *", "deny", "g\\it push", DENY},
    {"git push *", "deny", "/usr/bin/git push", DENY},
    {"git push *", "deny", "./git push", DENY},
    {"git push *", "deny", "X=1 git push", DENY},
    {"git push *", "deny", "X=1 Y='a b' git push", DENY},
    {"git push *", "deny", "env git push", DENY},
    {"git push *", "deny", "env -i X=1 git push", DENY},
    {"git push *", "deny", "env -u HOME git push", DENY},
    {"git push *", "deny", "sudo -u root git push", DENY},
    {"git push *", "deny", "nohup git push &", DENY},
    {"git push *", "deny", "time git push", DENY},
    {"git push *", "deny", "timeout 5 git push", DENY},
    {"git push *", "deny", "timeout -k 1 5 git push", DENY},
    {"git push *", "deny", "command git push", DENY},
    {"git push *", "deny", "exec git push", DENY},
    {"git push *", "deny", "echo a | xargs git push", DENY},
    {"git push *", "deny", "true && git push", DENY},
    {"git push *", "deny", "true; git push", DENY},
    {"git push *", "deny", "false || git push", DENY},
    {"git push *", "deny", "true | git push", DENY},
    {"git push *", "deny", "true & git push", DENY},
    {"git push *", "deny", "true\ngit push", DENY},
    {"git push *", "deny", "(git push)", DENY},
    {"git push *", "deny", "{ git push; }", DENY},
    {"git push *", "deny", "if true; then git push; fi", DENY},
    {"git push *", "deny", "while true; do git push; done", DENY},
    {"git push *", "deny", "! git push", DENY},
    {"git push *", "deny", "sh -c 'git push'", DENY},
    {"git push *", "deny", "bash -lc \"cd x && git push\"", DENY},
    {"git push *", "deny", "bash -c 'sh -c \"git push\"'", DENY},
    {"git push *", "deny", "eval git push", DENY},
    {"git push *", "deny", "eval 'git push'", DENY},
    {"git push *", "deny", "echo $(git push)", DENY},
    {"git push *", "deny", "echo `git push`", DENY},
    {"git push *", "deny", "echo \"$(git push)\"", DENY},
    {"git push *", "deny", "cat <(git push)", DENY},
    {"git push *", "deny", "git push > /dev/null 2>&1", DENY},
    {"git push *", "deny", "> out git push", DENY},
    {"git push *", "deny", "git \\\npush", DENY},
    {"git push *", "deny", "echo 'git push'", NO},
    {"git push *", "deny", "# git push", NO},
    {"git push *", "deny", "echo git push", NO},
    {"rm *", "deny", "sudo rm -rf /", DENY},
    {"*", "deny", "anything at all", DENY},
    {"git status *", "allow", "git status", ALLOW},
    {"git status *", "allow", "git status -s", ALLOW},
    {"git status *", "allow", "git status; rm -rf /", NO},
    {"git status *", "allow", "git status && git push", NO},
    {"git status *", "allow", "git status | sh", NO},
    {"git status *", "allow", "git status $(rm x)", NO},
    {"git status *", "allow", "git status `rm x`", NO},
    {"git status *", "allow", "git status > file", NO},
    {"git status *", "allow", "git status 2>/dev/null", ALLOW},
    {"git status *", "allow", "$GIT status", NO},
    {"git status *", "allow", "git status\nrm x", NO},
    {"git status *", "allow", "git status & rm x", NO},
    {"git status *", "allow", "sh -c 'git status; rm x'", NO},
    {"make *", "allow", "make -j2 test", ALLOW},
    /* quoting */
    {"git push *", "deny", "$'\\x67it' push", DENY},
    {"git push *", "deny", "$'\\147it' $'\\u0070ush'", DENY},
    {"git push *", "deny", "$\"git\" push", DENY},
    {"git push *", "deny", "gi\"\"t pu''sh", DENY},
    {"git push *", "deny", "git \"push", DENY},
    {"git push *", "deny", "echo 'it", PROMPT},
    {"git push *", "deny", "\"git push\"", DENY},
    /* options between the program and its operands */
    {"git push *", "deny", "git -C sub push", DENY},
    {"git push *", "deny", "git --no-pager push origin", DENY},
    {"git push *", "deny", "git -c a.b=c --git-dir x push", DENY},
    {"git push *", "deny", "git commit -m push", NO},
    {"git push *", "deny", "git -C push status", DENY},
    {"git push *", "deny", "git log push", NO},
    /* programs that run others */
    {"git push *", "deny", "sudo -s git push", DENY},
    {"git push *", "deny", "sudo -E -u root -- git push", DENY},
    {"git push *", "deny", "env -S 'git push'", DENY},
    {"git push *", "deny", "env -S'git push'", DENY},
    {"git push *", "deny", "nice -n 5 git push", DENY},
    {"git push *", "deny", "nice ionice -c2 setsid git push", DENY},
    {"git push *", "deny", "timeout --signal=KILL 1m git push", DENY},
    {"git push *", "deny", "flock /tmp/l git push", DENY},
    {"git push *", "deny", "flock /tmp/l -c 'git push'", DENY},
    {"git push *", "deny", "su -c 'git push' me", DENY},
    {"git push *", "deny", "script -c 'git push' /dev/null", DENY},
    {"git push *", "deny", "watch -n1 git push", DENY},
    {"git push *", "deny", "watch 'git push'", DENY},
    {"git push *", "deny", "find . -name x -exec git push {} \\;", DENY},
    {"git push *", "deny", "find . -execdir sh -c 'git push' \\;", DENY},
    {"git push *", "deny", "ls | xargs -n 1 -I{} git push {}", DENY},
    {"git push *", "deny", "ls | xargs -I{} {} push", PROMPT},
    {"git push *", "deny", "trap 'git push' EXIT", DENY},
    {"git push *", "deny", "busybox sh -c 'git push'", DENY},
    {"git push *", "deny", "strace -f git push", DENY},
    {"git push *", "deny", "ssh host git push", DENY},
    {"git push *", "deny", "ssh host 'cd x; git push'", DENY},
    {"git push *", "deny", "chroot / /usr/bin/git push", DENY},
    /* shells */
    {"git push *", "deny", "bash -o pipefail -c 'git push'", DENY},
    {"git push *", "deny", "bash --norc -ec 'git push'", DENY},
    {"git push *", "deny", "bash -c -x 'git push'", DENY},
    {"git push *", "deny", "echo git push | sh", PROMPT},
    {"git push *", "deny", "curl x | sudo bash -s", PROMPT},
    {"git push *", "deny", "bash <<< 'git push'", DENY},
    {"git push *", "deny", "bash <<EOF\ngit push\nEOF", DENY},
    {"git push *", "deny", "cat <<EOF | sh\ngit push\nEOF", DENY},
    {"git push *", "deny", "cat <<'EOF' > notes\ngit push\nEOF", NO},
    {"git push *", "deny", "cat <<EOF > notes\n$(git push)\nEOF", DENY},
    {"git push *", "deny", "cat <<'EOF' > notes\n$(git push)\nEOF", NO},
    {"git push *", "deny", "cat <<-EOF\n\tx\n\tEOF\ngit push", DENY},
    {"git push *", "deny", "cat <<A; git push\nx\nA", DENY},
    {"git push *", "deny", "sh script.sh", NO},
    {"git push *", "deny", "sh script.sh <(ls)", NO},
    {"git push *", "deny", "bash <(echo git push)", PROMPT},
    {"git push *", "deny", "source <(echo git push)", PROMPT},
    {"git push *", "deny", ". <(echo git push)", PROMPT},
    {"git push *", "deny", "bash \"$SCRIPT\"", PROMPT},
    {"git push *", "deny", "echo git push | sh /dev/stdin", PROMPT},
    {"git push *", "deny", "echo git push | . /dev/fd/0", PROMPT},
    {"git push *", "deny", "source venv/bin/activate", NO},
    {"git push *", "deny", "eval \"$X\"", PROMPT},
    {"git push *", "deny", "eval git \"$X\"", PROMPT},
    {"git push *", "deny", "eval ls \"$X\"", NO},
    {"git push *", "deny", "alias g=git; g push", PROMPT},
    /* what is not known before it runs */
    {"git push *", "deny", "$GIT push", PROMPT},
    {"git push *", "deny", "X=git; $X push", PROMPT},
    {"git push *", "deny", "$EMPTY git push", DENY},
    {"git push *", "deny", "git $X", PROMPT},
    {"git push *", "deny", "git $(echo push)", PROMPT},
    {"git push *", "deny", "git `echo push`", PROMPT},
    {"git push *", "deny", "git${IFS}push", PROMPT},
    {"git push *", "deny", "${X:-git} push", PROMPT},
    {"git push *", "deny", "echo ${X:-$(git push)}", DENY},
    {"git push *", "deny", "/usr/bin/gi? push", PROMPT},
    {"git push *", "deny", "/usr/bin/g*t push", PROMPT},
    {"git push *", "deny", "{git,push}", PROMPT},
    {"git push *", "deny", "git {push,origin}", PROMPT},
    {"git push *", "deny", "git status $X", NO},
    {"git push *", "deny", "echo $(date) $HOME *.c", NO},
    {"git push *", "deny", "echo $((1 + 2))", NO},
    {"git push *", "deny", "ls > out.txt", NO},
    /* compound commands */
    {"git push *", "deny", "case x in x) git push;; esac", DENY},
    {"git push *", "deny", "for i in 1 2; do git push; done", DENY},
    {"git push *", "deny", "if false; then :; elif git push; then :; fi", DENY},
    {"git push *", "deny", "f() { git push; }; f", DENY},
    {"git push *", "deny", "function f { git push; }", DENY},
    {"git push *", "deny", "coproc git push", DENY},
    {"git push *", "deny", "time -p git push", DENY},
    {"git push *", "deny", "[ -f x ] && git push", DENY},
    {"git push *", "deny", "true |& git push", DENY},
    {"git push *", "deny", "2>err git push", DENY},
    {"git push *", "deny", "git push &> log", DENY},
    {"git push *", "deny", "cat < <(git push)", DENY},
    {"git push *", "deny", "echo \")\" $(echo \")\"; git push)", DENY},
    {"git push *", "deny", "echo \\$(git push", DENY},
    {"git push *", "prompt", "true; git push", PROMPT},
    {"git push *", "prompt", "ls", NO},
    {"/usr/bin/git *", "deny", "/usr/bin/git status", DENY},
    /* allowed is only what stands there */
    {"git status *", "allow", "./git status", NO},
    {"git status *", "allow", "/tmp/git status", NO},
    {"git status *", "allow", "PATH=/tmp git status", NO},
    {"git status *", "allow", "env git status", NO},
    {"git status *", "allow", "git -C /elsewhere status", NO},
    {"git status *", "allow", "git status \"$HOME\"", NO},
    {"git status *", "allow", "git status *.c", ALLOW},
    {"git status *", "allow", "'git status x/../../evil'", NO},
    {"git status *", "allow", "git 'status x'", NO},
    {"git status *", "allow", "git status < file", NO},
    {"git status *", "allow", "git status <<< x", NO},
    {"git status *", "allow", "git status 2>&1", ALLOW},
    {"git status *", "allow", "git status; git status -s", ALLOW},
    {"git status *", "allow", "git() { rm x; }; git status", NO},
    {"git status *", "allow", "git status 'x", NO},
    {"sh *", "allow", "sh -c 'rm x'", NO},
    {"*", "allow", "echo $(rm x)", NO},
    {"make *", "allow", "make", ALLOW},
    {"make *", "allow", "makeshift", NO},
};

static enum wb_verdict judge(const char *rows, const struct wb_rule_subject *subject,
                             const char **ret_reason, struct wb_arena *arena)
{
    struct wb_error err;
    static const char *const tools[] = {"read", "write", "shell", "debug"};
    const struct wb_rule_file file = {.path = "/config.json",
                                      .rows = wb_json_parse(arena, wb_span(rows), &err),
                                      .may_allow = true};
    assert_non_null(file.rows);
    const struct wb_rules *rules = wb_rules_load(arena, &file, 1, tools, WB_COUNT(tools));
    return wb_rules_judge(rules, arena, subject, ret_reason);
}

static void test_commands(void **state)
{
    size_t n_wrong = 0;
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
        enum wb_verdict verdict = judge(rows, &subject, &reason, &arena);
        if (verdict != c->verdict) {
            print_error("%s %s: %s is %d and not %d (%s)\n", c->action, c->pattern, c->line,
                        verdict, c->verdict, reason != NULL ? reason : "");
            n_wrong++;
        }
    }
    assert_int_equal(n_wrong, 0);
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

/* Real files: links, and names in another case. */
static void test_real_paths(void **state)
{
    static const struct {
        const char *pattern, *action, *path, *command;
        enum wb_verdict verdict;
    } rows[] = {
        {"secrets/*", "deny", "secrets", NULL, DENY},
        {"secrets/*", "deny", "secretsx", NULL, NO},
        {"secrets/*", "deny", "link/key", NULL, DENY}, /* link -> secrets, resolved */
        {"link/*", "deny", "secrets/key", NULL, DENY}, /* the pattern goes through the link */
        {"link/*", "prompt", "secrets/key", NULL, PROMPT},
        {"secrets/*", "deny", "sub/../secrets/key", NULL, DENY},
        {"*.env", "deny", "sub/PROD.ENV", NULL, DENY}, /* a file system that folds case */
        {"*.env", "deny", "sub/OTHER.ENV", NULL, NO},  /* one that does not */
        {"*.env", "allow", "sub/PROD.ENV", NULL, NO},
        {"secrets/*", "deny", NULL, "cat secrets/key", DENY},
        {"secrets/*", "deny", NULL, "cat ./sub/../secrets/key", DENY},
        {"secrets/*", "deny", NULL, "cat link/key", DENY},
        {"secrets/*", "deny", NULL, "true; cat < secrets/key", DENY},
        {"secrets/*", "deny", NULL, "echo x > secrets/key", DENY},
        {"secrets/*", "deny", NULL, "cp --target-directory=secrets a", DENY},
        {"secrets/*", "deny", NULL, "sh -c 'cat \"secrets\"/key'", DENY},
        {"secrets/*", "deny", NULL, "dd if=secrets/key", DENY},
        {"secrets/*", "deny", NULL, "rm -r secrets", DENY},
        {"secrets/*", "deny", NULL, "cat sub/x", NO},
        {"secrets/*", "allow", NULL, "cat secrets/key", NO},
    };
    struct scratch scratch;
    (void)state;
    scratch_init(&scratch);
    scratch_write(&scratch, "ws/secrets/key", "x");
    scratch_write(&scratch, "ws/sub/prod.env", "x");
    scratch_link(&scratch, scratch_path(&scratch, "ws/secrets"), "ws/link");
    /* Both names lead to one file, as where case is folded. */
    assert_int_equal(link(scratch_path(&scratch, "ws/sub/prod.env"),
                          scratch_path(&scratch, "ws/sub/PROD.ENV")),
                     0);
    scratch_write(&scratch, "ws/sub/OTHER.ENV", "x");
    const char *workspace = scratch_path(&scratch, "ws");
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_arena *arena = &scratch.arena;
        struct wb_error err;
        const char *reason, *path = NULL;
        struct wb_rule_subject subject = {
            .tool = "shell", .workspace = workspace, .command = rows[i].command};
        if (rows[i].path != NULL) {
            path = wb_path_real(arena, wb_path_join(arena, workspace, rows[i].path), &err);
            assert_non_null(path);
            subject.paths = &path;
            subject.n_paths = 1;
        }
        const char *rules =
            wb_arena_printf(arena, "[{\"id\":\"r\",\"path\":\"%s\",\"action\":\"%s\"}]",
                            rows[i].pattern, rows[i].action);
        enum wb_verdict verdict = judge(rules, &subject, &reason, arena);
        if (verdict != rows[i].verdict) {
            fail_msg("%s %s: %s%s is %d", rows[i].action, rows[i].pattern, path != NULL ? path : "",
                     path == NULL ? rows[i].command : "", verdict);
        }
    }
    scratch_done(&scratch);
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
        "[{\"id\":\"a\",\"tool\":\"shel\",\"action\":\"allow\"}]",
        "[{\"id\":\"a\",\"tool\":\"shell\",\"action\":\"allow\",\"disabled\":\"yes\"}]",
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

/* A file that cannot be understood lets nothing run; one that is not believed only narrows. */
static void test_files(void **state)
{
    static const char *const tools[] = {"read", "shell"};

    static const struct {
        const char *rows, *mistake;
        bool may_allow;
        enum wb_verdict verdict;
        const char *reason;
    } files[] = {
        {NULL, "unexpected end of data", true, DENY, "unexpected end of data"},
        {"{\"id\":\"a\"}", NULL, true, DENY, "must be an array"},
        {"[\"a\"]", NULL, true, DENY, "it is no object"},
        {"[{\"id\":\"a\",\"action\":\"allow\"}]", NULL, true, ALLOW, NULL},
        {"[{\"id\":\"a\",\"action\":\"allow\"}]", NULL, false, NO, NULL},
        {"[{\"id\":\"a\",\"action\":\"deny\"}]", NULL, false, DENY, NULL},
        {"[{\"id\":\"a\",\"action\":\"prompt\"}]", NULL, false, PROMPT, NULL},
        {"[{\"id\":\"a\",\"action\":\"deny\",\"disabled\":true}]", NULL, true, NO, NULL},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(files); i++) {
        struct wb_error err;
        const char *reason;
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        const struct wb_rule_file file = {
            .path = "/ws/.werkbank.json",
            .rows =
                files[i].rows != NULL ? wb_json_parse(&arena, wb_span(files[i].rows), &err) : NULL,
            .may_allow = files[i].may_allow,
            .mistake = files[i].mistake};
        const struct wb_rules *rules = wb_rules_load(&arena, &file, 1, tools, WB_COUNT(tools));
        const struct wb_rule_subject subject = {
            .tool = "shell", .workspace = "/ws", .command = "ls"};
        assert_int_equal(wb_rules_judge(rules, &arena, &subject, &reason), files[i].verdict);
        if (files[i].reason != NULL) {
            assert_non_null(strstr(reason, files[i].reason));
            assert_non_null(strstr(reason, "/ws/.werkbank.json"));
        }
    }
}

/* What one file denies, no other one allows. */
static void test_files_are_combined(void **state)
{
    static const char *const tools[] = {"shell"};
    struct wb_error err;
    const char *reason;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    const struct wb_rule_file files[] = {
        {"/user", wb_json_parse(&arena, WB_SPAN("[{\"id\":\"a\",\"action\":\"deny\"}]"), &err),
         true, NULL},
        {"/ws",
         wb_json_parse(&arena,
                       WB_SPAN("[{\"id\":\"a\",\"action\":\"allow\"},"
                               "{\"id\":\"a\",\"action\":\"deny\",\"disabled\":true}]"),
                       &err),
         true, NULL}};
    const struct wb_rules *rules = wb_rules_load(&arena, files, 2, tools, 1);
    const struct wb_rule_subject subject = {.tool = "shell", .workspace = "/ws", .command = "ls"};
    assert_int_equal(wb_rules_judge(rules, &arena, &subject, &reason), DENY);
}

/* A program in another language is no command line: what is not read of it is no reason to ask. */
static void test_code(void **state)
{
    static const char rows[] = "[{\"id\":\"a\",\"command\":\"git push *\",\"action\":\"deny\"}]";
    const char *reason;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    struct wb_rule_subject subject = {
        .tool = "eval", .workspace = "/ws", .command = "print('it's', $x)", .is_code = true};
    assert_int_equal(judge(rows, &subject, &reason, &arena), NO);
    subject.command = "x = 1\n!git push\n";
    assert_int_equal(judge(rows, &subject, &reason, &arena), DENY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_deny_over_prompt_over_allow),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_real_paths),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_are_combined),
        cmocka_unit_test(test_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
