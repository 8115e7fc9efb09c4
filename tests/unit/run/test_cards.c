/* The queue of cards: who answers what, and what becomes of a card that nobody answers. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "base/clock.h"
#include "run/cards.h"

static const struct wb_card_option options[] = {{"Red", "like fire"},
                                                {"Green", NULL},
                                                {"Blue", NULL}};

struct asker {
    struct wb_cards *cards;
    struct wb_card card;
    int64_t deadline_ms;
    struct wb_cancel cancel;
    struct wb_arena arena;
    struct wb_card_answer answer;
    pthread_t thread;
};

static void *ask(void *ctx)
{
    struct asker *asker = ctx;
    const struct wb_question_port *port = wb_cards_port(asker->cards);
    port->ask(port->ctx, &asker->card, asker->deadline_ms, &asker->cancel, &asker->arena,
              &asker->answer);
    return NULL;
}

static void start(struct asker *asker, struct wb_cards *cards, bool multi, bool text)
{
    *asker = (struct asker){.cards = cards, .deadline_ms = wb_clock_deadline(60000)};
    asker->card = (struct wb_card){.question = "Which?",
                                   .options = options,
                                   .n_options = WB_COUNT(options),
                                   .multi_select = multi,
                                   .allow_free_text = text};
    wb_cancel_init(&asker->cancel);
    wb_arena_init(&asker->arena);
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static void finish(struct asker *asker)
{
    pthread_join(asker->thread, NULL);
}

static void drop(struct asker *asker)
{
    wb_cancel_done(&asker->cancel);
    wb_arena_done(&asker->arena);
}

struct surface {
    struct wb_card_surface surface;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_changes, n_added, n_ended;
    enum wb_card_outcome outcome; /* of the last that ended */
};

static void note(struct surface *surface, unsigned *count)
{
    pthread_mutex_lock(&surface->lock);
    surface->n_changes++;
    ++*count;
    pthread_cond_signal(&surface->changed);
    pthread_mutex_unlock(&surface->lock);
}

static void note_added(void *ctx, const struct wb_card_view *card)
{
    struct surface *surface = ctx;
    assert_int_equal(card->number, surface->n_added + 1);
    note(surface, &surface->n_added);
}

static void note_ended(void *ctx, const struct wb_card_view *card,
                       const struct wb_card_answer *answer)
{
    struct surface *surface = ctx;
    assert_true(card->number <= surface->n_added);
    surface->outcome = answer->outcome;
    note(surface, &surface->n_ended);
}

static void attach(struct surface *surface, struct wb_cards *cards)
{
    *surface =
        (struct surface){.surface = {.added = note_added, .ended = note_ended, .ctx = surface},
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER};
    wb_cards_attach(cards, &surface->surface);
}

/* Waits until a card with a number above `after` is there. */
static struct wb_card_view wait_for_card(struct surface *surface, struct wb_cards *cards,
                                         uint64_t after, struct wb_arena *arena)
{
    struct wb_card_view view;
    for (;;) {
        pthread_mutex_lock(&surface->lock);
        unsigned seen = surface->n_changes;
        pthread_mutex_unlock(&surface->lock);
        if (wb_cards_next(cards, after, arena, &view)) {
            return view;
        }
        pthread_mutex_lock(&surface->lock);
        while (surface->n_changes == seen) {
            pthread_cond_wait(&surface->changed, &surface->lock);
        }
        pthread_mutex_unlock(&surface->lock);
    }
}

static void test_nobody(void **state)
{
    struct wb_cards *cards = wb_cards_new();
    struct asker asker;
    (void)state;
    start(&asker, cards, false, false);
    finish(&asker);
    assert_int_equal(asker.answer.outcome, WB_CARD_NO_OPERATOR);
    drop(&asker);
    wb_cards_free(cards);
}

static const struct typed {
    const char *text;
    bool multi, free_text;
    enum wb_card_outcome outcome; /* of a text that is taken */
    bool is_taken;
    size_t n_choices, choices[3];
    const char *answer;
} typed[] = {
    {"2", false, false, WB_CARD_ANSWERED, true, 1, {1}, NULL},
    {" 1 ", false, false, WB_CARD_ANSWERED, true, 1, {0}, NULL},
    {"green", false, false, WB_CARD_ANSWERED, true, 1, {1}, NULL},
    {"3,1", true, false, WB_CARD_ANSWERED, true, 2, {0, 2}, NULL},
    {"1 1 2", true, false, WB_CARD_ANSWERED, true, 2, {0, 1}, NULL},
    {"skip", false, false, WB_CARD_SKIPPED, true, 0, {0}, NULL},
    {"SKIP", false, true, WB_CARD_SKIPPED, true, 0, {0}, NULL},
    {"something else", false, true, WB_CARD_ANSWERED, true, 0, {0}, "something else"},
    {"", false, true, WB_CARD_ANSWERED, false, 0, {0}, NULL},
    {"   ", false, true, WB_CARD_ANSWERED, false, 0, {0}, NULL},
    {"0", false, false, WB_CARD_ANSWERED, false, 0, {0}, NULL},
    {"4", false, false, WB_CARD_ANSWERED, false, 0, {0}, NULL},
    {"1 2", false, false, WB_CARD_ANSWERED, false, 0, {0}, NULL},
    {"purple", false, false, WB_CARD_ANSWERED, false, 0, {0}, NULL},
    {"99999999999999999999", false, false, WB_CARD_ANSWERED, false, 0, {0}, NULL},
};

