/* lsp_rename: renames a symbol across the project through the language server. A tool of its own so
 * that its tier decides who sees it. Turns the server's edit into one commit; writes nothing
 * itself. */
#include <time.h>

#include "base/limits.h"
#include "lsp/leftovers.h"
#include "lsp/query.h"
#include "lsp/widen.h"
#include "lsp/workspace_edit.h"
#include "sys/path.h"

#define FILES_SHOWN 50

struct args {
    struct wb_span file, symbol, new_name;
    int64_t line;
};

static const struct wb_arg table[] = {
    {"file", WB_ARG_PATH, offsetof(struct args, file), .required = true,
     .doc = "a file that has the symbol, relative to the workspace"},
    {"line", WB_ARG_INT, offsetof(struct args, line), .required = true, .min = 1, .max = INT32_MAX,
     .doc = "1-based line that the symbol stands on"},
    {"symbol", WB_ARG_STRING, offsetof(struct args, symbol), .required = true, .min = 1,
     .max = 1000,
     .doc = "the symbol as it is written on that line; name#2 is its second occurrence there"},
    {"new_name", WB_ARG_STRING, offsetof(struct args, new_name), .required = true, .min = 1,
     .max = 1000, .doc = "the name that it shall have"},
};

/* What is being renamed. */
struct rename {
    struct wb_query *query;
    const struct args *args;
    struct wb_query_server server;
    struct wb_query_place place;
    struct wb_span name; /* the text at the place */
    int64_t asked_ns;    /* wall clock when the server was asked */
    struct wb_text note; /* why there may be more uses */
};

/* prepareRename (LSP 3.17): the server says whether, and what exactly, it would rename. */

static int check_range(struct rename *rename, const struct wb_json *range, struct wb_error *err)
{
    struct wb_range span;
    enum wb_position_encoding encoding = wb_server_encoding(rename->server.server);
    const struct wb_line_index *index = &rename->server.index;
    if (!wb_range_read(range, &span)) {
        return 0; /* {"defaultBehavior": true}: no range to compare */
    }
    size_t start = wb_position_to_offset(index, encoding, span.start);
    size_t end = wb_position_to_offset(index, encoding, span.end);
    struct wb_span text = {index->text.ptr + start, end > start ? end - start : 0};
    if (!wb_span_equal(text, rename->name)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s would rename `%.*s` there and not `%.*s`; name the symbol that "
                            "you mean",
                            wb_server_row(rename->server.server)->id, WB_SPAN_ARG(text),
                            WB_SPAN_ARG(rename->name));
    }
    return 0;
}

static int prepare(struct rename *rename, struct wb_error *err)
{
    struct wb_query *query = rename->query;
    struct wb_server *server = rename->server.server;
    if (!wb_json_bool(wb_server_capability(server, "renameProvider.prepareProvider"), false)) {
        return 0;
    }
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    struct wb_json_writer w;
    wb_query_begin_params(query, &w, &params, &rename->place.position);
    wb_json_end_object(&w);
    const struct wb_json *answer;
    bool ready;
    if (wb_query_ask(query, server, "textDocument/prepareRename", wb_text_span(&params), &answer,
                     &ready, err) < 0) {
        return err->code == WB_ERROR_UNAVAILABLE ? 0 : -1; /* announced, not there: go on */
    }
    if (wb_json_is_null(answer)) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s says that `%.*s` cannot be renamed here%s",
                            wb_server_row(server)->id, WB_SPAN_ARG(rename->name),
                            ready ? "" : " (it is still loading)");
    }
    const struct wb_json *range = wb_json_get(answer, "range");
    return check_range(rename, range != NULL ? range : answer, err);
}

static int ask_edit(struct rename *rename, const struct wb_json **ret, struct wb_error *err)
{
    struct wb_query *query = rename->query;
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    struct wb_json_writer w;
    wb_query_begin_params(query, &w, &params, &rename->place.position);
    wb_json_member_span(&w, "newName", rename->args->new_name);
    wb_json_end_object(&w);
    bool ready;
    query->exhaustive = true;
    return wb_query_ask(query, rename->server.server, "textDocument/rename", wb_text_span(&params),
                        ret, &ready, err);
}

