/* query: see query.h. */
#include "lsp/query.h"

#include <stdlib.h>

#include "base/clock.h"
#include "sys/path.h"

#define HITS_ASKED_MAX 8 /* of a symbol that stands on its line several times */
#define YOUNG_MS 800     /* a server may not yet have said that it is loading */
#define RESERVE_SHARE 4  /* of the time left, one part in so many is kept for the question itself */

int wb_query_open(struct wb_lsp *lsp, struct wb_call *call, struct wb_span file,
                  struct wb_query *ret, struct wb_error *err)
{
    *ret = (struct wb_query){
        .lsp = lsp, .call = call, .deadline_ms = wb_call_deadline(call, lsp->request_ms)};
    wb_text_init(&ret->refusals);
    if (file.ptr == NULL) {
        return 0;
    }
    ret->path = wb_call_path(call, file, err);
    if (ret->path == NULL) {
        return -1;
    }
    if (wb_file_kind(ret->path, NULL) != WB_FILE_REGULAR) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "%s is not a file",
                            wb_call_relative(call, ret->path));
    }
    return wb_lsp_candidates(lsp, call->arena, ret->path, &ret->candidates, err);
}

void wb_query_done(struct wb_query *query)
{
    wb_text_done(&query->refusals);
}

void wb_query_refuse(struct wb_query *query, const char *sentence)
{
    wb_text_printf(&query->refusals, "%s%s", query->n_refusals > 0 ? "; " : "", sentence);
    query->n_refusals++;
}

int wb_query_failed(struct wb_query *query, struct wb_error *err)
{
    return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s", wb_text_cstr(&query->refusals));
}

/* A start may take a while: the caller hears of it. */
static void tell_start(const struct wb_query *query, const struct wb_candidate *candidate)
{
    struct wb_lsp *lsp = query->lsp;
    struct wb_server *running = wb_supervisor_running(lsp->supervisor, candidate, lsp->workspace);
    if (running == NULL) {
        wb_call_progress(query->call, 0, 0, "starting %s", candidate->row->id);
    }
    wb_server_unref(running);
}

int wb_query_use(struct wb_query *query, const struct wb_candidate *candidate,
                 struct wb_query_server *ret, struct wb_error *err)
{
    struct wb_lsp *lsp = query->lsp;
    *ret = (struct wb_query_server){0};
    tell_start(query, candidate);
    ret->server = wb_supervisor_use(lsp->supervisor, candidate, lsp->workspace, &lsp->limits,
                                    query->deadline_ms, query->call->cancel, err);
    if (ret->server == NULL) {
        return -1;
    }
    wb_supervisor_catch_up(lsp->supervisor, lsp->workspace);
    if (query->path != NULL &&
        wb_server_sync(ret->server, query->path, query->candidates.language->lsp_id, false,
                       &ret->sync, err) < 0) {
        wb_server_unref(WB_STEAL(ret->server));
        return -1;
    }
    return 0;
}

int wb_query_server(struct wb_query *query, const struct wb_candidate *candidate,
                    struct wb_query_server *ret, struct wb_error *err)
{
    struct wb_arena *arena = query->call->arena;
    struct wb_span text;
    int64_t version;
    if (wb_query_use(query, candidate, ret, err) < 0) {
        return -1;
    }
    if (query->path == NULL ||
        !wb_server_document(ret->server, arena, query->path, &text, &version)) {
        text = (struct wb_span){0}; /* closed again by another call: an empty file has no symbol */
    }
    wb_line_index_init(arena, text, &ret->index);
    return 0;
}

const struct wb_candidate *wb_query_next(struct wb_query *query, size_t *cursor)
{
    /* Three rounds over the list: types, linters, text. */
    while (*cursor < 3 * query->candidates.count) {
        size_t at = (*cursor)++;
        const struct wb_candidate *candidate =
            &query->candidates.items[at % query->candidates.count];
        if (candidate->reason == NULL &&
            (size_t)candidate->row->kind == at / query->candidates.count) {
            return candidate;
        }
    }
    return NULL;
}

void wb_query_begin_params(struct wb_query *query, struct wb_json_writer *w, struct wb_text *text,
                           const struct wb_position *position)
{
    wb_json_writer_init(w, text);
    wb_json_begin_object(w);
    wb_json_key(w, "textDocument");
    wb_json_begin_object(w);
    wb_json_member_str(w, "uri", wb_path_to_uri(query->call->arena, query->path));
    wb_json_end_object(w);
    if (position != NULL) {
        wb_json_key(w, "position");
        wb_position_write(w, *position);
    }
}

static bool is_empty(const struct wb_json *answer)
{
    enum wb_json_type type = wb_json_type(answer);
    return type == WB_JSON_NONE || type == WB_JSON_NULL ||
           (type == WB_JSON_ARRAY && wb_json_count(answer) == 0);
}

int wb_query_ask(struct wb_query *query, struct wb_server *server, const char *method,
                 struct wb_span params, const struct wb_json **ret, bool *ret_ready,
                 struct wb_error *err)
{
    struct wb_call *call = query->call;
    for (;;) {
        int64_t left_ms = wb_clock_left_ms(query->deadline_ms);
        *ret_ready =
            wb_server_wait_ready(server, wb_clock_deadline(left_ms - left_ms / RESERVE_SHARE),
                                 call->cancel);
        if (wb_server_request(server, method, params, query->deadline_ms, call->cancel, call->arena,
                              ret, err) < 0) {
            return -1;
        }
        bool enough = !is_empty(*ret) && !query->exhaustive;
        if (enough || !*ret_ready ||
            !wb_server_wait_settled(server, YOUNG_MS, query->deadline_ms, call->cancel)) {
            return 0;
        }
    }
}

