/* mcp_form: see the header. The fields are `choice` (or `choice_1` and so on, a flag an option, for
 * clients that know no arrays) and `text`. */
#include "app/mcp_form.h"

#include <stdio.h>

#include "base/log.h"

bool wb_mcp_form_offered(const struct wb_json *capabilities)
{
    const struct wb_json *elicitation = wb_json_get(capabilities, "elicitation");
    return wb_json_type(elicitation) == WB_JSON_OBJECT &&
           (wb_json_get(elicitation, "form") != NULL || wb_json_get(elicitation, "url") == NULL);
}

/* --- the form --- */

static bool has_flags(const struct wb_mcp_form *form)
{
    return form->card.card.multi_select && !form->has_arrays;
}

static void put_enum(struct wb_json_writer *w, const struct wb_card *card)
{
    wb_json_member_str(w, "type", "string");
    wb_json_key(w, "enum");
    wb_json_begin_array(w);
    for (size_t i = 0; i < card->n_options; i++) {
        wb_json_put_str(w, card->options[i].label);
    }
    wb_json_end_array(w);
}

static void put_choice(struct wb_json_writer *w, const struct wb_card *card)
{
    wb_json_key(w, "choice");
    wb_json_begin_object(w);
    wb_json_member_str(w, "title", card->multi_select ? "Choices" : "Choice");
    if (card->multi_select) {
        wb_json_member_str(w, "type", "array");
        wb_json_key(w, "items");
        wb_json_begin_object(w);
        put_enum(w, card);
        wb_json_end_object(w);
    } else {
        put_enum(w, card);
    }
    wb_json_end_object(w);
}

static const char *flag_name(char name[32], size_t index)
{
    snprintf(name, 32, "choice_%zu", index + 1);
    return name;
}

static void put_flags(struct wb_json_writer *w, const struct wb_card *card)
{
    char name[32];
    for (size_t i = 0; i < card->n_options; i++) {
        wb_json_key(w, flag_name(name, i));
        wb_json_begin_object(w);
        wb_json_member_str(w, "type", "boolean");
        wb_json_member_str(w, "title", card->options[i].label);
        wb_json_end_object(w);
    }
}

static void put_schema(struct wb_json_writer *w, const struct wb_mcp_form *form)
{
    const struct wb_card *card = &form->card.card;
    wb_json_begin_object(w);
    wb_json_member_str(w, "type", "object");
    wb_json_key(w, "properties");
    wb_json_begin_object(w);
    if (has_flags(form)) {
        put_flags(w, card);
    } else if (card->n_options > 0) {
        put_choice(w, card);
    }
    if (card->allow_free_text) {
        wb_json_key(w, "text");
        wb_json_begin_object(w);
        wb_json_member_str(w, "type", "string");
        wb_json_member_str(w, "title", "Answer");
        wb_json_end_object(w);
    }
    wb_json_end_object(w);
    if (!has_flags(form) && (card->n_options == 0 || !card->allow_free_text)) {
        wb_json_key(w, "required");
        wb_json_begin_array(w);
        wb_json_put_str(w, card->n_options > 0 ? "choice" : "text");
        wb_json_end_array(w);
    }
    wb_json_end_object(w);
}

/* The question, why it is asked, and what the options mean. */
static void put_message(struct wb_text *out, const struct wb_mcp_form *form)
{
    const struct wb_card *card = &form->card.card;
    if (form->note != NULL) {
        wb_text_printf(out, "(%s)\n", form->note);
    }
    wb_text_add_str(out, card->question);
    if (card->origin != NULL && !wb_str_equal(card->origin, "harness")) {
        wb_text_printf(out, "\n(asked by: %s)", card->origin);
    }
    if (card->context != NULL) {
        wb_text_printf(out, "\n%s", card->context);
    }
    for (size_t i = 0; i < card->n_options; i++) {
        if (card->options[i].description != NULL) {
            wb_text_printf(out, "\n%s: %s", card->options[i].label, card->options[i].description);
        }
    }
}

void wb_mcp_form_put(struct wb_json_writer *w, const struct wb_mcp_form *form)
{
    WB_AUTO(wb_text_done) struct wb_text message = {0};
    put_message(&message, form);
    wb_json_begin_object(w);
    wb_json_member_str(w, "mode", "form");
    wb_json_member_span(w, "message", wb_text_span(&message));
    wb_json_key(w, "requestedSchema");
    put_schema(w, form);
    wb_json_end_object(w);
}

/* --- the answer --- */

struct choices {
    size_t *items;
    size_t count;
};

static void add_label(struct choices *choices, const struct wb_card *card, const char *label)
{
    for (size_t i = 0; label != NULL && i < card->n_options; i++) {
        if (wb_str_equal(card->options[i].label, label)) {
            choices->items[choices->count++] = i;
            return;
        }
    }
}

static void read_choices(struct choices *choices, const struct wb_mcp_form *form,
                         const struct wb_json *content)
{
    const struct wb_card *card = &form->card.card;
    const struct wb_json *choice = wb_json_get(content, "choice");
    char name[32];
    for (size_t i = 0; has_flags(form) && i < card->n_options; i++) {
        if (wb_json_bool(wb_json_get(content, flag_name(name, i)), false)) {
            choices->items[choices->count++] = i;
        }
    }
    add_label(choices, card, wb_json_str(choice));
    if (wb_json_type(choice) == WB_JSON_ARRAY) {
        for (struct wb_json_iter it = wb_json_iter(choice); wb_json_next(&it);) {
            add_label(choices, card, wb_json_str(it.value));
        }
    }
}

static int take_content(struct wb_mcp_form *form, struct wb_cards *cards,
                        const struct wb_json *content, struct wb_arena *arena, struct wb_error *err)
{
    size_t room = 2 * form->card.card.n_options + 1 + wb_json_count(wb_json_get(content, "choice"));
    struct choices choices = {.items = wb_arena_alloc_array(arena, room, sizeof(*choices.items))};
    read_choices(&choices, form, content);
    return wb_cards_answer(cards, form->card.id, choices.items, choices.count,
                           wb_json_str(wb_json_get(content, "text")), err);
}

static void decline(const struct wb_mcp_form *form, struct wb_cards *cards)
{
    struct wb_error err;
    if (wb_cards_skip(cards, form->card.id, &err) != 0) {
        wb_log(WB_LOG_INFO, "card %llu: %s", (unsigned long long)form->card.number, err.message);
    }
}

int wb_mcp_form_take(struct wb_mcp_form *form, struct wb_cards *cards, const struct wb_json *result,
                     struct wb_arena *arena)
{
    struct wb_error err;
    const char *action = wb_json_str_or(wb_json_get(result, "action"), "");
    if (wb_str_equal(action, "accept")) {
        if (take_content(form, cards, wb_json_get(result, "content"), arena, &err) == 0 ||
            err.code == WB_ERROR_STALE) {
            return 0;
        }
        form->note = wb_arena_strdup(arena, err.message);
        if (++form->n_tries < WB_MCP_FORM_TRIES) {
            return -1;
        }
    }
    decline(form, cards);
    return 0;
}
