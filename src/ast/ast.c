/* ast: see the header. */
#include "ast/ast.h"

#include <pthread.h>
#include <stdlib.h>

#include "run/run.h"
#include "sys/path.h"

#define NAMES_SHOWN_MAX 60

struct wb_ast {
    struct wb_tree_cache *cache;
    pthread_mutex_t lock; /* what follows is made on first use, and stays */
    struct wb_arena arena;
    const struct wb_languages *languages;
    struct wb_grammars *grammars;
};

static void free_ast(void *resource)
{
    struct wb_ast *ast = resource;
    wb_grammars_free(ast->grammars);
    wb_arena_done(&ast->arena);
    pthread_mutex_destroy(&ast->lock);
    free(ast);
}

void wb_ast_attach(struct wb_run *run)
{
    struct wb_ast *ast = wb_alloc(sizeof(*ast));
    int64_t bound_mb = wb_config_int(wb_run_config(run), "ast.cache_mb", -1);
    ast->cache = wb_tree_cache_of_host(wb_run_host(run));
    if (bound_mb >= 0) {
        wb_tree_cache_set_bound(ast->cache, (size_t)bound_mb * WB_MIB);
    }
    pthread_mutex_init(&ast->lock, NULL);
    wb_arena_init(&ast->arena);
    wb_run_attach(run, WB_RESOURCE_PARSERS, ast, free_ast);
}

bool wb_ast_available(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_PARSERS) != NULL;
}

static int load(struct wb_ast *ast, struct wb_run *run, struct wb_error *err)
{
    if (ast->grammars == NULL) {
        const struct wb_json *root = wb_config_root(wb_run_config(run));
        ast->languages = wb_languages_load(&ast->arena, wb_json_get(root, "languages"), err);
        ast->grammars = ast->languages != NULL ? wb_grammars_load(ast->languages, err) : NULL;
    }
    return ast->grammars != NULL ? 0 : -1;
}

/* --- the language --- */

static void list_names(const struct wb_grammars *grammars, struct wb_text *out)
{
    const struct wb_grammar *grammar;
    size_t cursor = 0;
    while ((grammar = wb_grammars_next(grammars, &cursor)) != NULL) {
        wb_text_printf(out, "%s%s", out->len > 0 ? ", " : "", grammar->language->id);
    }
}

static int refuse_language(const struct wb_ast *ast, const char *name, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text names = {0};
    list_names(ast->grammars, &names);
    const char *what = wb_languages_find(ast->languages, name) != NULL
                           ? "has no grammar for structural search"
                           : "is not known";
    return wb_error_set(err, WB_ERROR_INVALID, "The language `%s` %s; there are: %s", name, what,
                        wb_text_cstr(&names));
}

/* Neither named nor that of a file: what is there to choose from. */
static int ask_for_language(struct wb_call *call, const struct wb_ast *ast, struct wb_span path,
                            struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text found = {0};
    if (wb_scan_survey(call, ast->languages, ast->grammars, path, &found, err) != 0) {
        return -1;
    }
    const char *where = path.ptr != NULL ? path.ptr : "The workspace";
    return found.len > 0
               ? wb_error_set(err, WB_ERROR_INVALID,
                              "Name the `language`: a pattern is code of one language. %s has %s",
                              where, wb_text_cstr(&found))
               : wb_error_set(err, WB_ERROR_NOT_FOUND,
                              "%s has no file in a language that can be searched by structure; use "
                              "grep for text",
                              where);
}

static int language_of_path(struct wb_call *call, const struct wb_ast *ast, struct wb_span path,
                            const struct wb_grammar **ret, struct wb_error *err)
{
    const char *real = path.ptr != NULL ? wb_call_path(call, path, err) : NULL;
    if (path.ptr != NULL && real == NULL) {
        return -1;
    }
    if (real == NULL || wb_file_kind(real, NULL) != WB_FILE_REGULAR) {
        return ask_for_language(call, ast, path, err);
    }
    const struct wb_language *language = wb_scan_language(ast->languages, real);
    if (language == NULL) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The language of %s is not known: name it in `language`", path.ptr);
    }
    *ret = wb_grammars_of(ast->grammars, language);
    return *ret != NULL ? 0 : refuse_language(ast, language->id, err);
}