static void check_typed(const struct typed *t)
{
    struct wb_cards *cards = wb_cards_new();
    struct surface surface;
    struct asker asker;
    struct wb_error err;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    attach(&surface, cards);
    start(&asker, cards, t->multi, t->free_text);
    struct wb_card_view view = wait_for_card(&surface, cards, 0, &arena);
    int status = wb_cards_answer_typed(cards, view.id, wb_span(t->text), &err);
    if ((status == 0) != t->is_taken) {
        fail_msg("`%s` was %staken: %s", t->text, status == 0 ? "" : "not ",
                 status == 0 ? "" : err.message);
    }
    if (status != 0) {
        wb_cancel_fire(&asker.cancel);
    }
    finish(&asker);
    assert_int_equal(asker.answer.outcome, t->is_taken ? t->outcome : WB_CARD_CANCELLED);
    if (t->is_taken) {
        assert_int_equal(asker.answer.n_choices, t->n_choices);
        for (size_t i = 0; i < t->n_choices; i++) {
            assert_int_equal(asker.answer.choices[i], t->choices[i]);
        }
        assert_true((asker.answer.text != NULL) == (t->answer != NULL));
    }
    wb_cards_detach(cards, &surface.surface);
    drop(&asker);
    wb_cards_free(cards);
}

static void test_typed(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(typed); i++) {
        check_typed(&typed[i]);
    }
}

/* The card outlives a surface that goes and comes back; the first answer wins. */
static void test_two_cards_and_two_surfaces(void **state)
{
    struct wb_cards *cards = wb_cards_new();
    struct surface first, second;
    struct asker one, two;
    struct wb_error err;
    size_t choice = 1;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    attach(&first, cards);
    start(&one, cards, false, false);
    struct wb_card_view view = wait_for_card(&first, cards, 0, &arena);
    assert_int_equal(view.number, 1);
    assert_string_equal(view.card.options[0].description, "like fire");
    wb_cards_detach(cards, &first.surface);
    attach(&second, cards);
    start(&two, cards, false, false);
    assert_int_equal(wait_for_card(&second, cards, 1, &arena).number, 2);
    assert_int_equal(wait_for_card(&second, cards, 0, &arena).number, 1);
    const char *id = wait_for_card(&second, cards, 0, &arena).id;
    const char *id_2 = wait_for_card(&second, cards, 1, &arena).id;
    assert_string_not_equal(id, id_2);
    assert_int_equal(wb_cards_answer(cards, id_2, &choice, 1, NULL, &err), 0);
    finish(&two);
    assert_int_equal(wb_cards_answer(cards, id, &choice, 1, NULL, &err), 0);
    assert_int_equal(wb_cards_answer(cards, id, &choice, 1, NULL, &err), -1);
    assert_non_null(strstr(err.message, "not open"));
    finish(&one);
    assert_int_equal(second.n_added, 2);
    assert_int_equal(second.n_ended, 2);
    assert_int_equal(first.n_added, 1);
    assert_int_equal(first.n_ended, 0);
    assert_int_equal(one.answer.choices[0], 1);
    wb_cards_detach(cards, &second.surface);
    drop(&one);
    drop(&two);
    wb_cards_free(cards);
}

static void test_deadline(void **state)
{
    struct wb_cards *cards = wb_cards_new();
    struct surface surface;
    struct asker asker;
    (void)state;
    attach(&surface, cards);
    asker = (struct asker){.cards = cards, .deadline_ms = wb_clock_deadline(1)};
    asker.card = (struct wb_card){.question = "Which?", .allow_free_text = true};
    wb_cancel_init(&asker.cancel);
    wb_arena_init(&asker.arena);
    ask(&asker);
    assert_int_equal(asker.answer.outcome, WB_CARD_TIMED_OUT);
    wb_cards_detach(cards, &surface.surface);
    drop(&asker);
    wb_cards_free(cards);
}

