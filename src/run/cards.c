/* cards: see the header. */
#include "run/cards.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"

/* A card with somebody who waits for it. Lives on the asker's stack. */
struct open_card {
    uint64_t number;
    const struct wb_card *card;
    int64_t deadline_ms;
    struct wb_arena *arena; /* of the answer */
    struct wb_card_answer answer;
    bool is_done;
    struct open_card *next;
};

struct wb_cards {
    struct wb_question_port port;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct open_card *first; /* by number */
    uint64_t last_number;
    struct wb_transcript *transcript;
    const char *run_id;
    pthread_mutex_t surfaces_lock; /* held while surfaces are told: detach waits for it */
    struct wb_card_surface *surfaces;
};

/* --- surfaces --- */

static bool is_attended(void *ctx)
{
    struct wb_cards *cards = ctx;
    pthread_mutex_lock(&cards->surfaces_lock);
    bool attended = cards->surfaces != NULL;
    pthread_mutex_unlock(&cards->surfaces_lock);
    return attended;
}

static void tell_surfaces(struct wb_cards *cards)
{
    pthread_mutex_lock(&cards->surfaces_lock);
    for (struct wb_card_surface *surface = cards->surfaces; surface != NULL;
         surface = surface->next) {
        surface->changed(surface->ctx);
    }
    pthread_mutex_unlock(&cards->surfaces_lock);
}

void wb_cards_attach(struct wb_cards *cards, struct wb_card_surface *surface)
{
    pthread_mutex_lock(&cards->surfaces_lock);
    surface->next = cards->surfaces;
    cards->surfaces = surface;
    surface->changed(surface->ctx);
    pthread_mutex_unlock(&cards->surfaces_lock);
}

void wb_cards_detach(struct wb_cards *cards, struct wb_card_surface *surface)
{
    pthread_mutex_lock(&cards->surfaces_lock);
    struct wb_card_surface **place = &cards->surfaces;
    while (*place != NULL && *place != surface) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        *place = surface->next;
    }
    pthread_mutex_unlock(&cards->surfaces_lock);
}

void wb_cards_record(struct wb_cards *cards, struct wb_transcript *transcript, const char *run_id)
{
    cards->transcript = transcript;
    cards->run_id = run_id;
    cards->port.records = true;
}

static void record_card(struct wb_cards *cards, const struct open_card *open)
{
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    if (cards->transcript != NULL) {
        wb_card_put_members(&members, open->number, open->card);
        wb_transcript_add(cards->transcript, cards->run_id, "card", wb_text_span(&members));
    }
}

static void record_answer(struct wb_cards *cards, const struct open_card *open)
{
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    if (cards->transcript != NULL) {
        wb_card_answer_put_members(&members, open->number, open->card, &open->answer);
        wb_transcript_add(cards->transcript, cards->run_id, "answer", wb_text_span(&members));
    }
}

/* --- asking --- */

static void link_card(struct wb_cards *cards, struct open_card *open)
{
    struct open_card **place = &cards->first;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = open;
    open->number = ++cards->last_number;
}

static void unlink_card(struct wb_cards *cards, struct open_card *open)
{
    struct open_card **place = &cards->first;
    while (*place != open) {
        place = &(*place)->next;
    }
    *place = open->next;
}

static void wake(void *ctx)
{
    struct wb_cards *cards = ctx;
    pthread_mutex_lock(&cards->lock);
    pthread_cond_broadcast(&cards->changed);
    pthread_mutex_unlock(&cards->lock);
}

/* Under the lock. Recorded before the asker goes on. */
static void end_card(struct wb_cards *cards, struct open_card *open, enum wb_card_outcome outcome)
{
    open->answer.outcome = outcome;
    open->is_done = true;
    record_answer(cards, open);
    pthread_cond_broadcast(&cards->changed);
}

