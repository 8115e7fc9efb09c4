/* gate: collects the reasons to ask, and asks. Knows no tool and no screen. */
#include "run/gate.h"

#include <stdlib.h>

#include "base/clock.h"
#include "run/rules.h"
#include "run/run_private.h"
#include "sys/path.h"
#include "sys/sha256.h"

#define CONTEXT_ARGUMENT_BYTES_MAX 2048

#define GRANTS_MAX 1000

/* The card's options, in their order. */
enum { CHOICE_ALLOW, CHOICE_REFUSE, CHOICE_ALWAYS };

static const struct wb_card_option choices[] = {
    [CHOICE_ALLOW] = {"Allow", "run it once, with exactly these arguments"},
    [CHOICE_REFUSE] = {"Refuse", "the agent is told so"},
    [CHOICE_ALWAYS] = {"Allow always", "this call with these arguments, until the run ends"},
};

/* --- what is remembered --- */

struct wb_grants {
    pthread_mutex_t lock;
    struct wb_sha256 *items;
    size_t count, capacity;
    struct wb_sha256 refused; /* the last one asked for, if it was refused */
    bool has_refused;
};

struct wb_grants *wb_grants_new(void)
{
    struct wb_grants *grants = wb_alloc(sizeof(*grants));
    pthread_mutex_init(&grants->lock, NULL);
    return grants;
}

void wb_grants_free(struct wb_grants *grants)
{
    if (grants != NULL) {
        pthread_mutex_destroy(&grants->lock);
        free(grants->items);
        free(grants);
    }
}

static struct wb_sha256 digest_of(const struct wb_call *call, struct wb_span arguments_json)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_text_add_str(&text, call->tool->name);
    wb_text_add_char(&text, '\n');
    wb_text_add_span(&text, wb_span_trim(arguments_json));
    return wb_sha256(wb_text_span(&text));
}

static bool is_granted(struct wb_grants *grants, const struct wb_sha256 *digest)
{
    bool found = false;
    pthread_mutex_lock(&grants->lock);
    for (size_t i = 0; i < grants->count && !found; i++) {
        found = wb_sha256_equal(&grants->items[i], digest);
    }
    pthread_mutex_unlock(&grants->lock);
    return found;
}

static bool was_just_refused(struct wb_grants *grants, const struct wb_sha256 *digest)
{
    pthread_mutex_lock(&grants->lock);
    bool refused = grants->has_refused && wb_sha256_equal(&grants->refused, digest);
    pthread_mutex_unlock(&grants->lock);
    return refused;
}

static void remember(struct wb_grants *grants, const struct wb_sha256 *digest, bool allowed,
                     bool always)
{
    pthread_mutex_lock(&grants->lock);
    grants->has_refused = !allowed;
    grants->refused = *digest;
    if (always && grants->count < GRANTS_MAX) {
        WB_GROW(grants->items, grants->capacity, grants->count + 1);
        grants->items[grants->count++] = *digest;
    }
    pthread_mutex_unlock(&grants->lock);
}

/* --- the question --- */

void wb_gate_add_path(struct wb_gate_subject *subject, const char *absolute_real)
{
    *WB_ARENA_PUSH(subject->arena, subject->paths, subject->n_paths, subject->paths_capacity) =
        absolute_real;
}

static void find_outside(struct wb_call *call, const struct wb_gate_subject *subject,
                         struct wb_gate_subject *ret)
{
    *ret = (struct wb_gate_subject){.arena = call->arena};
    for (size_t i = 0; i < subject->n_paths; i++) {
        if (!wb_path_is_inside(subject->paths[i], wb_run_workspace(call->run))) {
            wb_gate_add_path(ret, subject->paths[i]);
        }
    }
}

