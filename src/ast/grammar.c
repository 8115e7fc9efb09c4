/* grammar: see the header. */
#include "ast/grammar.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "run/table.h"

/* The built-in parsers: third_party/npm/grammars/sources has the same names. */
/* clang-format off */
#define PARSERS(X) \
    X(bash) X(c) X(c_sharp) X(cpp) X(css) X(dart) X(elixir) X(go) X(haskell) X(hcl) X(html) \
    X(java) X(javascript) X(json) X(julia) X(kotlin) X(lua) X(make) X(markdown) X(ocaml) \
    X(ocaml_interface) X(php) X(powershell) X(python) X(r) X(ruby) X(rust) X(scala) X(scss) \
    X(sql) X(swift) X(toml) X(tsx) X(typescript) X(xml) X(yaml) X(zig)
/* clang-format on */

#define DECLARE(name) extern const TSLanguage *tree_sitter_##name(void);
#define ROW(name) {#name, tree_sitter_##name},

PARSERS(DECLARE)

typedef const TSLanguage *(*parser_fn)(void);

static const struct {
    const char *name;
    parser_fn parser;
} parsers[] = {PARSERS(ROW)};

struct wb_grammars {
    struct wb_arena arena;
    struct wb_grammar *items;
    size_t count, capacity;
    void **libraries;
    size_t n_libraries, libraries_capacity;
};

/* --- parsers --- */

static parser_fn find_built_in(const char *name)
{
    for (size_t i = 0; i < WB_COUNT(parsers); i++) {
        if (wb_str_equal(parsers[i].name, name)) {
            return parsers[i].parser;
        }
    }
    return NULL;
}

static parser_fn load_library(struct wb_grammars *grammars, const char *path, const char *name,
                              struct wb_error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        wb_error_set(err, WB_ERROR_UNAVAILABLE, "The grammar's library cannot be loaded: %s",
                     dlerror());
        return NULL;
    }
    *WB_ARENA_PUSH(&grammars->arena, grammars->libraries, grammars->n_libraries,
                   grammars->libraries_capacity) = library;
    parser_fn parser = NULL;
    const char *symbol = wb_arena_printf(&grammars->arena, "tree_sitter_%s", name);
    void *address = dlsym(library, symbol);
    memcpy(&parser, &address, sizeof(parser));
    if (parser == NULL) {
        wb_error_set(err, WB_ERROR_UNAVAILABLE, "The library %s has no function %s", path, symbol);
    }
    return parser;
}

static int find_parser(struct wb_grammars *grammars, const struct wb_json *row, const char *id,
                       const TSLanguage **ret, struct wb_error *err)
{
    const char *name = wb_json_str(wb_json_get(row, "parser"));
    const char *path = wb_json_str(wb_json_get(row, "library"));
    if (name == NULL) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The grammar of the language `%s` names no parser", id);
    }
    parser_fn parser = path != NULL ? load_library(grammars, path, name, err) : find_built_in(name);
    if (parser == NULL) {
        return path != NULL
                   ? -1
                   : wb_error_set(err, WB_ERROR_INVALID,
                                  "There is no built-in parser `%s` for the language `%s`; "
                                  "name its library in \"library\"",
                                  name, id);
    }
    *ret = parser();
    uint32_t version = *ret != NULL ? ts_language_abi_version(*ret) : 0;
    if (version < TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION ||
        version > TREE_SITTER_LANGUAGE_VERSION) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "The grammar of `%s` has ABI %u, between %d and %d is needed: generate "
                            "it with a fitting tree-sitter",
                            id, version, TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION,
                            TREE_SITTER_LANGUAGE_VERSION);
    }
    return 0;
}

/* --- rows --- */

static void read_contexts(struct wb_arena *arena, const struct wb_json *row, struct wb_grammar *ret)
{
    const struct wb_json *contexts = wb_json_get(row, "contexts");
    ret->contexts =
        wb_arena_alloc_array(arena, wb_json_count(contexts) + 1, sizeof(*ret->contexts));
    for (struct wb_json_iter it = wb_json_iter(contexts); wb_json_next(&it);) {
        ret->contexts[ret->n_contexts++] = (struct wb_context){
            .name = wb_json_str_or(wb_json_at(it.value, 0), "file"),
            .prefix = wb_json_str_or(wb_json_at(it.value, 1), ""),
            .suffix = wb_json_str_or(wb_json_at(it.value, 2), ""),
            .is_only_joined = wb_str_equal(wb_json_str_or(wb_json_at(it.value, 3), ""), "joined"),
            .is_single = wb_str_equal(wb_json_str_or(wb_json_at(it.value, 3), ""), "single"),
        };
    }
    if (ret->n_contexts == 0) {
        ret->contexts[ret->n_contexts++] =
            (struct wb_context){.name = "file", .prefix = "", .suffix = ""};
    }
}

static void read_placeholders(const struct wb_json *row, struct wb_grammar *ret)
{
    static const char *const names[] = {"bare", "upper", "dollar", "quoted"};
    for (struct wb_json_iter it = wb_json_iter(wb_json_get(row, "placeholders"));
         wb_json_next(&it) && ret->n_placeholders < WB_PLACEHOLDER_STYLES;) {
        for (size_t i = 0; i < WB_COUNT(names); i++) {
            if (wb_str_equal(wb_json_str_or(it.value, ""), names[i])) {
                ret->placeholders[ret->n_placeholders++] = (enum wb_placeholder)i;
            }
        }
    }
    if (ret->n_placeholders == 0) {
        ret->placeholders[ret->n_placeholders++] = WB_PLACEHOLDER_BARE;
    }
}

