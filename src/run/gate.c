/* gate: collects the reasons to ask, and asks. Knows no tool and no screen. */
#include "run/gate.h"

#include "run/grants.h"
#include "run/patterns.h"
#include "run/run_private.h"
#include "sys/path.h"

#define CONTEXT_ARGUMENT_BYTES_MAX 2048
#define PATTERN_BYTES_MAX 100

/* The card's options, in their order. The last is there when a pattern offers itself. */
enum { CHOICE_ALLOW, CHOICE_REFUSE, CHOICE_ALWAYS, CHOICE_PATTERN, N_CHOICES };

/* A call before the gate. */
struct asking {
    struct wb_call *call;
    const struct wb_gate_subject *subject;
    struct wb_span arguments;
    struct wb_gate_subject outside; /* its paths that are not in the workspace */
    enum wb_verdict verdict;
    const char *reason;  /* of the rule, or NULL */
    const char *pattern; /* what the card may offer to allow, or NULL */
};

void wb_gate_add_path(struct wb_gate_subject *subject, const char *absolute_real)
{
    *WB_ARENA_PUSH(subject->arena, subject->paths, subject->n_paths, subject->paths_capacity) =
        absolute_real;
}

static void find_outside(struct asking *a)
{
    const struct wb_gate_subject *subject = a->subject;
    a->outside.arena = a->call->arena;
    for (size_t i = 0; i < subject->n_paths; i++) {
        if (!wb_path_is_inside(subject->paths[i], wb_run_workspace(a->call->run))) {
            wb_gate_add_path(&a->outside, subject->paths[i]);
        }
    }
}

/* --- patterns of approvals --- */

static bool is_plain_word(const char *word)
{
    return strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:") ==
               strlen(word) &&
           word[0] != '-';
}

/* "git push *" of `git push origin main`: a single command whose program and first operand are plain. */
static const char *command_pattern(struct asking *a)
{
    struct wb_command_line line;
    wb_command_line_read(a->call->arena, a->subject->command, &line);
    if (!line.is_plain || line.n_commands != 1 || line.commands[0].n_words < 2) {
        return NULL;
    }
    const char *const *words = line.commands[0].words;
    return is_plain_word(words[0]) && is_plain_word(words[1])
               ? wb_arena_printf(a->call->arena, "%s %s *", words[0], words[1])
               : NULL;
}

/* "src/..." with a star of a single file in a folder of the workspace. */
static const char *path_pattern(struct asking *a)
{
    struct wb_arena *arena = a->call->arena;
    const char *relative = wb_call_relative(a->call, a->subject->paths[0]);
    const char *folder = wb_path_dir(arena, relative);
    return wb_str_equal(folder, ".") || strchr(folder, '*') != NULL
               ? NULL
               : wb_arena_printf(arena, "%s/*", folder);
}

static const char *find_pattern(struct asking *a)
{
    const struct wb_gate_subject *subject = a->subject;
    const char *pattern = NULL;
    if (a->verdict == WB_VERDICT_PROMPT || a->outside.n_paths > 0 || subject->is_code) {
        return NULL;
    }
    if (subject->command != NULL) {
        pattern = command_pattern(a);
    } else if (a->call->tool->tier == WB_TIER_WRITE && subject->n_paths == 1) {
        pattern = path_pattern(a);
    }
    return pattern != NULL && strlen(pattern) <= PATTERN_BYTES_MAX ? pattern : NULL;
}

static bool fits_pattern(struct asking *a, const char *pattern)
{
    const struct wb_gate_subject *subject = a->subject;
    struct wb_arena *arena = a->call->arena;
    if (subject->command != NULL) {
        struct wb_command_line line;
        wb_command_line_read(arena, subject->command, &line);
        return wb_pattern_allows_command(arena, pattern, &line);
    }
    bool fits = subject->n_paths > 0;
    for (size_t i = 0; i < subject->n_paths && fits; i++) {
        fits = wb_pattern_allows_path(arena, pattern, subject->paths[i],
                                      wb_run_workspace(a->call->run));
    }
    return fits;
}

/* Was it answered already, for this call or for all like it? */
static bool is_granted(struct asking *a, const struct wb_sha256 *digest)
{
    struct wb_grants *grants = a->call->run->grants;
    const char *pattern;
    bool granted = wb_grants_has(grants, digest);
    if (a->verdict == WB_VERDICT_PROMPT || a->outside.n_paths > 0 || a->subject->is_code) {
        return granted;
    }
    for (size_t cursor = 0;
         !granted && (pattern = wb_grants_next_pattern(grants, a->call->arena, a->call->tool->name,
                                                       &cursor)) != NULL;) {
        granted = fits_pattern(a, pattern);
    }
    return granted;
}

