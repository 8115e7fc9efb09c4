/* tour: the main job on the checkout that it is started in, without a model: real calls on real
 * servers, printed as they come back. Questions go to the checkout itself; whatever writes works on
 * a copy in a temporary folder, which is removed.
 *
 * It is made for Werkbank's own checkout: the places below name files of it. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/assemble.h"
#include "app/command.h"
#include "app/doctor.h"
#include "base/limits.h"
#include "run/run.h"
#include "sys/file.h"
#include "sys/path.h"
#include "sys/walk.h"

/* One call. %d in the arguments becomes the number of the line of `file` that holds `anchor`. */
struct step {
    const char *tool, *arguments, *file, *anchor;
    bool breaks; /* the result must carry a new diagnostic */
};

struct stage {
    const char *title;
    const char *copied; /* folder that is copied, and keeps its place; NULL: the checkout itself */
    const char *stripped; /* what is left off the front of that place */
    const char *flags;    /* compile_flags.txt of the copy; NULL: none */
    const struct step *steps;
    size_t n_steps;
};

static const struct step c_questions[] = {
    {"lsp", "{\"action\":\"symbols\",\"file\":\"src/base/map.h\"}", NULL, NULL, false},
    {"lsp",
     "{\"action\":\"definition\",\"file\":\"src/base/map.c\",\"line\":%d,\"symbol\":\"wb_hash\"}",
     "src/base/map.c", "return wb_hash(", false},
    {"lsp",
     "{\"action\":\"references\",\"file\":\"src/base/map.c\",\"line\":%d,\"symbol\":\"find_entry\"}",
     "src/base/map.c", "*find_entry(", false},
    {"lsp",
     "{\"action\":\"hover\",\"file\":\"src/base/map.c\",\"line\":%d,\"symbol\":\"find_slot\"}",
     "src/base/map.c", "find_slot(map, key, hash_key(key))", false},
    {"lsp", "{\"action\":\"diagnostics\",\"file\":\"src/base/map.c\"}", NULL, NULL, false},
    {"ast_grep", "{\"pattern\":\"free($MAP->$FIELD)\",\"language\":\"c\",\"path\":\"src/base\"}",
     NULL, NULL, false},
};

static const struct step c_changes[] = {
    {"edit",
     "{\"path\":\"src/base/map.c\",\"old_text\":\"    map->count--;\",\"new_text\":\"    map->count--\"}",
     NULL, NULL, true},
    {"edit",
     "{\"path\":\"src/base/map.c\",\"old_text\":\"    map->count--\",\"new_text\":\"    map->count--;\"}",
     NULL, NULL, false},
    {"lsp_rename",
     "{\"file\":\"src/base/map.c\",\"line\":%d,\"symbol\":\"find_entry\",\"new_name\":\"entry_of\"}",
     "src/base/map.c", "*find_entry(", false},
};

static const struct step python_steps[] = {
    {"lsp", "{\"action\":\"symbols\",\"file\":\"shop/price.py\"}", NULL, NULL, false},
    {"lsp",
     "{\"action\":\"definition\",\"file\":\"shop/order.py\",\"line\":%d,\"symbol\":\"with_tax\"}",
     "shop/order.py", "subtotal.with_tax", false},
    {"lsp",
     "{\"action\":\"references\",\"file\":\"shop/price.py\",\"line\":%d,\"symbol\":\"cents\"}",
     "shop/price.py", "cents: int", false},
    {"lsp", "{\"action\":\"hover\",\"file\":\"shop/order.py\",\"line\":%d,\"symbol\":\"total\"}",
     "shop/order.py", "to pay", false},
    {"edit",
     "{\"path\":\"shop/order.py\",\"old_text\":\"with_tax(tax_percent)\",\"new_text\":\"with_vat(tax_percent)\"}",
     NULL, NULL, true},
    {"edit",
     "{\"path\":\"shop/order.py\",\"old_text\":\"with_vat(tax_percent)\",\"new_text\":\"with_tax(tax_percent)\"}",
     NULL, NULL, false},
    {"lsp_rename",
     "{\"file\":\"shop/price.py\",\"line\":%d,\"symbol\":\"with_tax\",\"new_name\":\"taxed\"}",
     "shop/price.py", "def with_tax", false},
    {"ast_edit",
     "{\"pattern\":\"Price($CENTS)\",\"rewrite\":\"Price(cents=$CENTS)\",\"language\":\"python\"}",
     NULL, NULL, false},
    {"resolve", "{\"edit_id\":\"edit_1\",\"action\":\"accept\"}", NULL, NULL, false},
    {"eval",
     "{\"code\":\"from shop.price import Price\\nPrice(500).taxed(19)\",\"description\":\"use the "
     "renamed method in a cell\"}",
     NULL, NULL, false},
    {"debug", "{\"operation\":\"breakpoints\",\"file\":\"shop/price.py\",\"lines\":[%d]}",
     "shop/price.py", "return Price(", false},
    {"debug", "{\"operation\":\"launch\",\"program\":\"shop\",\"mode\":\"module\"}", NULL, NULL,
     false},
    {"debug", "{\"operation\":\"evaluate\",\"expression\":\"self.cents * percent\"}", NULL, NULL,
     false},
    {"debug", "{\"operation\":\"continue\"}", NULL, NULL, false},
};