/* Ends a card in one of the ways that are no answer. */
static void test_surface_hears_of_the_end(void **state)
{
    struct wb_cards *cards = wb_cards_new();
    struct surface surface;
    struct asker asker;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    attach(&surface, cards);
    start(&asker, cards, false, true);
    wait_for_card(&surface, cards, 0, &arena);
    wb_cancel_fire(&asker.cancel);
    finish(&asker);
    assert_int_equal(asker.answer.outcome, WB_CARD_CANCELLED);
    assert_int_equal(surface.n_ended, 1);
    assert_int_equal(surface.outcome, WB_CARD_CANCELLED);
    drop(&asker);
    wb_cards_detach(cards, &surface.surface);
    wb_cards_free(cards);
}

/* One of two surfaces cannot show it: the other one still may. */
static void test_cannot_show(void **state)
{
    struct wb_cards *cards = wb_cards_new();
    struct surface first, second;
    struct asker asker;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    attach(&first, cards);
    attach(&second, cards);
    start(&asker, cards, false, true);
    struct wb_card_view view = wait_for_card(&first, cards, 0, &arena);
    wb_cards_cannot_show(cards, &first.surface, view.id);
    assert_true(wb_cards_next(cards, 0, &arena, &view));
    wb_cards_detach(cards, &first.surface);
    wb_cards_cannot_show(cards, &second.surface, view.id);
    finish(&asker);
    assert_int_equal(asker.answer.outcome, WB_CARD_NO_OPERATOR);
    drop(&asker);
    wb_cards_detach(cards, &second.surface);
    wb_cards_free(cards);
}

/* "No" to an approval is its refusal, not a question that was passed over. */
static void test_skipping_an_approval_refuses(void **state)
{
    struct wb_cards *cards = wb_cards_new();
    struct surface surface;
    struct asker asker;
    struct wb_error err;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)state;
    wb_arena_init(&arena);
    attach(&surface, cards);
    asker = (struct asker){.cards = cards, .deadline_ms = WB_NEVER};
    asker.card = (struct wb_card){.kind = WB_CARD_APPROVAL,
                                  .question = "Allow?",
                                  .options = options,
                                  .n_options = 2,
                                  .refusal = 1};
    wb_cancel_init(&asker.cancel);
    wb_arena_init(&asker.arena);
    assert_int_equal(pthread_create(&asker.thread, NULL, ask, &asker), 0);
    struct wb_card_view view = wait_for_card(&surface, cards, 0, &arena);
    assert_int_equal(wb_cards_skip(cards, view.id, &err), 0);
    finish(&asker);
    assert_int_equal(asker.answer.outcome, WB_CARD_ANSWERED);
    assert_int_equal(asker.answer.n_choices, 1);
    assert_int_equal(asker.answer.choices[0], 1);
    drop(&asker);
    wb_cards_detach(cards, &surface.surface);
    wb_cards_free(cards);
}

/* A label that is the number of another option is not guessed at. */
static void test_labels_that_are_numbers(void **state)
{
    static const struct wb_card_option numbers[] = {{"2", NULL}, {"4", NULL}, {"3", NULL}};

    static const struct {
        const char *text;
        int choice; /* -1: not taken */
    } rows[] = {{"2", -1}, {"#2", 1}, {"#1", 0}, {"3", 2}, {"4", 1}, {"1", 0}};

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_cards *cards = wb_cards_new();
        struct surface surface;
        struct asker asker;
        struct wb_error err;
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        wb_arena_init(&arena);
        attach(&surface, cards);
        asker = (struct asker){.cards = cards, .deadline_ms = WB_NEVER};
        asker.card = (struct wb_card){.question = "How many?", .options = numbers, .n_options = 3};
        wb_cancel_init(&asker.cancel);
        wb_arena_init(&asker.arena);
        assert_int_equal(pthread_create(&asker.thread, NULL, ask, &asker), 0);
        struct wb_card_view view = wait_for_card(&surface, cards, 0, &arena);
        int status = wb_cards_answer_typed(cards, view.id, wb_span(rows[i].text), &err);
        assert_int_equal(status == 0, rows[i].choice >= 0);
        if (status != 0) {
            wb_cancel_fire(&asker.cancel);
        }
        finish(&asker);
        if (status == 0) {
            assert_int_equal(asker.answer.choices[0], rows[i].choice);
        }
        drop(&asker);
        wb_cards_detach(cards, &surface.surface);
        wb_cards_free(cards);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_typed),
        cmocka_unit_test(test_two_cards_and_two_surfaces),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_surface_hears_of_the_end),
        cmocka_unit_test(test_cannot_show),
        cmocka_unit_test(test_skipping_an_approval_refuses),
        cmocka_unit_test(test_labels_that_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
