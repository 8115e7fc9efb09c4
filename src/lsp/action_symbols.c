/* action_symbols: the symbols of a file (a tree or a flat list), or a search in the workspace over
 * all servers that run in it or that its markers call for. */
#include "lsp/actions.h"

#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "sys/path.h"

#define FILE_SYMBOLS_SHOWN 200
#define FOUND_SYMBOLS_SHOWN 100
#define TREE_DEPTH_MAX 64

struct symbol {
    struct wb_location location;
    const char *name, *kind, *container;
    size_t depth;
};

struct symbols {
    struct symbol *items;
    size_t count, capacity;
};

static const char *kind_name(int64_t kind)
{
    static const char *const names[] = {
        "symbol",   "file",           "module",      "namespace", "package",
        "class",    "method",         "property",    "field",     "constructor",
        "enum",     "interface",      "function",    "variable",  "constant",
        "string",   "number",         "boolean",     "array",     "object",
        "key",      "null",           "enum member", "struct",    "event",
        "operator", "type parameter",
    };
    return names[kind >= 0 && kind < (int64_t)WB_COUNT(names) ? kind : 0];
}

static struct symbol *add_symbol(struct wb_arena *arena, struct symbols *symbols,
                                 const struct wb_json *item, const struct wb_json *start)
{
    struct symbol *symbol = WB_ARENA_PUSH(arena, symbols->items, symbols->count, symbols->capacity);
    symbol->name = wb_json_str_or(wb_json_get(item, "name"), "");
    symbol->kind = kind_name(wb_json_int_or(wb_json_get(item, "kind"), 0));
    symbol->container = wb_json_str(wb_json_get(item, "containerName"));
    (void)wb_position_read(start, &symbol->location.position);
    return symbol;
}

/* DocumentSymbol trees, to a bounded depth. */
static void read_tree(struct wb_arena *arena, const char *path, const struct wb_json *items,
                      size_t depth, struct symbols *symbols)
{
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        struct symbol *symbol =
            add_symbol(arena, symbols, it.value, wb_json_path(it.value, "selectionRange.start"));
        symbol->location.path = path;
        symbol->depth = depth;
        if (depth < TREE_DEPTH_MAX) {
            read_tree(arena, path, wb_json_get(it.value, "children"), depth + 1, symbols);
        }
    }
}

/* SymbolInformation and WorkspaceSymbol: a location each, whose range may be left out. */
static void read_flat(struct wb_arena *arena, const struct wb_json *items, struct symbols *symbols)
{
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        const struct wb_json *uri = wb_json_path(it.value, "location.uri");
        const char *path = wb_path_from_uri(arena, wb_json_span(uri));
        if (path != NULL) {
            struct symbol *symbol = add_symbol(arena, symbols, it.value,
                                               wb_json_path(it.value, "location.range.start"));
            symbol->location.path = path;
        }
    }
}

static int compare_symbols(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    int by = strcmp(x->location.path, y->location.path);
    if (by == 0) {
        by = (x->location.position.line > y->location.position.line) -
             (x->location.position.line < y->location.position.line);
    }
    return by != 0 ? by : strcmp(x->name, y->name);
}

/* Several servers may know the same symbol. */
static void sort_symbols(struct symbols *symbols)
{
    if (symbols->count < 2) {
        return;
    }
    qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare_symbols);
    size_t kept = 1;
    for (size_t i = 1; i < symbols->count; i++) {
        if (compare_symbols(&symbols->items[kept - 1], &symbols->items[i]) != 0) {
            symbols->items[kept++] = symbols->items[i];
        }
    }
    symbols->count = kept;
}

static void show_symbol(struct wb_text *out, const char *shown_path, const struct symbol *symbol)
{
    wb_text_printf(out, "%s:%lld: %*s%s %s", shown_path,
                   (long long)symbol->location.position.line + 1, (int)symbol->depth * 2, "",
                   symbol->kind, symbol->name);
    if (symbol->container != NULL && *symbol->container != '\0') {
        wb_text_printf(out, " (in %s)", symbol->container);
    }
    wb_text_add_char(out, '\n');
}