static const struct step typescript_steps[] = {
    {"lsp", "{\"action\":\"symbols\",\"file\":\"src/order.ts\"}", NULL, NULL, false},
    {"lsp",
     "{\"action\":\"definition\",\"file\":\"src/order.ts\",\"line\":%d,\"symbol\":\"withTax\"}",
     "src/order.ts", ".withTax(", false},
    {"lsp",
     "{\"action\":\"references\",\"file\":\"src/price.ts\",\"line\":%d,\"symbol\":\"cents\"}",
     "src/price.ts", "constructor(", false},
    {"lsp", "{\"action\":\"hover\",\"file\":\"src/order.ts\",\"line\":%d,\"symbol\":\"total\"}",
     "src/order.ts", "to pay", false},
    {"edit",
     "{\"path\":\"src/order.ts\",\"old_text\":\"withTax(taxPercent)\",\"new_text\":\"withTax(prices)\"}",
     NULL, NULL, true},
    {"edit",
     "{\"path\":\"src/order.ts\",\"old_text\":\"withTax(prices)\",\"new_text\":\"withTax(taxPercent)\"}",
     NULL, NULL, false},
    {"lsp_rename",
     "{\"file\":\"src/price.ts\",\"line\":%d,\"symbol\":\"withTax\",\"new_name\":\"taxed\"}",
     "src/price.ts", "withTax(", false},
};

static const struct stage stages[] = {
    {"C, this checkout's own source, with clangd: questions", NULL, NULL, NULL, c_questions,
     WB_COUNT(c_questions)},
    {"C, a copy of src/base: changes", "src/base", "", "-Isrc\n-D_GNU_SOURCE\n", c_changes,
     WB_COUNT(c_changes)},
    {"Python, a copy of examples/python, with pyright and debugpy", "examples/python",
     "examples/python/", NULL, python_steps, WB_COUNT(python_steps)},
    {"TypeScript, a copy of examples/typescript, with typescript-language-server",
     "examples/typescript", "examples/typescript/", NULL, typescript_steps,
     WB_COUNT(typescript_steps)},
};

/* Copies. */

struct copy {
    struct wb_arena *arena;
    const char *from, *to;
    const char *stripped;
    struct wb_error *err;
    bool failed;
};

static int copy_file(struct wb_arena *arena, const char *from, const char *to, struct wb_error *err)
{
    struct wb_span content;
    if (wb_file_read(arena, from, WB_FILE_BYTES_MAX, &content, NULL, err) < 0 ||
        wb_path_make_folders(wb_path_dir(arena, to), 0755, err) < 0) {
        return -1;
    }
    return wb_file_write_private(to, content, err);
}

static bool copy_entry(void *ctx, const struct wb_walk_entry *entry)
{
    struct copy *copy = ctx;
    const char *place = wb_path_relative(entry->path, copy->from);
    if (wb_str_starts(place, copy->stripped)) {
        place += strlen(copy->stripped);
    }
    copy->failed = copy_file(copy->arena, entry->path, wb_path_join(copy->arena, copy->to, place),
                             copy->err) < 0;
    return !copy->failed;
}