/* What one hit of the symbol means to the server. */
struct meaning {
    struct wb_query_place place;
    struct wb_location_list declaration;
};

static int ask_meaning(struct wb_query *query, struct wb_server *server, struct meaning *meaning,
                       struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    struct wb_json_writer w;
    wb_query_begin_params(query, &w, &params, &meaning->place.position);
    wb_json_end_object(&w);
    const struct wb_json *answer;
    bool ready;
    if (wb_query_ask(query, server, "textDocument/definition", wb_text_span(&params), &answer,
                     &ready, err) < 0) {
        return -1;
    }
    wb_locations_parse(query->call->arena, answer, &meaning->declaration);
    wb_locations_sort(&meaning->declaration);
    return 0;
}

static int tell_hits(struct wb_query *query, const struct wb_query_server *server, int64_t line,
                     struct wb_span symbol, const struct wb_symbol_hits *hits, struct wb_error *err)
{
    struct wb_span source = wb_line_index_line(&server->index, (size_t)line - 1);
    WB_AUTO(wb_text_done) struct wb_text list;
    wb_text_init(&list);
    for (size_t i = 0; i < hits->count && i < 2 * HITS_ASKED_MAX; i++) {
        size_t at = hits->offsets[i] - (size_t)(source.ptr - server->index.text.ptr);
        size_t from = at > 20 ? at - 20 : 0;
        struct wb_span around = {source.ptr + from, WB_MIN(source.len - from, (size_t)60)};
        wb_text_printf(&list, "\n  %.*s#%zu: ...", WB_SPAN_ARG(symbol), i + 1);
        wb_text_add_utf8(&list, around);
    }
    return wb_error_set(err, WB_ERROR_INVALID,
                        "`%.*s` stands %zu times on line %lld of %s and does not mean the same "
                        "each time; add #n to say which:%s",
                        WB_SPAN_ARG(symbol), hits->count, (long long)line,
                        wb_call_relative(query->call, query->path), wb_text_cstr(&list));
}

static struct wb_query_place make_place(const struct wb_query_server *server,
                                        const struct wb_symbol_hits *hits, size_t i)
{
    return (struct wb_query_place){
        .position = wb_position_from_offset(&server->index, wb_server_encoding(server->server),
                                            hits->offsets[i]),
        .offset = hits->offsets[i],
        .length = hits->lengths[i],
    };
}

static int choose_hit(struct wb_query *query, struct wb_query_server *server, int64_t line,
                      struct wb_span symbol, const struct wb_symbol_hits *hits,
                      struct wb_query_place *ret, struct wb_error *err)
{
    if (hits->count > HITS_ASKED_MAX ||
        !wb_server_offers(server->server, "definitionProvider", "textDocument/definition")) {
        return tell_hits(query, server, line, symbol, hits, err);
    }
    struct meaning chosen = {0};
    for (size_t i = 0; i < hits->count; i++) {
        struct meaning meaning = {.place = make_place(server, hits, i)};
        if (ask_meaning(query, server->server, &meaning, err) < 0) {
            return -1;
        }
        if (meaning.declaration.count == 0) {
            continue; /* in a comment or a string: it means nothing */
        }
        if (chosen.declaration.count > 0 &&
            !wb_locations_equal(&chosen.declaration, &meaning.declaration)) {
            return tell_hits(query, server, line, symbol, hits, err);
        }
        if (chosen.declaration.count == 0) {
            chosen = meaning;
        }
    }
    if (chosen.declaration.count == 0) {
        return tell_hits(query, server, line, symbol, hits, err);
    }
    *ret = chosen.place;
    return 0;
}

/* The line, and each hit on it, must be at a place that the server counts as we do. */
static int check_counting(const struct wb_line_index *index, int64_t line,
                          const struct wb_symbol_hits *hits, struct wb_error *err)
{
    size_t behind = 0;

    if (line >= 1 && (size_t)line <= index->count) {
        behind = index->starts[line - 1];
    }
    for (size_t i = 0; i < hits->count; i++) {
        behind = WB_MAX(behind, hits->offsets[i]);
    }
    return wb_line_index_check(index, behind, err);
}

int wb_query_place(struct wb_query *query, struct wb_query_server *server, int64_t line,
                   struct wb_span symbol, struct wb_query_place *ret, struct wb_error *err)
{
    struct wb_symbol_hits hits = {0};
    if (check_counting(&server->index, line, &hits, err) < 0 ||
        wb_position_find_symbol(query->call->arena, &server->index, line, symbol, &hits, err) < 0 ||
        check_counting(&server->index, line, &hits, err) < 0) {
        return wb_error_context(err, "%s", wb_call_relative(query->call, query->path));
    }
    if (hits.count > 1) {
        return choose_hit(query, server, line, symbol, &hits, ret, err);
    }
    *ret = make_place(server, &hits, 0);
    return 0;
}