/* "Allow shell: rm -r build?" */
static const char *build_question(const struct wb_call *call, const struct wb_gate_subject *subject)
{
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

static const char *build_context(const struct wb_call *call, const struct wb_gate_subject *outside,
                                 struct wb_span arguments_json)
{
    size_t len = wb_utf8_cut(arguments_json, CONTEXT_ARGUMENT_BYTES_MAX);
    const char *where =
        outside->n_paths == 0
            ? ""
            : wb_arena_printf(call->arena, "%s is outside the workspace. ", outside->paths[0]);
    return wb_arena_printf(call->arena, "%sArguments: %.*s%s", where, (int)len, arguments_json.ptr,
                           len < arguments_json.len ? "..." : "");
}

/* Nobody is attached: says what would let the call pass. */
static int refuse_unasked(const struct wb_call *call, const struct wb_gate_subject *outside,
                          const char *reason, struct wb_error *err)
{
    if (outside->n_paths == 0 && call->tool->tier <= wb_run_allow(call->run)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "a guard rule wants an approval for this call of `%s`%s%s, and nobody "
                            "is attached to give it",
                            call->tool->name, reason != NULL ? ": " : "",
                            reason != NULL ? reason : "");
    }
    if (outside->n_paths > 0) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "%s is outside the workspace %s; such a path needs an approval each "
                            "time, and nobody is attached to give it. Use a path inside, or open "
                            "the run with a --workspace that holds it.",
                            outside->paths[0], wb_run_workspace(call->run));
    }
    return wb_error_set(err, WB_ERROR_DENIED,
                        "`%s` needs an approval: its tier is %s, this run allows %s unasked, and "
                        "nobody is attached to give it. `--allow %s` lets it pass.",
                        call->tool->name, wb_tier_name(call->tool->tier),
                        wb_tier_name(wb_run_allow(call->run)), wb_tier_name(call->tool->tier));
}

static bool has_chosen(const struct wb_card_answer *answer, size_t choice)
{
    return answer->outcome == WB_CARD_ANSWERED && answer->n_choices == 1 &&
           answer->choices[0] == choice;
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

static int ask(struct wb_call *call, const struct wb_gate_subject *subject,
               const struct wb_gate_subject *outside, struct wb_span arguments_json,
               const char *reason, struct wb_error *err)
{
    struct wb_grants *grants = call->run->grants;
    const struct wb_sha256 digest = digest_of(call, arguments_json);
    if (is_granted(grants, &digest)) {
        return 0;
    }
    if (was_just_refused(grants, &digest)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "the operator has just refused this very call of `%s`: it is not asked "
                            "for again. Do something else",
                            call->tool->name);
    }
    const char *context = build_context(call, outside, arguments_json);
    const struct wb_card card = {
        .kind = WB_CARD_APPROVAL,
        .question = build_question(call, subject),
        .context =
            reason != NULL ? wb_arena_printf(call->arena, "%s. %s", reason, context) : context,
        .options = choices,
        .n_options = WB_COUNT(choices),
        .refusal = CHOICE_REFUSE,
    };
    struct wb_card_answer answer;
    wb_call_ask(call, &card, WB_GATE_ANSWER_MS, &answer);
    if (answer.outcome == WB_CARD_NO_OPERATOR) {
        return refuse_unasked(call, outside, reason, err);
    }
    bool always = has_chosen(&answer, CHOICE_ALWAYS);
    bool allowed = always || has_chosen(&answer, CHOICE_ALLOW);
    if (answer.outcome == WB_CARD_ANSWERED || answer.outcome == WB_CARD_SKIPPED) {
        remember(grants, &digest, allowed, always);
    }
    return allowed ? 0 : refuse(call, &answer, err);
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
    };
    return wb_rules_judge(call->run->rules, call->arena, &asked, ret_reason);
}

int wb_gate_pass(struct wb_call *call, const struct wb_gate_subject *subject,
                 struct wb_span arguments_json, struct wb_error *err)
{
    struct wb_gate_subject outside;
    const char *reason;
    enum wb_verdict verdict = judge(call, subject, &reason);
    if (verdict == WB_VERDICT_DENY) {
        return wb_error_set(err, WB_ERROR_DENIED, "a guard rule denies this call of `%s`%s%s",
                            call->tool->name, reason != NULL ? ": " : "",
                            reason != NULL ? reason : "");
    }
    find_outside(call, subject, &outside);
    bool passes = call->tool->tier <= wb_run_allow(call->run) || verdict == WB_VERDICT_ALLOW;
    if ((!passes || verdict == WB_VERDICT_PROMPT || outside.n_paths > 0) &&
        ask(call, subject, &outside, arguments_json, verdict == WB_VERDICT_PROMPT ? reason : NULL,
            err) != 0) {
        return -1;
    }
    call->outside = outside.paths;
    call->n_outside = outside.n_paths;
    return 0;
}