static int64_t wall_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What stands at a path, for the plan: on disk, and as the server was told. A file that the server
 * was not told of is bound to the moment of the question: it read the disk some time after it. */
static int look(void *ctx, struct wb_arena *arena, const char *path, struct wb_edit_file *ret,
                struct wb_error *err)
{
    struct rename *rename = ctx;
    struct wb_file_stamp stamp;
    *ret = (struct wb_edit_file){.kind = wb_file_kind(path, &stamp)};
    if (ret->kind == WB_FILE_REGULAR &&
        wb_file_read(arena, path, WB_FILE_BYTES_MAX, &ret->content, NULL, err) < 0) {
        return -1;
    }
    ret->is_open =
        wb_server_document(rename->server.server, arena, path, &ret->told, &ret->version);
    if (ret->kind == WB_FILE_REGULAR && !ret->is_open && stamp.ctime_ns > rename->asked_ns) {
        return wb_error_set(err, WB_ERROR_STALE, "%s changed while the server was asked; ask again",
                            wb_call_relative(rename->query->call, path));
    }
    return 0;
}

static int make_plan(struct rename *rename, struct wb_edit_plan *plan, struct wb_error *err)
{
    const struct wb_json *edit;
    wb_query_widen(rename->query, rename->server.server, rename->name, &rename->note);
    rename->asked_ns = wall_clock_ns();
    if (ask_edit(rename, &edit, err) < 0) {
        return -1;
    }
    struct wb_edit_source source = {
        .workspace = rename->query->lsp->workspace,
        .encoding = wb_server_encoding(rename->server.server),
        .look = look,
        .ctx = rename,
    };
    if (wb_workspace_edit_plan(rename->query->call->arena, edit, &source, plan, err) < 0) {
        return wb_error_context(err, "nothing was renamed");
    }
    if (plan->n_ops == 0) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND,
                            "%s has no edits for renaming `%.*s` to `%.*s`: nothing was changed",
                            wb_server_row(rename->server.server)->id, WB_SPAN_ARG(rename->name),
                            WB_SPAN_ARG(rename->args->new_name));
    }
    return 0;
}

/* The first server that renames does it; two would do it twice. */
static int choose_server(struct rename *rename, struct wb_error *err)
{
    struct wb_query *query = rename->query;
    const struct wb_candidate *candidate;
    for (size_t cursor = 0; (candidate = wb_query_next(query, &cursor)) != NULL;) {
        if (wb_query_server(query, candidate, &rename->server, err) < 0) {
            wb_query_refuse(query, err->message);
            continue;
        }
        if (wb_server_offers(rename->server.server, "renameProvider", "textDocument/rename")) {
            return 0;
        }
        wb_server_unref(WB_STEAL(rename->server.server));
        wb_query_refuse(query, wb_arena_printf(query->call->arena, "%s does not offer rename",
                                               candidate->row->id));
    }
    return wb_query_failed(query, err);
}

static int check_names(struct rename *rename, struct wb_error *err)
{
    const struct args *args = rename->args;
    rename->name = (struct wb_span){rename->server.index.text.ptr + rename->place.offset,
                                    rename->place.length};
    if (wb_span_equal(rename->name, args->new_name)) {
        return wb_error_set(err, WB_ERROR_INVALID, "`%.*s` has that name already",
                            WB_SPAN_ARG(args->new_name));
    }
    return 0;
}

/* Report. */

static const char *op_verb(const struct wb_commit_op *op)
{
    switch (op->kind) {
    case WB_COMMIT_DELETE:
        return "deleted ";
    case WB_COMMIT_RENAME:
        return "moved ";
    case WB_COMMIT_WRITE:
        return op->must_exist ? "" : "created ";
    }
    return "";
}

static void show_files(struct rename *rename, const struct wb_edit_plan *plan,
                       struct wb_json_writer *w, struct wb_text *out)
{
    struct wb_call *call = rename->query->call;
    wb_json_key(w, "files");
    wb_json_begin_array(w);
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct wb_commit_op *op = &plan->ops[i];
        const char *path = wb_call_relative(call, op->path);
        if (i < FILES_SHOWN) {
            wb_text_printf(out, "  %s%s", op_verb(op), path);
            if (op->kind == WB_COMMIT_RENAME) {
                wb_text_printf(out, " to %s", wb_call_relative(call, op->new_path));
            }
            wb_text_add_char(out, '\n');
        }
        wb_json_put_str(w, path);
    }
    wb_json_end_array(w);
    if (plan->n_ops > FILES_SHOWN) {
        wb_text_printf(out, "  %d of %zu files shown\n", FILES_SHOWN, plan->n_ops);
    }
}