static void put_symbol(struct wb_json_writer *w, const char *shown_path,
                       const struct symbol *symbol)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "name", symbol->name);
    wb_json_member_str(w, "kind", symbol->kind);
    wb_json_member_str(w, "path", shown_path);
    wb_json_member_int(w, "line", symbol->location.position.line + 1);
    if (symbol->container != NULL) {
        wb_json_member_str(w, "container", symbol->container);
    }
    wb_json_member_int(w, "depth", (int64_t)symbol->depth);
    wb_json_end_object(w);
}

static void show(struct wb_call *call, const struct symbols *symbols, size_t most,
                 struct wb_result *result)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "symbols");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < symbols->count; i++) {
        const char *shown_path = wb_call_relative(call, symbols->items[i].location.path);
        if (i < most) {
            show_symbol(&result->text, shown_path, &symbols->items[i]);
        }
        put_symbol(&w, shown_path, &symbols->items[i]);
    }
    wb_json_end_array(&w);
    wb_json_member_int(&w, "total", (int64_t)symbols->count);
    wb_json_end_object(&w);
    if (symbols->count > most) {
        wb_text_printf(&result->text, "%zu of %zu symbols shown\n", most, symbols->count);
    }
}

/* The symbols of one file: the first server that offers them. */

static int ask_file(struct wb_query *query, const struct wb_candidate *candidate,
                    struct symbols *symbols, bool *ret_ready, struct wb_error *err)
{
    struct wb_query_server server;
    if (wb_query_server(query, candidate, &server, err) < 0) {
        return -1;
    }
    int status = -1;
    if (!wb_server_offers(server.server, "documentSymbolProvider", "textDocument/documentSymbol")) {
        wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s does not offer document symbols",
                     candidate->row->id);
    } else {
        WB_AUTO(wb_text_done) struct wb_text params;
        wb_text_init(&params);
        struct wb_json_writer w;
        wb_query_begin_params(query, &w, &params, NULL);
        wb_json_end_object(&w);
        const struct wb_json *answer;
        status = wb_query_ask(query, server.server, "textDocument/documentSymbol",
                              wb_text_span(&params), &answer, ret_ready, err);
        if (status == 0 && wb_json_get(wb_json_at(answer, 0), "location") != NULL) {
            read_flat(query->call->arena, answer, symbols);
        } else if (status == 0) {
            read_tree(query->call->arena, query->path, answer, 0, symbols);
        }
    }
    wb_server_unref(server.server);
    return status;
}

static int file_symbols(struct wb_query *query, struct symbols *symbols, bool *ret_ready,
                        struct wb_error *err)
{
    const struct wb_candidate *candidate;
    for (size_t cursor = 0; (candidate = wb_query_next(query, &cursor)) != NULL;) {
        if (ask_file(query, candidate, symbols, ret_ready, err) == 0) {
            return 0;
        }
        wb_query_refuse(query, err->message);
    }
    return wb_query_failed(query, err);
}

/* The search: every server is asked, all at once as far as starting goes. */

static int ask_workspace(struct wb_query *query, struct wb_server *server, struct wb_span text,
                         struct symbols *symbols, bool *ret_ready, struct wb_error *err)
{
    if (!wb_server_offers(server, "workspaceSymbolProvider", "workspace/symbol")) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s does not offer workspace symbols",
                            wb_server_row(server)->id);
    }
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    struct wb_json_writer w;
    wb_json_writer_init(&w, &params);
    wb_json_begin_object(&w);
    wb_json_member_span(&w, "query", text);
    wb_json_end_object(&w);
    const struct wb_json *answer;
    if (wb_query_ask(query, server, "workspace/symbol", wb_text_span(&params), &answer, ret_ready,
                     err) < 0) {
        return -1;
    }
    read_flat(query->call->arena, answer, symbols);
    return 0;
}

static void begin_starts(struct wb_query *query)
{
    struct wb_lsp *lsp = query->lsp;
    for (size_t i = 0; i < query->candidates.count; i++) {
        if (query->candidates.items[i].reason == NULL) {
            wb_server_unref(wb_supervisor_use(lsp->supervisor, &query->candidates.items[i],
                                              lsp->workspace, &lsp->limits, 0, query->call->cancel,
                                              NULL));
        }
    }
}