/* All kinds of these names: a grammar may have several of one name. */
static struct wb_kinds read_kinds(struct wb_arena *arena, const TSLanguage *parser,
                                  const struct wb_json *names)
{
    TSSymbol *kinds = NULL;
    size_t n = 0, capacity = 0;
    for (struct wb_json_iter it = wb_json_iter(names); wb_json_next(&it);) {
        const char *name = wb_json_str_or(it.value, "");
        for (uint32_t i = 0; i < ts_language_symbol_count(parser); i++) {
            if (wb_str_equal(ts_language_symbol_name(parser, (TSSymbol)i), name)) {
                *WB_ARENA_PUSH(arena, kinds, n, capacity) = (TSSymbol)i;
            }
        }
    }
    return (struct wb_kinds){kinds, n};
}

static size_t find_context(const struct wb_grammar *grammar, const char *name)
{
    for (size_t i = 0; i < grammar->n_contexts; i++) {
        if (wb_str_equal(grammar->contexts[i].name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* [["statement", "member", "declaration"]]: a pattern that is one declaration as a statement is tried
 * as a member too. */
static int read_joins(struct wb_arena *arena, const struct wb_json *row, struct wb_grammar *ret,
                      struct wb_error *err)
{
    const struct wb_json *joins = wb_json_get(row, "joins");
    ret->joins = wb_arena_alloc_array(arena, wb_json_count(joins) + 1, sizeof(*ret->joins));
    for (struct wb_json_iter it = wb_json_iter(joins); wb_json_next(&it);) {
        struct wb_join *join = &ret->joins[ret->n_joins++];
        join->first = find_context(ret, wb_json_str_or(wb_json_at(it.value, 0), ""));
        join->also = find_context(ret, wb_json_str_or(wb_json_at(it.value, 1), ""));
        if (join->first == SIZE_MAX || join->also == SIZE_MAX) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "A join of the language `%s` names a context that it lacks",
                                ret->language->id);
        }
        join->kinds = read_kinds(arena, ret->parser, wb_json_at(it.value, 2));
    }
    return 0;
}

static int read_grammar(struct wb_grammars *grammars, const struct wb_language *language,
                        struct wb_error *err)
{
    struct wb_arena *arena = &grammars->arena;
    const struct wb_json *row = language->grammar;
    struct wb_grammar grammar = {.language = language};
    if (find_parser(grammars, row, language->id, &grammar.parser, err) != 0) {
        return -1;
    }
    read_contexts(arena, row, &grammar);
    if (read_joins(arena, row, &grammar, err) != 0) {
        return -1;
    }
    read_placeholders(row, &grammar);
    grammar.postfix = read_kinds(arena, grammar.parser, wb_json_get(row, "postfix"));
    grammar.optional = read_kinds(arena, grammar.parser, wb_json_get(row, "optional"));
    grammar.lists = read_kinds(arena, grammar.parser, wb_json_get(row, "lists"));
    grammar.tokens = read_kinds(arena, grammar.parser, wb_json_get(row, "tokens"));
    grammar.clauses = read_kinds(arena, grammar.parser, wb_json_get(row, "clauses"));
    grammar.bodies = wb_table_strings(arena, wb_json_get(row, "bodies"));
    grammar.quoted_after = wb_table_strings(arena, wb_json_get(row, "quoted_after"));
    grammar.entries = wb_table_strings(arena, wb_json_get(row, "entries"));
    grammar.aliases = wb_table_strings(arena, wb_json_get(row, "aliases"));
    grammar.literals = wb_table_strings(arena, wb_json_get(row, "literals"));
    grammar.has_escape = wb_json_bool(wb_json_get(row, "escape"), true);
    grammar.ignores_case = wb_json_bool(wb_json_get(row, "ignores_case"), false);
    *WB_ARENA_PUSH(arena, grammars->items, grammars->count, grammars->capacity) = grammar;
    return 0;
}

struct wb_grammars *wb_grammars_load(const struct wb_languages *languages, struct wb_error *err)
{
    struct wb_grammars *grammars = wb_alloc(sizeof(*grammars));
    const struct wb_language *language;
    size_t cursor = 0;
    wb_arena_init(&grammars->arena);
    while ((language = wb_languages_next(languages, &cursor)) != NULL) {
        if (language->grammar != NULL && read_grammar(grammars, language, err) != 0) {
            wb_grammars_free(grammars);
            return NULL;
        }
    }
    return grammars;
}

void wb_grammars_free(struct wb_grammars *grammars)
{
    if (grammars == NULL) {
        return;
    }
    for (size_t i = 0; i < grammars->n_libraries; i++) {
        dlclose(grammars->libraries[i]);
    }
    wb_arena_done(&grammars->arena);
    free(grammars);
}

/* --- lookup --- */

static bool has_name(const struct wb_grammar *grammar, const char *name)
{
    if (wb_str_equal(grammar->language->id, name)) {
        return true;
    }
    for (const char **alias = grammar->aliases; *alias != NULL; alias++) {
        if (wb_str_equal(*alias, name)) {
            return true;
        }
    }
    return false;
}

const struct wb_grammar *wb_grammars_find(const struct wb_grammars *grammars, const char *id)
{
    for (size_t i = 0; i < grammars->count; i++) {
        if (has_name(&grammars->items[i], id)) {
            return &grammars->items[i];
        }
    }
    return NULL;
}

const struct wb_grammar *wb_grammars_of(const struct wb_grammars *grammars,
                                        const struct wb_language *language)
{
    return language != NULL ? wb_grammars_find(grammars, language->id) : NULL;
}

const struct wb_grammar *wb_grammars_next(const struct wb_grammars *grammars, size_t *cursor)
{
    return *cursor < grammars->count ? &grammars->items[(*cursor)++] : NULL;
}