/* --- the question --- */

/* "Allow shell: rm -r build?" */
static const char *build_question(const struct asking *a)
{
    const struct wb_call *call = a->call;
    const struct wb_gate_subject *subject = a->subject;
    const char *what = subject->command;
    if (what == NULL && subject->n_paths > 0) {
        what = wb_call_relative(call, subject->paths[0]);
    }
    if (what == NULL) {
        return wb_arena_printf(call->arena, "Allow %s?", call->tool->name);
    }
    if (subject->command == NULL && subject->n_paths > 1) {
        return wb_arena_printf(call->arena, "Allow %s: %s and %zu more?", call->tool->name, what,
                               subject->n_paths - 1);
    }
    return wb_arena_printf(call->arena, "Allow %s: %s?", call->tool->name, what);
}

static const char *build_context(const struct asking *a)
{
    struct wb_arena *arena = a->call->arena;
    size_t len = wb_utf8_cut(a->arguments, CONTEXT_ARGUMENT_BYTES_MAX);
    const char *where =
        a->outside.n_paths == 0
            ? ""
            : wb_arena_printf(arena, "%s is outside the workspace. ", a->outside.paths[0]);
    const char *why = a->verdict == WB_VERDICT_PROMPT && a->reason != NULL
                          ? wb_arena_printf(arena, "%s. ", a->reason)
                          : "";
    return wb_arena_printf(arena, "%s%sArguments: %.*s%s", why, where, (int)len, a->arguments.ptr,
                           len < a->arguments.len ? "..." : "");
}

static size_t build_options(const struct asking *a, struct wb_card_option ret[N_CHOICES])
{
    struct wb_arena *arena = a->call->arena;
    ret[CHOICE_ALLOW] =
        (struct wb_card_option){"Allow", "run it once, with exactly these arguments"};
    ret[CHOICE_REFUSE] = (struct wb_card_option){"Refuse", "the agent is told so"};
    ret[CHOICE_ALWAYS] =
        (struct wb_card_option){"Allow always",
                                "this call with these arguments, until the run ends"};
    if (a->pattern != NULL) {
        ret[CHOICE_PATTERN] = (struct wb_card_option){
            wb_arena_printf(arena, "Allow all `%s`", a->pattern),
            wb_arena_printf(arena, "every call of %s that fits it, until the run ends",
                            a->call->tool->name)};
    }
    return a->pattern != NULL ? N_CHOICES : CHOICE_PATTERN;
}

/* Nobody is attached: says what would let the call pass. */
static int refuse_unasked(const struct asking *a, struct wb_error *err)
{
    const struct wb_call *call = a->call;
    const char *name = call->tool->name, *tier = wb_tier_name(call->tool->tier);
    if (a->outside.n_paths > 0) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "%s is outside the workspace %s; such a path needs an approval each "
                            "time, and nobody is attached to give it. Use a path inside, or open "
                            "the run with a --workspace that holds it.",
                            a->outside.paths[0], wb_run_workspace(call->run));
    }
    if (a->verdict == WB_VERDICT_PROMPT) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "a guard rule wants an approval for this call of `%s`%s%s, and nobody "
                            "is attached to give it",
                            name, a->reason != NULL ? ": " : "",
                            a->reason != NULL ? a->reason : "");
    }
    return wb_error_set(err, WB_ERROR_DENIED,
                        "`%s` needs an approval: its tier is %s, this run allows %s unasked, and "
                        "nobody is attached to give it. `--allow %s` lets it pass.",
                        name, tier, wb_tier_name(wb_run_allow(call->run)), tier);
}

static int refuse(const struct wb_call *call, const struct wb_card_answer *answer,
                  struct wb_error *err)
{
    const char *name = call->tool->name;
    switch (answer->outcome) {
    case WB_CARD_TIMED_OUT:
        return wb_error_set(err, WB_ERROR_DENIED,
                            "nobody answered the question whether `%s` may run: it did not run",
                            name);
    case WB_CARD_CANCELLED:
        return wb_error_set(err, WB_ERROR_CANCELLED,
                            "cancelled while `%s` waited for its approval: it did not run", name);
    default:
        return wb_error_set(err, WB_ERROR_DENIED,
                            "the operator refused `%s`%s%s. Do not send the same call again.", name,
                            answer->text != NULL ? ": " : "",
                            answer->text != NULL ? answer->text : "");
    }
}

