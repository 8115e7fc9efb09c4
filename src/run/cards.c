/* cards: see the header. Two locks: `lock` is of the cards, `surfaces_lock` of the surfaces, and it is
 * held while surfaces are told. It comes first. A card is unlinked under both, so that a surface can be
 * handed the asker's own memory. */
#include "run/cards.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/transcript.h"

/* A card with somebody who waits for it. Lives on the asker's stack. */
struct open_card {
    char id[32];
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
    uint32_t salt; /* of ids */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct open_card *first; /* by number */
    uint64_t last_number;
    pthread_mutex_t surfaces_lock;
    struct wb_card_surface *surfaces;
    bool was_attended;
};

static struct wb_card_view view_of(const struct open_card *open)
{
    return (struct wb_card_view){open->id, open->number, *open->card, open->deadline_ms};
}

/* --- surfaces --- */

static bool was_attended(void *ctx)
{
    struct wb_cards *cards = ctx;
    pthread_mutex_lock(&cards->surfaces_lock);
    bool attended = cards->was_attended;
    pthread_mutex_unlock(&cards->surfaces_lock);
    return attended;
}

static bool has_surface(struct wb_cards *cards)
{
    pthread_mutex_lock(&cards->surfaces_lock);
    bool found = cards->surfaces != NULL;
    pthread_mutex_unlock(&cards->surfaces_lock);
    return found;
}

static const struct open_card *next_card(struct wb_cards *cards, uint64_t after)
{
    pthread_mutex_lock(&cards->lock);
    const struct open_card *open = cards->first;
    while (open != NULL && open->number <= after) {
        open = open->next;
    }
    pthread_mutex_unlock(&cards->lock);
    return open;
}

/* Under surfaces_lock. */
static void show_new_cards(struct wb_cards *cards, struct wb_card_surface *surface)
{
    const struct open_card *open;
    while ((open = next_card(cards, surface->last_number)) != NULL) {
        const struct wb_card_view view = view_of(open);
        surface->last_number = open->number;
        surface->added(surface->ctx, &view);
    }
}

static void tell_added(struct wb_cards *cards)
{
    pthread_mutex_lock(&cards->surfaces_lock);
    for (struct wb_card_surface *surface = cards->surfaces; surface != NULL;
         surface = surface->next) {
        show_new_cards(cards, surface);
    }
    pthread_mutex_unlock(&cards->surfaces_lock);
}

