/* ask_user: asks the human. The only way in which a run asks the operator something. */
#include "ask/ask.h"

#define TIMEOUT_S 600 /* unless ask.timeout_s says otherwise */
#define OPTIONS_MAX 20

struct option {
    struct wb_span label, description;
};

struct ask_args {
    struct wb_span question, context;
    struct wb_arg_list options;
    int allow_free_text; /* -1: not said */
    bool multi_select;
};

static const struct wb_arg option_table[] = {
    {"label", WB_ARG_STRING, offsetof(struct option, label), .required = true, .min = 1, .max = 200,
     .doc = "what is chosen, in a few words"},
    {"description", WB_ARG_STRING, offsetof(struct option, description), .max = 2000,
     .doc = "what choosing it means"},
};

static const struct wb_arg table[] = {
    {"question", WB_ARG_STRING, offsetof(struct ask_args, question), .required = true, .min = 1,
     .max = 8000, .doc = "what to ask"},
    {"context", WB_ARG_STRING, offsetof(struct ask_args, context), .max = 16000,
     .doc = "why it is asked, and what hangs on the answer"},
    {"options", WB_ARG_OBJECTS, offsetof(struct ask_args, options), .max = OPTIONS_MAX,
     .items = option_table, .n_items = WB_COUNT(option_table), .item_bytes = sizeof(struct option),
     .doc = "the choices, each with a label of its own"},
    {"allow_free_text", WB_ARG_MAYBE, offsetof(struct ask_args, allow_free_text),
     .doc = "whether a typed answer is taken; default true exactly when there are no options"},
    {"multi_select", WB_ARG_BOOL, offsetof(struct ask_args, multi_select),
     .doc = "whether several options may be chosen; default false"},
};

/* --- the card --- */

static int make_options(struct wb_call *call, const struct ask_args *args, struct wb_card *card,
                        struct wb_error *err)
{
    const struct option *given = args->options.items;
    struct wb_card_option *options =
        wb_arena_alloc_array(call->arena, args->options.count + 1, sizeof(*options));
    for (size_t i = 0; i < args->options.count; i++) {
        struct wb_span label = wb_span_trim(given[i].label);
        options[i].label = wb_arena_strndup(call->arena, label.ptr, label.len);
        options[i].description = given[i].description.ptr;
        for (size_t k = 0; k < i; k++) {
            if (wb_str_equal(options[k].label, options[i].label)) {
                return wb_error_set(err, WB_ERROR_INVALID,
                                    "Two options have the label `%s`: give each one of its own",
                                    options[i].label);
            }
        }
        if (label.len == 0 || wb_str_equal(options[i].label, "skip")) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "An option needs a label, and `skip` is what every card has");
        }
    }
    card->options = options;
    card->n_options = args->options.count;
    return 0;
}

static int make_card(struct wb_call *call, const struct ask_args *args, struct wb_card *ret,
                     struct wb_error *err)
{
    *ret = (struct wb_card){
        .kind = WB_CARD_QUESTION,
        .question = args->question.ptr,
        .context = args->context.ptr,
        .multi_select = args->multi_select,
        .allow_free_text =
            args->allow_free_text >= 0 ? args->allow_free_text == 1 : args->options.count == 0,
    };
    if (args->options.count == 0 && !ret->allow_free_text) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "Nothing could be answered: give options, or allow_free_text true");
    }
    return make_options(call, args, ret, err);
}

/* --- the answer --- */

static void put_answered(const struct wb_card *card, const struct wb_card_answer *answer,
                         struct wb_text *out)
{
    for (size_t i = 0; i < answer->n_choices; i++) {
        wb_text_printf(out, "%s%s", i == 0 ? "The operator chose: " : ", ",
                       card->options[answer->choices[i]].label);
    }
    if (answer->text != NULL) {
        wb_text_printf(out, "%s%s",
                       answer->n_choices > 0 ? "\nand wrote: " : "The operator wrote: ",
                       answer->text);
    }
    wb_text_add_char(out, '\n');
}

static void put_text(const struct wb_card *card, const struct wb_card_answer *answer,
                     struct wb_text *out)
{
    static const char go_on[] =
        "Go on with an assumption that you state, and do not ask this again.\n";
    switch (answer->outcome) {
    case WB_CARD_ANSWERED:
        put_answered(card, answer, out);
        break;
    case WB_CARD_SKIPPED:
        wb_text_printf(out, "The operator skipped the question. %s", go_on);
        break;
    case WB_CARD_TIMED_OUT:
        wb_text_printf(out, "Nobody answered in time. %s", go_on);
        break;
    case WB_CARD_NO_OPERATOR:
        wb_text_printf(out, "Nobody is there to answer. %s", go_on);
        break;
    case WB_CARD_CANCELLED:
        wb_text_add_str(out, "The question was cancelled before it was answered.\n");
        break;
    }
}

static void put_data(const struct wb_card *card, const struct wb_card_answer *answer,
                     struct wb_result *result)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "outcome", wb_card_outcome_name(answer->outcome));
    wb_json_key(&w, "choices");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < answer->n_choices; i++) {
        wb_json_put_str(&w, card->options[answer->choices[i]].label);
    }
    wb_json_end_array(&w);
    wb_json_member_str(&w, "text", answer->text);
    wb_json_end_object(&w);
}

static int call_ask_user(struct wb_call *call, const void *opaque, struct wb_result *result,
                         struct wb_error *err)
{
    const struct ask_args *args = opaque;
    int64_t timeout_ms = 1000 * wb_config_int(wb_run_config(call->run), "ask.timeout_s", TIMEOUT_S);
    struct wb_card card;
    if (make_card(call, args, &card, err) != 0) {
        return -1;
    }
    struct wb_card_answer answer;
    wb_call_ask(call, &card, timeout_ms, &answer);
    put_text(&card, &answer, &result->text);
    put_data(&card, &answer, result);
    result->is_error = answer.outcome != WB_CARD_ANSWERED && answer.outcome != WB_CARD_SKIPPED;
    return 0;
}

/* --- attaching --- */

void wb_ask_attach(struct wb_run *run)
{
    wb_run_attach(run, WB_RESOURCE_QUESTIONS, (void *)(uintptr_t)wb_run_port(run), NULL);
}

static bool is_available(const struct wb_run *run)
{
    const struct wb_question_port *port = wb_run_resource(run, WB_RESOURCE_QUESTIONS);
    return port != NULL && port != &wb_question_port_none &&
           (port->is_attended == NULL || port->is_attended(port->ctx));
}

const struct wb_tool wb_tool_ask_user = {
    .name = "ask_user",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Ask the human a question",
    .description =
        "Asks the operator something and waits for the answer: the only way to ask. Never write a "
        "question as a chat message instead: that ends the turn. Give options where there are a "
        "few good ones; a typed answer is taken when there are none, or with allow_free_text. The "
        "operator may skip a question, or not answer in time: then go on with an assumption that "
        "you state, and do not ask again.",
    .args = {table, WB_COUNT(table), sizeof(struct ask_args), NULL, 0},
    .available = is_available,
    .call = call_ask_user,
};
