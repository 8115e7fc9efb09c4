/* Tests of app/options: what each option sets, and the sentence for what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/options.h"

#define WORDS_MAX 24
#define EVERYTHING (WB_OPTION_WORKSPACE | WB_OPTION_RUN | WB_OPTION_JSON | WB_OPTION_REMOVE)

struct parsed {
    struct wb_arena arena;
    char *argv[WORDS_MAX + 1];
    struct wb_options options;
    char **operands;
    int n_operands;
    struct wb_error err;
};

/* Splits the line at spaces and parses it. */
static int parse(struct parsed *p, unsigned accepted, const char *line)
{
    int argc = 0;
    memset(p, 0, sizeof(*p));
    wb_arena_init(&p->arena);
    while (*line != '\0') {
        size_t len = strcspn(line, " ");
        assert_true(argc < WORDS_MAX);
        p->argv[argc++] = wb_arena_strndup(&p->arena, line, len);
        line += len + (line[len] == ' ');
    }
    return wb_options_parse(&p->arena, argc, p->argv, accepted, &p->options, &p->operands,
                            &p->n_operands, &p->err);
}

static void every_option_is_taken(void **state)
{
    struct parsed p;
    (void)state;
    assert_int_equal(parse(&p, EVERYTHING,
                           "call --workspace w --cap read --allow=write tool --tools a,b,,c "
                           "--trust --config f --conversation c --json --remove {} --help"),
                     0);
    assert_string_equal(p.options.workspace, "w");
    assert_int_equal(p.options.cap, WB_TIER_READ);
    assert_int_equal(p.options.allow, WB_TIER_WRITE);
    assert_string_equal(p.options.tools[0], "a");
    assert_string_equal(p.options.tools[1], "b");
    assert_string_equal(p.options.tools[2], "c");
    assert_null(p.options.tools[3]);
    assert_string_equal(p.options.config_file, "f");
    assert_string_equal(p.options.conversation_id, "c");
    assert_true(p.options.trust && p.options.json && p.options.remove && p.options.help);
    assert_int_equal(p.n_operands, 2);
    assert_string_equal(p.operands[0], "tool");
    assert_string_equal(p.operands[1], "{}");
    wb_arena_done(&p.arena);
}

static void without_options_there_are_defaults(void **state)
{
    struct parsed p;
    (void)state;
    assert_int_equal(parse(&p, EVERYTHING, "call -"), 0);
    assert_string_equal(p.options.workspace, ".");
    assert_int_equal(p.options.cap, 0);
    assert_int_equal(p.options.allow, 0);
    assert_null(p.options.tools);
    assert_int_equal(p.n_operands, 1);
    assert_string_equal(p.operands[0], "-");
    wb_arena_done(&p.arena);
}

static void mistakes_have_their_sentence(void **state)
{
    static const struct {
        unsigned accepted;
        const char *line, *message;
    } rows[] = {
        {EVERYTHING, "call --cap admin", "--cap takes read, write or exec, not `admin`"},
        {EVERYTHING, "call --allow", "--allow needs a value"},
        {EVERYTHING, "call --nonsense", "there is no option --nonsense here"},
        {EVERYTHING, "call --tools ,", "--tools takes names with commas between them: read,grep"},
        {WB_OPTION_WORKSPACE, "trust --json", "there is no option --json here"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct parsed p;
        assert_int_equal(parse(&p, rows[i].accepted, rows[i].line), -1);
        assert_string_equal(p.err.message, rows[i].message);
        wb_arena_done(&p.arena);
    }
}

static void help_lists_what_is_accepted(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    (void)state;
    wb_options_help(&out, WB_OPTION_WORKSPACE);
    assert_non_null(strstr(wb_text_cstr(&out), "--workspace DIR"));
    assert_non_null(strstr(wb_text_cstr(&out), "--help"));
    assert_null(strstr(wb_text_cstr(&out), "--cap"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_taken),
        cmocka_unit_test(without_options_there_are_defaults),
        cmocka_unit_test(mistakes_have_their_sentence),
        cmocka_unit_test(help_lists_what_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