void wb_cards_attach(struct wb_cards *cards, struct wb_card_surface *surface)
{
    pthread_mutex_lock(&cards->surfaces_lock);
    surface->last_number = 0;
    surface->next = cards->surfaces;
    cards->surfaces = surface;
    cards->was_attended = true;
    show_new_cards(cards, surface);
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

/* --- the transcript --- */

static void record_card(const struct open_card *open)
{
    const struct wb_card *card = open->card;
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    if (card->transcript != NULL) {
        wb_card_put_members(&members, open->number, card);
        wb_transcript_add(card->transcript, card->run_id, "card", wb_text_span(&members));
    }
}

static void record_answer(const struct open_card *open)
{
    const struct wb_card *card = open->card;
    WB_AUTO(wb_text_done) struct wb_text members = {0};
    if (card->transcript != NULL) {
        wb_card_answer_put_members(&members, open->number, card, &open->answer);
        wb_transcript_add(card->transcript, card->run_id, "answer", wb_text_span(&members));
        wb_transcript_sync(card->transcript);
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
    snprintf(open->id, sizeof(open->id), "%08x-%llu", cards->salt,
             (unsigned long long)open->number);
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

/* Under the lock. */
static void end_card(struct wb_cards *cards, struct open_card *open, enum wb_card_outcome outcome)
{
    open->answer.outcome = outcome;
    open->is_done = true;
    record_answer(open);
    pthread_cond_broadcast(&cards->changed);
}

static void wait_for_end(struct wb_cards *cards, struct open_card *open, struct wb_cancel *cancel)
{
    pthread_mutex_lock(&cards->lock);
    while (!open->is_done) {
        if (wb_cancel_is_fired(cancel)) {
            end_card(cards, open, WB_CARD_CANCELLED);
        } else if (!wb_cond_wait(&cards->changed, &cards->lock, open->deadline_ms) &&
                   !open->is_done) {
            end_card(cards, open, WB_CARD_TIMED_OUT);
        }
    }
    pthread_mutex_unlock(&cards->lock);
}

static void take_back(struct wb_cards *cards, struct open_card *open)
{
    const struct wb_card_view view = view_of(open);
    pthread_mutex_lock(&cards->surfaces_lock);
    for (struct wb_card_surface *surface = cards->surfaces; surface != NULL;
         surface = surface->next) {
        if (surface->last_number >= open->number) {
            surface->ended(surface->ctx, &view, &open->answer);
        }
    }
    pthread_mutex_lock(&cards->lock);
    unlink_card(cards, open);
    pthread_mutex_unlock(&cards->lock);
    pthread_mutex_unlock(&cards->surfaces_lock);
}

static void ask(void *ctx, const struct wb_card *card, int64_t deadline_ms,
                struct wb_cancel *cancel, struct wb_arena *arena, struct wb_card_answer *ret)
{
    struct wb_cards *cards = ctx;
    struct open_card open = {.card = card, .deadline_ms = deadline_ms, .arena = arena};
    struct wb_cancel_hook hook = {.fire = wake, .ctx = cards};
    if (!has_surface(cards)) {
        *ret = (struct wb_card_answer){.outcome = WB_CARD_NO_OPERATOR};
        return;
    }
    pthread_mutex_lock(&cards->lock);
    link_card(cards, &open);
    record_card(&open);
    pthread_mutex_unlock(&cards->lock);
    tell_added(cards);
    wb_cancel_hook_add(cancel, &hook);
    wait_for_end(cards, &open, cancel);
    wb_cancel_hook_remove(cancel, &hook);
    take_back(cards, &open);
    *ret = open.answer;
}

/* --- looking --- */

static const char *copy_string(struct wb_arena *arena, const char *string)
{
    return string != NULL ? wb_arena_strdup(arena, string) : NULL;
}

void wb_card_view_copy(struct wb_arena *arena, const struct wb_card_view *from,
                       struct wb_card_view *ret)
{
    const struct wb_card *card = &from->card;
    struct wb_card_option *options =
        wb_arena_alloc_array(arena, card->n_options + 1, sizeof(*options));
    for (size_t i = 0; i < card->n_options; i++) {
        options[i].label = wb_arena_strdup(arena, card->options[i].label);
        options[i].description = copy_string(arena, card->options[i].description);
    }
    *ret = *from;
    ret->id = wb_arena_strdup(arena, from->id);
    ret->card.options = options;
    ret->card.question = wb_arena_strdup(arena, card->question);
    ret->card.context = copy_string(arena, card->context);
    ret->card.origin = copy_string(arena, card->origin);
    ret->card.run_id = copy_string(arena, card->run_id);
}

bool wb_cards_next(struct wb_cards *cards, uint64_t after, struct wb_arena *arena,
                   struct wb_card_view *ret)
{
    bool found = false;
    pthread_mutex_lock(&cards->lock);
    for (struct open_card *open = cards->first; open != NULL && !found; open = open->next) {
        if (open->number > after && !open->is_done) {
            const struct wb_card_view view = view_of(open);
            wb_card_view_copy(arena, &view, ret);
            found = true;
        }
    }
    pthread_mutex_unlock(&cards->lock);
    return found;
}

/* --- answering; each under the lock --- */

static struct open_card *find_open(struct wb_cards *cards, const char *id, struct wb_error *err)
{
    for (struct open_card *open = cards->first; open != NULL; open = open->next) {
        if (wb_str_equal(open->id, id) && !open->is_done) {
            return open;
        }
    }
    wb_error_set(err, WB_ERROR_STALE,
                 "the card is not open any more: it was answered or has ended");
    return NULL;
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

static int answer(struct wb_cards *cards, struct open_card *open, const size_t *choices,
                  size_t n_choices, const char *text, struct wb_error *err)
{
    if (wb_card_check_answer(open->card, choices, n_choices, text, err) != 0) {
        return -1;
    }
    take_choices(open, choices, n_choices);
    if (open->card->allow_free_text && text != NULL && wb_span_trim(wb_span(text)).len > 0) {
        open->answer.text = wb_arena_strdup(open->arena, text);
    }
    end_card(cards, open, WB_CARD_ANSWERED);
    return 0;
}

static int skip(struct wb_cards *cards, struct open_card *open, struct wb_error *err)
{
    if (open->card->kind == WB_CARD_APPROVAL) {
        return answer(cards, open, &open->card->refusal, 1, NULL, err);
    }
    end_card(cards, open, WB_CARD_SKIPPED);
    return 0;
}

int wb_cards_answer(struct wb_cards *cards, const char *id, const size_t *choices, size_t n_choices,
                    const char *text, struct wb_error *err)
{
    pthread_mutex_lock(&cards->lock);
    struct open_card *open = find_open(cards, id, err);
    int status = open != NULL ? answer(cards, open, choices, n_choices, text, err) : -1;
    pthread_mutex_unlock(&cards->lock);
    return status;
}

int wb_cards_skip(struct wb_cards *cards, const char *id, struct wb_error *err)
{
    pthread_mutex_lock(&cards->lock);
    struct open_card *open = find_open(cards, id, err);
    int status = open != NULL ? skip(cards, open, err) : -1;
    pthread_mutex_unlock(&cards->lock);
    return status;
}

void wb_cards_cannot_show(struct wb_cards *cards, const struct wb_card_surface *surface,
                          const char *id)
{
    struct wb_error ignored;
    pthread_mutex_lock(&cards->surfaces_lock);
    bool is_alone = cards->surfaces == surface && surface->next == NULL;
    pthread_mutex_lock(&cards->lock);
    struct open_card *open = is_alone ? find_open(cards, id, &ignored) : NULL;
    if (open != NULL) {
        end_card(cards, open, WB_CARD_NO_OPERATOR);
    }
    pthread_mutex_unlock(&cards->lock);
    pthread_mutex_unlock(&cards->surfaces_lock);
}

/* --- what is typed --- */

/* The option with this label: as it stands, else whatever the case when only one is that. */
static size_t find_label(const struct wb_card *card, struct wb_span typed)
{
    size_t found = SIZE_MAX;
    unsigned n_found = 0;
    for (size_t i = 0; i < card->n_options; i++) {
        const char *label = card->options[i].label;
        if (wb_span_is(typed, label)) {
            return i;
        }
        if (strlen(label) == typed.len && strncasecmp(label, typed.ptr, typed.len) == 0) {
            found = i;
            n_found++;
        }
    }
    return n_found == 1 ? found : SIZE_MAX;
}

/* "1, #3" as indices. False: it is not a list of numbers. */
static bool read_numbers(const struct wb_card *card, struct wb_span typed, size_t *choices,
                         size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < typed.len;) {
        i += typed.ptr[i] == '#';
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

static int answer_typed(struct wb_cards *cards, struct open_card *open, struct wb_span typed,
                        struct wb_error *err)
{
    const struct wb_card *card = open->card;
    size_t *choices = wb_arena_alloc_array(open->arena, card->n_options + 2, sizeof(*choices));
    size_t n_choices = 0, label = find_label(card, typed);
    bool is_numbers = card->n_options > 0 && read_numbers(card, typed, choices, &n_choices);
    if (label != SIZE_MAX && is_numbers && n_choices == 1 && choices[0] != label &&
        choices[0] < card->n_options) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "`%s` is a label and the number of another option: type #%zu for `%s`, "
                            "#%zu for `%s`",
                            card->options[label].label, label + 1, card->options[label].label,
                            choices[0] + 1, card->options[choices[0]].label);
    }
    if (label != SIZE_MAX) {
        return answer(cards, open, &label, 1, NULL, err);
    }
    if (typed.len == 4 && strncasecmp(typed.ptr, "skip", 4) == 0) {
        return skip(cards, open, err);
    }
    if (is_numbers) {
        return answer(cards, open, choices, n_choices, NULL, err);
    }
    return answer(cards, open, NULL, 0, wb_arena_strndup(open->arena, typed.ptr, typed.len), err);
}

int wb_cards_answer_typed(struct wb_cards *cards, const char *id, struct wb_span typed,
                          struct wb_error *err)
{
    pthread_mutex_lock(&cards->lock);
    struct open_card *open = find_open(cards, id, err);
    int status = open != NULL ? answer_typed(cards, open, wb_span_trim(typed), err) : -1;
    pthread_mutex_unlock(&cards->lock);
    return status;
}

/* --- the queue --- */

struct wb_cards *wb_cards_new(void)
{
    struct wb_cards *cards = wb_alloc(sizeof(*cards));
    cards->port = (struct wb_question_port){
        .ask = ask, .ctx = cards, .is_attended = was_attended, .records = true};
    if (getentropy(&cards->salt, sizeof(cards->salt)) != 0) {
        cards->salt = (uint32_t)wb_clock_now_us();
    }
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