static void wait_for_end(struct wb_cards *cards, struct open_card *open, struct wb_cancel *cancel)
{
    while (!open->is_done) {
        if (wb_cancel_is_fired(cancel)) {
            end_card(cards, open, WB_CARD_CANCELLED);
        } else if (!wb_cond_wait(&cards->changed, &cards->lock, open->deadline_ms) &&
                   !open->is_done) {
            end_card(cards, open, WB_CARD_TIMED_OUT);
        }
    }
}

static void ask(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                struct wb_cancel *cancel, struct wb_arena *arena, struct wb_card_answer *ret)
{
    struct wb_cards *cards = ctx;
    struct open_card open = {.card = card, .deadline_ms = deadline_ms, .arena = arena};
    struct wb_cancel_hook hook = {.fire = wake, .ctx = cards};
    if (!is_attended(cards)) {
        *ret = (struct wb_card_answer){.outcome = WB_CARD_NO_OPERATOR};
        return;
    }
    pthread_mutex_lock(&cards->lock);
    link_card(cards, &open);
    record_card(cards, &open);
    pthread_mutex_unlock(&cards->lock);
    wb_cancel_hook_add(cancel, &hook);
    tell_surfaces(cards);
    pthread_mutex_lock(&cards->lock);
    wait_for_end(cards, &open, cancel);
    unlink_card(cards, &open);
    pthread_mutex_unlock(&cards->lock);
    wb_cancel_hook_remove(cancel, &hook);
    tell_surfaces(cards);
    *ret = open.answer;
}

/* --- looking --- */

static void copy_card(struct wb_arena *arena, const struct wb_card *from, struct wb_card *ret)
{
    struct wb_card_option *options =
        wb_arena_alloc_array(arena, from->n_options + 1, sizeof(*options));
    for (size_t i = 0; i < from->n_options; i++) {
        options[i].label = wb_arena_strdup(arena, from->options[i].label);
        options[i].description = from->options[i].description != NULL
                                     ? wb_arena_strdup(arena, from->options[i].description)
                                     : NULL;
    }
    *ret = *from;
    ret->options = options;
    ret->question = wb_arena_strdup(arena, from->question);
    ret->context = from->context != NULL ? wb_arena_strdup(arena, from->context) : NULL;
    ret->origin = from->origin != NULL ? wb_arena_strdup(arena, from->origin) : NULL;
}

bool wb_cards_next(struct wb_cards *cards, uint64_t after, struct wb_arena *arena,
                   struct wb_card_view *ret)
{
    bool found = false;
    pthread_mutex_lock(&cards->lock);
    for (struct open_card *open = cards->first; open != NULL && !found; open = open->next) {
        if (open->number > after && !open->is_done) {
            ret->number = open->number;
            ret->deadline_ms = open->deadline_ms;
            copy_card(arena, open->card, &ret->card);
            found = true;
        }
    }
    pthread_mutex_unlock(&cards->lock);
    return found;
}

/* --- answering --- */

static struct open_card *find_open(struct wb_cards *cards, uint64_t number, struct wb_error *err)
{
    for (struct open_card *open = cards->first; open != NULL; open = open->next) {
        if (open->number == number && !open->is_done) {
            return open;
        }
    }
    wb_error_set(err, WB_ERROR_STALE, "card %llu is not open any more", (unsigned long long)number);
    return NULL;
}

static bool is_blank(const char *text)
{
    return text == NULL || wb_span_trim(wb_span(text)).len == 0;
}