static int copy_folder(struct wb_arena *arena, const char *checkout, const struct stage *stage,
                       const char *to, struct wb_error *err)
{
    struct copy copy = {arena, checkout, to, stage->stripped, err, false};
    struct wb_walk_options options = {0};
    const char *folder = wb_path_join(arena, checkout, stage->copied);
    if (wb_walk(checkout, folder, &options, copy_entry, &copy, NULL, err) < 0 || copy.failed) {
        return -1;
    }
    if (stage->flags == NULL) {
        return 0;
    }
    return wb_file_write_private(wb_path_join(arena, to, "compile_flags.txt"),
                                 wb_span(stage->flags), err);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_copy(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Steps. */

static int find_line(struct wb_arena *arena, const char *workspace, const struct step *step,
                     int *ret, struct wb_error *err)
{
    struct wb_span rest, line;
    *ret = 0;
    if (step->file == NULL) {
        return 0;
    }
    if (wb_file_read(arena, wb_path_join(arena, workspace, step->file), WB_FILE_BYTES_MAX, &rest,
                     NULL, err) < 0) {
        return -1;
    }
    while (wb_span_next_line(&rest, &line)) {
        (*ret)++;
        if (wb_span_find(line, wb_span(step->anchor), 0) != SIZE_MAX) {
            return 0;
        }
    }
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "%s has no line with `%s`", step->file,
                        step->anchor);
}

static const char *fill_line(struct wb_arena *arena, const char *arguments, int line)
{
    const char *mark = strstr(arguments, "%d");
    return mark == NULL ? arguments
                        : wb_arena_printf(arena, "%.*s%d%s", (int)(mark - arguments), arguments,
                                          line, mark + 2);
}

static bool has_new_diagnostic(struct wb_arena *arena, const struct wb_result *result)
{
    const struct wb_json *data = wb_json_parse(arena, wb_text_span(&result->data), NULL);
    return wb_str_equal(wb_json_str_or(wb_json_path(data, "diagnostics.state"), ""), "findings");
}

static bool run_step(struct wb_arena *arena, struct wb_run *run, const struct step *step)
{
    struct wb_error err;
    int line;
    if (find_line(arena, wb_run_workspace(run), step, &line, &err) < 0) {
        printf("%s\n", err.message);
        return false;
    }
    const char *arguments = fill_line(arena, step->arguments, line);
    const struct wb_call_options options = {.origin = "operator"};
    struct wb_result result;
    printf("\n> %s %s\n", step->tool, arguments);
    fflush(stdout);
    wb_run_call(run, step->tool, wb_span(arguments), &options, &result);
    printf("%s%s", wb_text_cstr(&result.text),
           wb_span_ends(wb_text_span(&result.text), WB_SPAN("\n")) ? "" : "\n");
    bool good = !result.is_error && (!step->breaks || has_new_diagnostic(arena, &result));
    if (!good) {
        printf("(this step failed%s)\n",
               result.is_error ? "" : ": the result should carry a new diagnostic");
    }
    wb_result_done(&result);
    return good;
}

static int run_steps(struct wb_arena *arena, struct wb_host *host, const char *workspace,
                     const struct stage *stage, size_t *failed, struct wb_error *err)
{
    const struct wb_run_options options = {
        .workspace = workspace,
        .allow = stage->copied != NULL ? WB_TIER_EXEC : WB_TIER_READ,
    };
    struct wb_run *run = wb_run_open(host, &options, err);
    if (run == NULL) {
        return -1;
    }
    wb_assemble_attach(run);
    for (size_t i = 0; i < stage->n_steps; i++) {
        *failed += !run_step(arena, run, &stage->steps[i]);
    }
    wb_run_close(run);
    return 0;
}

static int run_stage(struct wb_host *host, const char *checkout, const struct stage *stage,
                     size_t *failed, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    printf("\n== %s\n", stage->title);
    if (stage->copied == NULL) {
        return run_steps(&arena, host, checkout, stage, failed, err);
    }
    char folder[] = "/tmp/werkbank-tour-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        return wb_error_set(err, WB_ERROR_IO, "no temporary folder in /tmp");
    }
    int status = copy_folder(&arena, checkout, stage, folder, err);
    if (status == 0) {
        status = run_steps(&arena, host, folder, stage, failed, err);
    }
    remove_copy(folder);
    return status;
}

static int show_doctor(struct wb_host *host, const char *checkout, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    const struct wb_run_options options = {.workspace = checkout};
    struct wb_run *run = wb_run_open(host, &options, err);
    if (run == NULL) {
        return -1;
    }
    wb_assemble_attach(run);
    int status = wb_doctor_examine(run, false, &out, err);
    wb_run_close(run);
    printf("== doctor\n%s", wb_text_cstr(&out));
    return status;
}

static int tour(struct wb_host *host, const char *checkout, size_t *failed, struct wb_error *err)
{
    if (show_doctor(host, checkout, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < WB_COUNT(stages); i++) {
        if (run_stage(host, checkout, &stages[i], failed, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void say_what_next(size_t failed)
{
    if (failed > 0) {
        printf("\n%zu step%s failed.\n", failed, failed == 1 ? "" : "s");
        return;
    }
    puts("\nAll steps came back as they should. To give your own agent these tools, let it start\n"
         "    werkbank serve --workspace DIR\n"
         "and speak MCP over its standard input and output; `werkbank call TOOL JSON` makes one "
         "call\nfrom a shell, `werkbank help` lists the rest.");
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_error err;
    size_t failed = 0;
    (void)operands;
    (void)n_operands;
    char *checkout = realpath(options->workspace, NULL);
    if (checkout == NULL ||
        wb_file_kind(wb_path_join(&arena, checkout, "src/base/map.c"), NULL) != WB_FILE_REGULAR) {
        free(checkout);
        return wb_command_refuse("%s is not Werkbank's own checkout, which the tour goes through; "
                                 "elsewhere, `werkbank doctor` says what is usable",
                                 options->workspace);
    }
    struct wb_host *host = wb_assemble_host(NULL);
    int status = tour(host, checkout, &failed, &err);
    wb_host_free(host);
    free(checkout);
    if (status < 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    say_what_next(failed);
    return failed > 0 ? WB_EXIT_ERROR : WB_EXIT_DONE;
}

const struct wb_command wb_command_tour = {
    .name = "tour",
    .operands = "",
    .options = WB_OPTION_WORKSPACE,
    .summary = "show the main job on Werkbank's own checkout, with real servers",
    .details = "Questions about the checkout's C source, then changes on copies of it and of two "
               "small projects.\nPrints what comes back; fails if a step does.\n",
    .run = run,
};