/* Some servers look for their project only when the first file is opened. */
static void open_example(struct wb_server *server, const struct wb_candidate *candidate)
{
    struct wb_sync sync;
    struct wb_error err;
    if (candidate->example != NULL &&
        wb_server_sync(server, candidate->example, candidate->language_id, false, &sync, &err) <
            0) {
        wb_log(WB_LOG_DEBUG, "%s", err.message);
    }
}

/* Waits for what the markers call for; all running servers are asked, these and others. */
static void start_all(struct wb_query *query)
{
    const struct wb_candidate *candidate;
    for (size_t cursor = 0; (candidate = wb_query_next(query, &cursor)) != NULL;) {
        struct wb_query_server server;
        struct wb_error err;
        if (wb_query_server(query, candidate, &server, &err) < 0) {
            wb_query_refuse(query, err.message);
        } else {
            open_example(server.server, candidate);
            wb_server_unref(server.server);
        }
    }
}

/* Servers answer fuzzy matches and worse: what does not hold the text is dropped. */
static bool holds(const char *name, struct wb_span text)
{
    for (; *name != '\0'; name++) {
        if (strncasecmp(name, text.ptr, text.len) == 0) {
            return true;
        }
    }
    return text.len == 0;
}

static void keep_matches(struct symbols *symbols, struct wb_span text)
{
    size_t kept = 0;
    for (size_t i = 0; i < symbols->count; i++) {
        if (holds(symbols->items[i].name, text)) {
            symbols->items[kept++] = symbols->items[i];
        }
    }
    symbols->count = kept;
}

static int workspace_symbols(struct wb_query *query, struct wb_span text, struct symbols *symbols,
                             bool *ret_ready, struct wb_error *err)
{
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(query->lsp, err);
    if (catalogue == NULL) {
        return -1;
    }
    wb_catalogue_of_workspace(query->call->arena, catalogue, query->lsp->workspace,
                              &query->candidates);
    begin_starts(query);
    start_all(query);
    size_t n_servers, answered = 0;
    struct wb_server **servers;
    struct wb_lsp *lsp = query->lsp;
    wb_supervisor_catch_up(lsp->supervisor, lsp->workspace);
    wb_supervisor_list(lsp->supervisor, query->call->arena, lsp->workspace, &servers, &n_servers);
    for (size_t i = 0; i < n_servers; i++) {
        bool ready = true;
        if (ask_workspace(query, servers[i], text, symbols, &ready, err) == 0) {
            answered++;
            *ret_ready &= ready;
        } else {
            wb_query_refuse(query, err->message);
        }
        wb_server_unref(servers[i]);
    }
    keep_matches(symbols, text);
    if (answered == 0 && query->n_refusals == 0) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "no language server is usable in this workspace; lsp status says why");
    }
    return answered > 0 ? 0 : wb_query_failed(query, err);
}

int wb_lsp_symbols(struct wb_lsp *lsp, struct wb_call *call, const struct wb_lsp_args *args,
                   struct wb_result *result, struct wb_error *err)
{
    bool of_file = args->file.ptr != NULL;
    WB_AUTO(wb_query_done) struct wb_query query;
    if (of_file && args->query.ptr != NULL) {
        wb_text_init(&query.refusals);
        return wb_error_set(err, WB_ERROR_INVALID,
                            "symbols takes file (the symbols of that file) or query (a search in "
                            "the workspace), not both");
    }
    if (wb_query_open(lsp, call, args->file, &query, err) < 0) {
        return -1;
    }
    struct symbols symbols = {0};
    bool ready = true;
    query.exhaustive = !of_file;
    int status = of_file ? file_symbols(&query, &symbols, &ready, err)
                         : workspace_symbols(&query, args->query, &symbols, &ready, err);
    if (status < 0) {
        return -1;
    }
    if (symbols.count == 0 && !ready) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "a server is still loading, so an empty answer says nothing; ask "
                            "again when lsp status says ready");
    }
    if (!of_file) {
        sort_symbols(&symbols);
    }
    if (symbols.count == 0) {
        wb_text_add_str(&result->text, "No symbols.\n");
    }
    show(call, &symbols, of_file ? FILE_SYMBOLS_SHOWN : FOUND_SYMBOLS_SHOWN, result);
    if (query.n_refusals > 0 && !of_file) {
        wb_text_printf(&result->text, "Not asked: %s\n", wb_text_cstr(&query.refusals));
    }
    return 0;
}