static void show_leftovers(struct rename *rename, struct wb_json_writer *w, struct wb_text *out)
{
    struct wb_call *call = rename->query->call;
    struct wb_leftovers leftovers;
    wb_leftovers_find(call, rename->name, &leftovers);
    wb_json_member_int(w, "remaining", (int64_t)leftovers.total);
    if (leftovers.total == 0) {
        return;
    }
    wb_text_printf(out, "`%.*s` still stands as text %zu time%s in %zu file%s%s:\n",
                   WB_SPAN_ARG(rename->name), leftovers.total, leftovers.total == 1 ? "" : "s",
                   leftovers.n_files, leftovers.n_files == 1 ? "" : "s",
                   leftovers.cut ? " (the search was cut short)" : "");
    struct wb_result places;
    wb_result_init(&places);
    wb_locations_show(call, &leftovers.places, leftovers.places.count, "places", &places);
    wb_text_add_span(out, wb_text_span(&places.text));
    wb_result_done(&places);
}

static void report(struct rename *rename, const struct wb_edit_plan *plan, struct wb_result *result)
{
    struct wb_json_writer w;
    wb_text_printf(&result->text, "Renamed `%.*s` to `%.*s`: %zu edit%s in %zu file%s.\n",
                   WB_SPAN_ARG(rename->name), WB_SPAN_ARG(rename->args->new_name), plan->n_edits,
                   plan->n_edits == 1 ? "" : "s", plan->n_files, plan->n_files == 1 ? "" : "s");
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "edits", (int64_t)plan->n_edits);
    show_files(rename, plan, &w, &result->text);
    show_leftovers(rename, &w, &result->text);
    wb_text_add_span(&result->text, wb_text_span(&rename->note));
    wb_json_end_object(&w);
}

static int rename_symbol(struct rename *rename, struct wb_result *result, struct wb_error *err)
{
    struct wb_query *query = rename->query;
    struct wb_edit_plan plan;
    if (choose_server(rename, err) < 0 ||
        wb_query_place(query, &rename->server, rename->args->line, rename->args->symbol,
                       &rename->place, err) < 0 ||
        check_names(rename, err) < 0 || prepare(rename, err) < 0 ||
        make_plan(rename, &plan, err) < 0 ||
        wb_call_write(query->call, plan.ops, plan.n_ops, result, err) < 0) {
        return -1;
    }
    report(rename, &plan, result);
    return 0;
}

static int call_lsp_rename(struct wb_call *call, const void *opaque, struct wb_result *result,
                           struct wb_error *err)
{
    const struct args *args = opaque;
    WB_AUTO(wb_query_done) struct wb_query query;
    if (wb_query_open(wb_lsp_of_run(call->run), call, args->file, &query, err) < 0 ||
        wb_language_check_identifier(query.candidates.language, args->new_name, err) < 0) {
        return -1;
    }
    struct rename rename = {.query = &query, .args = args};
    int status = rename_symbol(&rename, result, err);
    wb_server_unref(rename.server.server);
    wb_text_done(&rename.note);
    return status;
}

const struct wb_tool wb_tool_lsp_rename = {
    .name = "lsp_rename",
    .tier = WB_TIER_WRITE,
    .parallel_safe = false,
    .summary = "Rename a symbol across the project through the language server",
    .description =
        "Renames a symbol everywhere it is used, through the language server, in one commit of "
        "edits: all files or none. Name the place as for lsp: file, 1-based line, and the "
        "symbol's text on that line. The result lists the files, where the old name still stands "
        "as text (comments, strings), and new diagnostics.",
    .args = {table, WB_COUNT(table), sizeof(struct args), NULL, 0},
    .available = wb_lsp_available,
    .call = call_lsp_rename,
};
