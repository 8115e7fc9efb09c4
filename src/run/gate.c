/* gate: collects the reasons to ask, and asks. Knows no tool and no screen. */
#include "run/gate.h"

#include "base/clock.h"
#include "run/run.h"
#include "sys/path.h"

#define CONTEXT_ARGUMENT_BYTES_MAX 2048

/* The card's options, in their order. */
enum { CHOICE_ALLOW, CHOICE_REFUSE };

static const struct wb_card_option choices[] = {
    [CHOICE_ALLOW] = {"Allow", "run it once, with exactly these arguments"},
    [CHOICE_REFUSE] = {"Refuse", "the agent is told so"},
};

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
                          struct wb_error *err)
{
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

static bool is_allowed(const struct wb_card_answer *answer)
{
    return answer->outcome == WB_CARD_ANSWERED && answer->n_choices == 1 &&
           answer->choices[0] == CHOICE_ALLOW;
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
               struct wb_error *err)
{
    const struct wb_question_port *port = wb_run_port(call->run);
    const struct wb_card card = {
        .kind = WB_CARD_APPROVAL,
        .question = build_question(call, subject),
        .context = build_context(call, outside, arguments_json),
        .options = choices,
        .n_options = WB_COUNT(choices),
    };
    struct wb_card_answer answer = {.outcome = WB_CARD_CANCELLED};
    port->ask(port->ctx, &card, wb_call_deadline(call, WB_GATE_ANSWER_MS), call->cancel,
              call->arena, &answer);
    if (answer.outcome == WB_CARD_NO_OPERATOR) {
        return refuse_unasked(call, outside, err);
    }
    return is_allowed(&answer) ? 0 : refuse(call, &answer, err);
}

int wb_gate_pass(struct wb_call *call, const struct wb_gate_subject *subject,
                 struct wb_span arguments_json, struct wb_error *err)
{
    struct wb_gate_subject outside;
    find_outside(call, subject, &outside);
    bool tier_passes = call->tool->tier <= wb_run_allow(call->run);
    if ((!tier_passes || outside.n_paths > 0) &&
        ask(call, subject, &outside, arguments_json, err) != 0) {
        return -1;
    }
    call->outside = outside.paths;
    call->n_outside = outside.n_paths;
    return 0;
}
