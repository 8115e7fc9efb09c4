/* card: cards as events, and the port that nobody sits behind. */
#include "run/card.h"

#include "base/json.h"

static void ask_nobody(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                       struct wb_cancel *cancel, struct wb_arena *arena, struct wb_card_answer *ret)
{
    (void)ctx;
    (void)card;
    (void)deadline_ms;
    (void)cancel;
    (void)arena;
    *ret = (struct wb_card_answer){.outcome = WB_CARD_NO_OPERATOR};
}

static bool is_never_attended(void *ctx)
{
    (void)ctx;
    return false;
}

const struct wb_question_port wb_question_port_none = {.ask = ask_nobody,
                                                       .is_attended = is_never_attended};

const char *wb_card_outcome_name(enum wb_card_outcome outcome)
{
    static const char *const names[] = {
        [WB_CARD_ANSWERED] = "answered",   [WB_CARD_SKIPPED] = "skipped",
        [WB_CARD_TIMED_OUT] = "timed_out", [WB_CARD_NO_OPERATOR] = "no_operator",
        [WB_CARD_CANCELLED] = "cancelled",
    };
    return names[outcome];
}

static bool is_blank(const char *text)
{
    return text == NULL || wb_span_trim(wb_span(text)).len == 0;
}

int wb_card_check_answer(const struct wb_card *card, const size_t *choices, size_t n_choices,
                         const char *text, struct wb_error *err)
{
    if (n_choices == 0 && is_blank(text)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            card->n_options > 0
                                ? "an empty answer is none: choose a number, or type `skip`"
                                : "an empty answer is none: type one, or `skip`");
    }
    if (n_choices > 1 && !card->multi_select) {
        return wb_error_set(err, WB_ERROR_INVALID, "one of the options, please, not %zu",
                            n_choices);
    }
    for (size_t i = 0; i < n_choices; i++) {
        if (choices[i] >= card->n_options) {
            return wb_error_set(err, WB_ERROR_INVALID, "there are options 1 to %zu",
                                card->n_options);
        }
    }
    if (!is_blank(text) && !card->allow_free_text) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "a typed answer is not taken here: choose 1 to %zu, or type `skip`",
                            card->n_options);
    }
    return 0;
}

struct members {
    struct wb_text text;
    struct wb_json_writer w;
};

static void begin(struct members *m, uint64_t number, const struct wb_card *card)
{
    *m = (struct members){0};
    wb_json_writer_init(&m->w, &m->text);
    wb_json_begin_object(&m->w);
    wb_json_member_int(&m->w, "card", (int64_t)number);
    wb_json_member_str(&m->w, "type", card->kind == WB_CARD_APPROVAL ? "approval" : "question");
}

static void end(struct members *m, struct wb_text *out)
{
    wb_json_end_object(&m->w);
    wb_text_add(out, m->text.ptr + 1, m->text.len - 2);
    wb_text_done(&m->text);
}

void wb_card_put_members(struct wb_text *out, uint64_t number, const struct wb_card *card)
{
    struct members m;
    begin(&m, number, card);
    wb_json_member_str(&m.w, "question", card->question);
    wb_json_member_str(&m.w, "context", card->context);
    wb_json_member_str(&m.w, "origin", card->origin);
    wb_json_key(&m.w, "options");
    wb_json_begin_array(&m.w);
    for (size_t i = 0; i < card->n_options; i++) {
        wb_json_put_str(&m.w, card->options[i].label);
    }
    wb_json_end_array(&m.w);
    end(&m, out);
}

void wb_card_answer_put_members(struct wb_text *out, uint64_t number, const struct wb_card *card,
                                const struct wb_card_answer *answer)
{
    struct members m;
    begin(&m, number, card);
    wb_json_member_str(&m.w, "outcome", wb_card_outcome_name(answer->outcome));
    wb_json_key(&m.w, "choices");
    wb_json_begin_array(&m.w);
    for (size_t i = 0; i < answer->n_choices; i++) {
        wb_json_put_str(&m.w, card->options[answer->choices[i]].label);
    }
    wb_json_end_array(&m.w);
    wb_json_member_str(&m.w, "text", answer->text);
    end(&m, out);
}
