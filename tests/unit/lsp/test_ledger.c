/* The ledger's rules (contract: diagnostics on write): a set without positions, forgotten with a
 * fresh result that lacks it, kept apart by server and read together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lsp/ledger.h"

#define FILE_A "/w/a.c"

struct finding {
    int64_t line;
    enum wb_severity severity;
    const char *code, *message;
};

static struct wb_diagnostic_list make_list(struct wb_arena *arena, const struct finding *findings,
                                           size_t n)
{
    struct wb_diagnostic_list list = {0};
    for (size_t i = 0; i < n; i++) {
        struct wb_diagnostic *item = wb_diagnostics_add(arena, &list);
        item->path = FILE_A;
        item->line = findings[i].line;
        item->severity = findings[i].severity;
        item->code = findings[i].code;
        item->message = findings[i].message;
    }
    return list;
}

static size_t count_news(struct wb_ledger *ledger, const char *server,
                         const struct finding *findings, size_t n)
{
    struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_diagnostic_list fresh = make_list(&arena, findings, n), news = {0};
    wb_ledger_news(ledger, FILE_A, server, &fresh, WB_SEVERITY_WARNING, &arena, &news);
    size_t count = news.count;
    wb_arena_done(&arena);
    return count;
}

static const struct finding unused = {3, WB_SEVERITY_WARNING, "W1", "unused variable"};
static const struct finding unused_lower = {7, WB_SEVERITY_WARNING, "W1", "unused variable"};
static const struct finding missing = {9, WB_SEVERITY_ERROR, "E1", "missing semicolon"};
static const struct finding missing_as_warning = {9, WB_SEVERITY_WARNING, "E1",
                                                  "missing semicolon"};
static const struct finding hint = {1, WB_SEVERITY_HINT, "H1", "could be shorter"};

static void an_old_finding_is_not_new(void **state)
{
    (void)state;
    struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_ledger *ledger = wb_ledger_new();
    struct wb_diagnostic_list baseline = make_list(&arena, &unused, 1);
    assert_false(wb_ledger_knows(ledger, FILE_A, "clangd"));
    wb_ledger_account(ledger, FILE_A, "clangd", &baseline);
    assert_true(wb_ledger_knows(ledger, FILE_A, "clangd"));
    assert_int_equal(count_news(ledger, "clangd", &unused, 1), 0);
    assert_int_equal(count_news(ledger, "clangd", &unused_lower, 1), 0);
    wb_ledger_free(ledger);
    wb_arena_done(&arena);
}

static void a_finding_is_told_once_and_again_after_it_was_mended(void **state)
{
    (void)state;
    struct wb_ledger *ledger = wb_ledger_new();
    assert_int_equal(count_news(ledger, "clangd", &missing, 1), 1);
    assert_int_equal(count_news(ledger, "clangd", &missing, 1), 0);
    assert_int_equal(count_news(ledger, "clangd", NULL, 0), 0);
    assert_int_equal(count_news(ledger, "clangd", &missing, 1), 1);
    wb_ledger_free(ledger);
}

static void it_is_a_set_and_not_a_count(void **state)
{
    (void)state;
    const struct finding twice[] = {unused, unused_lower};
    struct wb_ledger *ledger = wb_ledger_new();
    assert_int_equal(count_news(ledger, "clangd", twice, 2), 1);
    assert_int_equal(count_news(ledger, "clangd", twice, 1), 0);
    assert_int_equal(count_news(ledger, "clangd", twice, 2), 0);
    wb_ledger_free(ledger);
}

static void severity_code_and_message_are_the_key(void **state)
{
    (void)state;
    struct wb_ledger *ledger = wb_ledger_new();
    assert_int_equal(count_news(ledger, "clangd", &missing, 1), 1);
    assert_int_equal(count_news(ledger, "clangd", &missing_as_warning, 1), 1);
    wb_ledger_free(ledger);
}

static void servers_do_not_make_one_another_forget(void **state)
{
    (void)state;
    struct wb_ledger *ledger = wb_ledger_new();
    assert_int_equal(count_news(ledger, "pyright", &missing, 1), 1);
    assert_int_equal(count_news(ledger, "ruff", NULL, 0), 0);
    assert_int_equal(count_news(ledger, "pyright", &missing, 1), 0);
    assert_int_equal(count_news(ledger, "ruff", &missing, 1), 0); /* the other has told it */
    wb_ledger_free(ledger);
}

static void what_is_only_a_hint_is_not_told(void **state)
{
    (void)state;
    struct wb_ledger *ledger = wb_ledger_new();
    assert_int_equal(count_news(ledger, "clangd", &hint, 1), 0);
    wb_ledger_free(ledger);
}

static void a_file_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    struct wb_ledger *ledger = wb_ledger_new();
    assert_int_equal(count_news(ledger, "clangd", &missing, 1), 1);
    wb_ledger_forget(ledger, FILE_A);
    assert_false(wb_ledger_knows(ledger, FILE_A, "clangd"));
    assert_int_equal(count_news(ledger, "clangd", &missing, 1), 1);
    wb_ledger_free(ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_finding_is_not_new),
        cmocka_unit_test(a_finding_is_told_once_and_again_after_it_was_mended),
        cmocka_unit_test(it_is_a_set_and_not_a_count),
        cmocka_unit_test(severity_code_and_message_are_the_key),
        cmocka_unit_test(servers_do_not_make_one_another_forget),
        cmocka_unit_test(what_is_only_a_hint_is_not_told),
        cmocka_unit_test(a_file_that_is_gone_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