/* Only one of the card's own options is an approval; whatever else came back is none. */
static bool take_answer(const struct asking *a, const struct wb_card_answer *answer,
                        const struct wb_sha256 *digest)
{
    struct wb_grants *grants = a->call->run->grants;
    bool is_one = answer->outcome == WB_CARD_ANSWERED && answer->n_choices == 1;
    size_t choice = is_one ? answer->choices[0] : CHOICE_REFUSE;
    bool allowed = choice == CHOICE_ALLOW || choice == CHOICE_ALWAYS ||
                   (choice == CHOICE_PATTERN && a->pattern != NULL);
    if (allowed && choice == CHOICE_ALWAYS) {
        wb_grants_add(grants, digest);
    } else if (allowed && choice == CHOICE_PATTERN) {
        wb_grants_add_pattern(grants, a->call->tool->name, a->pattern);
    }
    if (answer->outcome == WB_CARD_ANSWERED || answer->outcome == WB_CARD_SKIPPED) {
        wb_grants_set_refused(grants, digest, !allowed);
    }
    return allowed;
}

static int ask(struct asking *a, struct wb_error *err)
{
    struct wb_call *call = a->call;
    const struct wb_sha256 digest = wb_grants_digest(call->tool->name, a->arguments);
    if (is_granted(a, &digest)) {
        return 0;
    }
    if (wb_grants_was_refused(call->run->grants, &digest)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "the operator has just refused this very call of `%s`: it is not asked "
                            "for again. Do something else",
                            call->tool->name);
    }
    struct wb_card_option options[N_CHOICES];
    struct wb_card_answer answer;
    a->pattern = find_pattern(a);
    const struct wb_card card = {
        .kind = WB_CARD_APPROVAL,
        .question = build_question(a),
        .context = build_context(a),
        .options = options,
        .n_options = build_options(a, options),
        .refusal = CHOICE_REFUSE,
    };
    wb_call_ask(call, &card, WB_GATE_ANSWER_MS, &answer);
    if (answer.outcome == WB_CARD_NO_OPERATOR) {
        return refuse_unasked(a, err);
    }
    return take_answer(a, &answer, &digest) ? 0 : refuse(call, &answer, err);
}

/* --- the verdict --- */

static enum wb_verdict judge(struct wb_call *call, const struct wb_gate_subject *subject,
                             const char **ret_reason)
{
    const struct wb_rule_subject asked = {
        .tool = call->tool->name,
        .operation = subject->operation,
        .workspace = wb_run_workspace(call->run),
        .paths = subject->paths,
        .n_paths = subject->n_paths,
        .command = subject->command,
        .is_code = subject->is_code,
    };
    return wb_rules_judge(call->run->rules, call->arena, &asked, ret_reason);
}

static int refuse_denied(const struct wb_call *call, const char *path, const char *reason,
                         struct wb_error *err)
{
    return wb_error_set(err, WB_ERROR_DENIED, "a guard rule denies this call of `%s`%s%s%s%s",
                        call->tool->name, path != NULL ? " with " : "", path != NULL ? path : "",
                        reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

int wb_gate_pass(struct wb_call *call, const struct wb_gate_subject *subject,
                 struct wb_span arguments_json, struct wb_error *err)
{
    struct asking a = {.call = call, .subject = subject, .arguments = arguments_json};
    a.verdict = judge(call, subject, &a.reason);
    if (a.verdict == WB_VERDICT_DENY) {
        return refuse_denied(call, NULL, a.reason, err);
    }
    find_outside(&a);
    bool passes = call->tool->tier <= wb_run_allow(call->run) || a.verdict == WB_VERDICT_ALLOW;
    if ((!passes || a.verdict == WB_VERDICT_PROMPT || a.outside.n_paths > 0) && ask(&a, err) != 0) {
        return -1;
    }
    call->passed = subject;
    call->outside = a.outside.paths;
    call->n_outside = a.outside.n_paths;
    return 0;
}

int wb_gate_pass_path(struct wb_call *call, const char *path, struct wb_error *err)
{
    const char *reason;
    const struct wb_gate_subject one = {
        .arena = call->arena, .paths = &path, .n_paths = 1, .operation = call->passed->operation};
    for (size_t i = 0; i < call->passed->n_paths; i++) {
        if (wb_str_equal(call->passed->paths[i], path)) {
            return 0;
        }
    }
    enum wb_verdict verdict = judge(call, &one, &reason);
    if (verdict == WB_VERDICT_DENY) {
        return refuse_denied(call, wb_call_relative(call, path), reason, err);
    }
    if (verdict == WB_VERDICT_PROMPT) {
        return wb_error_set(
            err, WB_ERROR_DENIED,
            "a guard rule wants an approval for `%s` with %s, which only a call that "
            "names the file can get%s%s",
            call->tool->name, wb_call_relative(call, path), reason != NULL ? ": " : "",
            reason != NULL ? reason : "");
    }
    return 0;
}