static int check_answer(const struct wb_card *card, const size_t *choices, size_t n_choices,
                        const char *text, struct wb_error *err)
{
    if (n_choices == 0 && is_blank(text)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "an empty answer is none: choose a number, or type `skip`");
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

/* Ascending, each once. */
static void take_choices(struct open_card *open, const size_t *choices, size_t n_choices)
{
    struct wb_card_answer *answer = &open->answer;
    answer->choices = wb_arena_alloc_array(open->arena, n_choices + 1, sizeof(*answer->choices));
    for (size_t option = 0; option < open->card->n_options; option++) {
        for (size_t i = 0; i < n_choices; i++) {
            if (choices[i] == option) {
                answer->choices[answer->n_choices++] = option;
                break;
            }
        }
    }
}

int wb_cards_answer(struct wb_cards *cards, uint64_t number, const size_t *choices,
                    size_t n_choices, const char *text, struct wb_error *err)
{
    int status = -1;
    pthread_mutex_lock(&cards->lock);
    struct open_card *open = find_open(cards, number, err);
    if (open != NULL && check_answer(open->card, choices, n_choices, text, err) == 0) {
        take_choices(open, choices, n_choices);
        open->answer.text = is_blank(text) ? NULL : wb_arena_strdup(open->arena, text);
        end_card(cards, open, WB_CARD_ANSWERED);
        status = 0;
    }
    pthread_mutex_unlock(&cards->lock);
    return status;
}

int wb_cards_skip(struct wb_cards *cards, uint64_t number, struct wb_error *err)
{
    pthread_mutex_lock(&cards->lock);
    struct open_card *open = find_open(cards, number, err);
    if (open != NULL) {
        end_card(cards, open, WB_CARD_SKIPPED);
    }
    pthread_mutex_unlock(&cards->lock);
    return open != NULL ? 0 : -1;
}

/* --- what is typed --- */

static size_t find_label(const struct wb_card *card, struct wb_span typed)
{
    for (size_t i = 0; i < card->n_options; i++) {
        const char *label = card->options[i].label;
        if (strlen(label) == typed.len && strncasecmp(label, typed.ptr, typed.len) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* "1, 3" as indices. False: it is not a list of numbers. */
static bool read_numbers(const struct wb_card *card, struct wb_span typed, size_t *choices,
                         size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < typed.len;) {
        size_t number = 0, start = i;
        while (i < typed.len && isdigit((unsigned char)typed.ptr[i])) {
            number = number * 10 + (size_t)(typed.ptr[i++] - '0');
            number = WB_MIN(number, (size_t)1000000);
        }
        if (i == start || *ret_n > card->n_options) {
            return false;
        }
        choices[(*ret_n)++] = number - 1; /* 0 becomes an option that is none */
        while (i < typed.len && (typed.ptr[i] == ',' || typed.ptr[i] == ' ')) {
            i++;
        }
    }
    return *ret_n > 0;
}

int wb_cards_answer_typed(struct wb_cards *cards, uint64_t number, const struct wb_card *card,
                          struct wb_span typed, struct wb_error *err)
{
    WB_AUTO(wb_free_p)
    size_t *choices = wb_alloc_array(card->n_options + 2, sizeof(*choices));
    size_t n_choices = 0;
    typed = wb_span_trim(typed);
    if (typed.len == 4 && strncasecmp(typed.ptr, "skip", 4) == 0) {
        return wb_cards_skip(cards, number, err);
    }
    size_t label = find_label(card, typed);
    if (label != SIZE_MAX) {
        return wb_cards_answer(cards, number, &label, 1, NULL, err);
    }
    if (card->n_options > 0 && read_numbers(card, typed, choices, &n_choices)) {
        return wb_cards_answer(cards, number, choices, n_choices, NULL, err);
    }
    WB_AUTO(wb_free_p) char *text = wb_strndup(typed.ptr, typed.len);
    return wb_cards_answer(cards, number, NULL, 0, text, err);
}

/* --- the queue --- */

struct wb_cards *wb_cards_new(void)
{
    struct wb_cards *cards = wb_alloc(sizeof(*cards));
    cards->port = (struct wb_question_port){.ask = ask, .ctx = cards, .is_attended = is_attended};
    pthread_mutex_init(&cards->lock, NULL);
    pthread_mutex_init(&cards->surfaces_lock, NULL);
    wb_cond_init(&cards->changed);
    return cards;
}

void wb_cards_free(struct wb_cards *cards)
{
    if (cards != NULL) {
        pthread_cond_destroy(&cards->changed);
        pthread_mutex_destroy(&cards->surfaces_lock);
        pthread_mutex_destroy(&cards->lock);
        free(cards);
    }
}

const struct wb_question_port *wb_cards_port(struct wb_cards *cards)
{
    return &cards->port;
}