static int find_grammar(struct wb_call *call, const struct wb_ast *ast, struct wb_span path,
                        struct wb_span language, const struct wb_grammar **ret,
                        struct wb_error *err)
{
    if (language.ptr == NULL) {
        return language_of_path(call, ast, path, ret, err);
    }
    *ret = wb_grammars_find(ast->grammars, language.ptr);
    return *ret != NULL ? 0 : refuse_language(ast, language.ptr, err);
}

int wb_ast_query(struct wb_call *call, struct wb_span pattern, struct wb_span path,
                 struct wb_span language, struct wb_ast_query *ret, struct wb_error *err)
{
    struct wb_ast *ast = wb_run_resource(call->run, WB_RESOURCE_PARSERS);
    pthread_mutex_lock(&ast->lock);
    int status = load(ast, call->run, err);
    pthread_mutex_unlock(&ast->lock);
    if (status != 0 || find_grammar(call, ast, path, language, &ret->grammar, err) != 0) {
        return -1;
    }
    ret->languages = ast->languages;
    ret->cache = ast->cache;
    struct wb_parser *parser = wb_parser_new();
    ret->pattern = wb_pattern_compile(call->arena, parser, ret->grammar, pattern, err);
    wb_parser_free(parser);
    return ret->pattern != NULL ? 0 : -1;
}

void wb_ast_survey(struct wb_run *run, struct wb_text *out, struct wb_json_writer *w)
{
    WB_AUTO(wb_text_done) struct wb_text names = {0};
    struct wb_ast *ast = wb_run_resource(run, WB_RESOURCE_PARSERS);
    struct wb_error err = {.code = WB_ERROR_NONE};
    const struct wb_grammar *grammar;
    size_t cursor = 0, n = 0;
    pthread_mutex_lock(&ast->lock);
    int status = load(ast, run, &err);
    pthread_mutex_unlock(&ast->lock);
    wb_json_begin_object(w);
    wb_json_key(w, "languages");
    wb_json_begin_array(w);
    while (status == 0 && (grammar = wb_grammars_next(ast->grammars, &cursor)) != NULL) {
        wb_json_put_str(w, grammar->language->id);
        n++;
    }
    wb_json_end_array(w);
    wb_json_member_str(w, "reason", status == 0 ? NULL : err.message);
    wb_json_end_object(w);
    if (status != 0) {
        wb_text_printf(out, "Structural search: not usable: %s\n", err.message);
        return;
    }
    list_names(ast->grammars, &names);
    wb_text_printf(out, "Structural search: %zu languages\n  %s\n", n, wb_text_cstr(&names));
}

/* --- words for results --- */

static void tell_count(struct wb_text *out, size_t n, const char *what)
{
    if (n > 0) {
        wb_text_printf(out, ", %zu %s", n, what);
    }
}

void wb_ast_tell_files(const struct wb_scan *scan, struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text skipped = {0};
    wb_text_printf(out, "%zu %s file%s searched", scan->n_searched,
                   scan->pattern->grammar->language->name, scan->n_searched == 1 ? "" : "s");
    tell_count(&skipped, scan->n_binary, "binary");
    tell_count(&skipped, scan->n_large, "too large");
    tell_count(&skipped, scan->n_unreadable, "unreadable");
    tell_count(&skipped, scan->n_slow, "that took too long to parse");
    tell_count(&skipped, scan->n_outside, "symlinks out of the workspace");
    tell_count(&skipped, scan->n_ruled_out, "that a guard rule governs");
    if (skipped.len > 0) {
        wb_text_printf(out, "; skipped: %s", wb_text_cstr(&skipped) + 2);
    }
    if (scan->n_with_errors > 0) {
        wb_text_printf(out, "; %zu with syntax errors, searched where they parse",
                       scan->n_with_errors);
    }
    if (scan->n_given_up > 0) {
        wb_text_printf(out, "; %zu places given up (too many ways to match)", scan->n_given_up);
    }
}
