/* Tests of lsp/workspace_edit.h: every shape of an edit against what the tree is afterwards, or the
 * sentence of the refusal. JSON is written with ' for ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../scratch.h"
#include "edit_model.h"

#define BOM "\xEF\xBB\xBF"
#define PARTY "\xF0\x9F\x8E\x89"

#define U(name) "file:///w/" name
#define EDIT(l1, c1, l2, c2, text)                                                                 \
    "{'range':{'start':{'line':" #l1 ",'character':" #c1 "},'end':{'line':" #l2                    \
    ",'character':" #c2 "}},'newText':'" text "'}"
#define CHANGES(name, edits) "{'changes':{'" U(name) "':[" edits "]}}"
#define DOCUMENT(name, version, edits)                                                             \
    "{'textDocument':{'uri':'" U(name) "','version':" version "},'edits':[" edits "]}"
#define DOCUMENTS(entries) "{'documentChanges':[" entries "]}"
#define CREATE(name, options) "{'kind':'create','uri':'" U(name) "','options':" options "}"
#define DELETE(name, options) "{'kind':'delete','uri':'" U(name) "','options':" options "}"
#define RENAME(old, new, options)                                                                  \
    "{'kind':'rename','oldUri':'" U(old) "','newUri':'" U(new) "','options':" options "}"

static const struct {
    const char *path, *content;
    int64_t version; /* 0: not open */
} base_files[] = {
    {"/w/a.c", "int foo;\nfoo();\n", 3},
    {"/w/b.c", "foo();\n", 0},
    {"/w/bom.c", BOM "foo\nfoo\n", 5},
    {"/w/bad.c", "\xFF\n", 0},
    {"/w/cr.c", "one\ntwo\rthree\nfour", 0},
    {"/w/crlf.c", "one\r\ntwo\r\n", 0},
    {"/w/dir/x.c", "x\n", 0},
    {"/w/dir/sub/y.c", "y\n", 0},
    {"/w/emoji.c", PARTY "foo " PARTY "foo\n", 0},
    {"/w/empty.c", "", 0},
    {"/w/mixed.c", "one\ntwo\r\nthree", 0},
    {"/w/noeol.c", "one\ntwo", 0},
};

static void make_model(struct model *model, struct wb_arena *arena)
{
    *model = (struct model){.arena = arena};
    for (size_t i = 0; i < WB_COUNT(base_files); i++) {
        model_add(model, base_files[i].path, wb_span(base_files[i].content));
        struct model_file *file = model_find(model, base_files[i].path);
        file->is_open = base_files[i].version != 0;
        file->version = base_files[i].version;
    }
}

/* Line ends are shown as ^ (CR) and | (LF). */
static void add_visible(struct wb_text *out, struct wb_span content)
{
    for (size_t i = 0; i < content.len; i++) {
        char c = content.ptr[i];

        wb_text_add_char(out, c == '\n' ? '|' : c == '\r' ? '^' : c);
    }
}

static int compare_files(const void *a, const void *b)
{
    const struct model_file *x = a;
    const struct model_file *y = b;

    if (x->path == NULL || y->path == NULL) {
        return (x->path == NULL) - (y->path == NULL);
    }
    return strcmp(x->path, y->path);
}

/* What differs from the base: "a.c=content; -b.c". */
static void show_difference(struct model *model, struct wb_text *out)
{
    struct model before;

    make_model(&before, model->arena);
    qsort(model->files, model->count, sizeof(*model->files), compare_files);
    for (size_t i = 0; i < model->count && model->files[i].path != NULL; i++) {
        const struct model_file *file = &model->files[i];
        const struct model_file *old = model_find(&before, file->path);

        if (file->is_folder) {
            continue;
        }
        if (old == NULL || !wb_span_equal(old->content, file->content)) {
            wb_text_printf(out, "%s%s=", out->len != 0 ? "; " : "", file->path + strlen("/w/"));
            add_visible(out, file->content);
        }
    }
    for (size_t i = 0; i < before.count; i++) {
        if (!before.files[i].is_folder && model_find(model, before.files[i].path) == NULL) {
            wb_text_printf(out, "%s-%s", out->len != 0 ? "; " : "",
                           before.files[i].path + strlen("/w/"));
        }
    }
}

static const struct wb_json *parse_quoted(struct wb_arena *arena, const char *json)
{
    char *text = wb_arena_strdup(arena, json);

    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    struct wb_error err;
    const struct wb_json *value = wb_json_parse(arena, wb_span(text), &err);
    if (value == NULL) {
        fail_msg("%s: %s", json, err.message);
    }
    return value;
}

/* The difference and the counts "(files, edits)"; "refused: " and the sentence; "nothing". */
static void run_edit(const char *json, enum wb_position_encoding encoding, struct wb_text *out)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct model model;
    struct wb_edit_plan plan;
    struct wb_error err;

    make_model(&model, &arena);
    struct wb_edit_source source = {
        .workspace = "/w", .encoding = encoding, .look = model_look, .ctx = &model};
    if (wb_workspace_edit_plan(&arena, parse_quoted(&arena, json), &source, &plan, &err) != 0) {
        wb_text_printf(out, "refused: %s", err.message);
        return;
    }
    if (plan.n_ops == 0) {
        assert_int_equal(plan.n_files, 0);
        assert_int_equal(plan.n_edits, 0);
        wb_text_add_str(out, "nothing");
        return;
    }
    for (size_t i = 0; i < plan.n_ops; i++) {
        if (!model_apply(&model, &plan.ops[i])) {
            fail_msg("%s: operation %zu does not find what it says", json, i);
        }
    }
    show_difference(&model, out);
    wb_text_printf(out, " (%zu, %zu)", plan.n_files, plan.n_edits);
}

struct row {
    const char *json, *expected;
};

static void expect_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        WB_AUTO(wb_text_done) struct wb_text out = {0};

        run_edit(rows[i].json, WB_POSITION_UTF16, &out);
        if (!wb_str_equal(wb_text_cstr(&out), rows[i].expected)) {
            fail_msg("%s\n gives    %s\n expected %s", rows[i].json, wb_text_cstr(&out),
                     rows[i].expected);
        }
    }
}

static void test_nothing(void **state)
{
    static const struct row rows[] = {
        {"null", "nothing"},
        {"{}", "nothing"},
        {"[]", "nothing"},
        {"{'changes':{}}", "nothing"},
        {"{'changes':null,'documentChanges':null}", "nothing"},
        {"{'documentChanges':[]}", "nothing"},
        {CHANGES("a.c", ""), "nothing"},
        {DOCUMENTS(DOCUMENT("a.c", "3", "")), "nothing"},
        {CHANGES("a.c", EDIT(0, 4, 0, 7, "foo")), "nothing"},
        {CHANGES("a.c", EDIT(0, 4, 0, 4, "")), "nothing"},
        {DOCUMENTS(RENAME("a.c", "a.c", "{}")), "nothing"},
        {DOCUMENTS(CREATE("empty.c", "{'overwrite':true}")), "nothing"},
        /* No edits: nobody looks at the file. */
        {"{'changes':{'untitled:x':[]}}", "nothing"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_unreadable(void **state)
{
#define UNREADABLE "refused: the server's edit cannot be read: "
    static const struct row rows[] = {
        {"7", UNREADABLE "it must be an object"},
        {"'x'", UNREADABLE "it must be an object"},
        {"[{}]", UNREADABLE "it must be an object"},
        {"{'documentChanges':'all of them','changes':7}",
         UNREADABLE "documentChanges must be an array"},
        {"{'documentChanges':{}}", UNREADABLE "documentChanges must be an array"},
        {"{'changes':[]}", UNREADABLE "changes must be an object"},
        {"{'changes':{'" U("a.c") "':{}}}", UNREADABLE "the edits of a file must be an array"},
        {DOCUMENTS("{}"),
         UNREADABLE "an entry of documentChanges is neither an edit nor an operation"},
        {DOCUMENTS("5"),
         UNREADABLE "an entry of documentChanges is neither an edit nor an operation"},
        {DOCUMENTS("{'textDocument':{},'edits':[{}]}"), UNREADABLE "a URI is missing"},
        {DOCUMENTS("{'textDocument':{'uri':5},'edits':[{}]}"), UNREADABLE "a URI is missing"},
        {DOCUMENTS("{'textDocument':{'uri':'" U("a.c") "'}}"),
         UNREADABLE "the edits of a file must be an array"},
        {DOCUMENTS(DOCUMENT("a.c", "'3'", EDIT(0, 0, 0, 0, "x"))),
         UNREADABLE "a version must be a number or null"},
        {DOCUMENTS("{'kind':'create'}"), UNREADABLE "a URI is missing"},
        {CHANGES("a.c", "{}"),
         "refused: the server's edit of a.c is unusable: an edit has no range"},
        {CHANGES("a.c", "5"),
         "refused: the server's edit of a.c is unusable: an edit has no range"},
        {CHANGES("a.c", EDIT(0, -1, 0, 0, "x")),
         "refused: the server's edit of a.c is unusable: an edit has no range"},
        {CHANGES("a.c",
                 "{'range':{'start':{'line':0,'character':0},'end':{'line':0,'character':0}}}"),
         "refused: the server's edit of a.c is unusable: an edit has no newText"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_text(void **state)
{
#define OVERLAP "refused: the server's edit of a.c is unusable: two edits overlap at line 1"
    static const struct row rows[] = {
        {CHANGES("a.c", EDIT(0, 4, 0, 7, "bar") "," EDIT(1, 0, 1, 3, "bar")),
         "a.c=int bar;|bar();| (1, 2)"},
        /* In any order. */
        {CHANGES("a.c", EDIT(1, 0, 1, 3, "bar") "," EDIT(0, 4, 0, 7, "bar")),
         "a.c=int bar;|bar();| (1, 2)"},
        {"{'changes':{'" U("b.c") "':[" EDIT(0, 0, 0, 3, "bar") "],'" U(
             "a.c") "':[" EDIT(0, 4, 0, 7, "bar") "]}}",
         "a.c=int bar;|foo();|; b.c=bar();| (2, 2)"},
        /* documentChanges win over changes. */
        {"{'changes':{'" U("a.c") "':[" EDIT(0, 0, 0, 0, "WRONG") "]},'documentChanges':[" DOCUMENT(
             "b.c", "null", EDIT(0, 0, 0, 3, "bar")) "]}",
         "b.c=bar();| (1, 1)"},
        {"{'changes':{'" U("b.c") "':[" EDIT(0, 0, 0, 3, "bar") "]},'documentChanges':[]}",
         "b.c=bar();| (1, 1)"},
        /* Inserts at one place keep their order, in front of what replaces from there on. */
        {CHANGES("b.c", EDIT(0, 0, 0, 0, "1") "," EDIT(0, 0, 0, 0, "2") "," EDIT(0, 0, 0, 0, "3")),
         "b.c=123foo();| (1, 3)"},
        {CHANGES("b.c",
                 EDIT(0, 0, 0, 3, "bar") "," EDIT(0, 0, 0, 0, "1") "," EDIT(0, 3, 0, 3, "2")),
         "b.c=1bar2();| (1, 3)"},
        {CHANGES("b.c", EDIT(0, 0, 0, 0, "(") "," EDIT(0, 0, 0, 0, "(")), "b.c=((foo();| (1, 2)"},
        /* Touching is no overlap. */
        {CHANGES("b.c", EDIT(0, 0, 0, 2, "AB") "," EDIT(0, 2, 0, 4, "CD")), "b.c=ABCD);| (1, 2)"},
        /* The same replacement twice counts once; others that overlap refuse the whole. */
        {CHANGES("a.c",
                 EDIT(0, 4, 0, 7, "bar") "," EDIT(1, 0, 1, 3, "bar") "," EDIT(0, 4, 0, 7, "bar")),
         "a.c=int bar;|bar();| (1, 2)"},
        {CHANGES("a.c", EDIT(0, 4, 0, 7, "bar") "," EDIT(0, 4, 0, 7, "baz")), OVERLAP},
        {CHANGES("a.c", EDIT(0, 0, 0, 5, "a") "," EDIT(0, 3, 0, 7, "b")), OVERLAP},
        {CHANGES("a.c", EDIT(0, 3, 0, 7, "b") "," EDIT(0, 0, 0, 5, "a")), OVERLAP},
        {CHANGES("a.c", EDIT(0, 0, 0, 5, "a") "," EDIT(0, 3, 0, 3, "b")), OVERLAP},
        {CHANGES("a.c", EDIT(0, 0, 1, 5, "a") "," EDIT(0, 3, 0, 4, "b")), OVERLAP},
        {"{'changes':{'" U("b.c") "':[" EDIT(0, 0, 0, 0, "x") "],'" U(
             "a.c") "':[" EDIT(0, 0, 0, 5, "a") "," EDIT(0, 3, 0, 7, "b") "]}}",
         OVERLAP},
        /* Clamped: past the line, past the file, reversed. */
        {CHANGES("a.c", EDIT(0, 0, 0, 999999, "x")), "a.c=x|foo();| (1, 1)"},
        {CHANGES("a.c", EDIT(999999, 0, 999999, 0, "x|")), "a.c=int foo;|foo();|x| (1, 1)"},
        {CHANGES("noeol.c", EDIT(9, 9, 9, 9, "x")), "noeol.c=one|twox (1, 1)"},
        {CHANGES("a.c", EDIT(0, 7, 0, 4, "bar")), "a.c=int bar;|foo();| (1, 1)"},
        {CHANGES("empty.c", EDIT(5, 5, 6, 6, "x")), "empty.c=x (1, 1)"},
        /* The whole file, as some servers rename. */
        {CHANGES("a.c", EDIT(0, 0, 2, 0, "int bar;\\nbar();\\n")), "a.c=int bar;|bar();| (1, 1)"},
        {CHANGES("noeol.c", EDIT(0, 0, 2, 0, "1\\n2")), "noeol.c=1|2 (1, 1)"},
        /* A line without its text stays a line. */
        {CHANGES("a.c", EDIT(0, 0, 0, 8, "")), "a.c=|foo();| (1, 1)"},
        {CHANGES("a.c", EDIT(0, 0, 1, 0, "")), "a.c=foo();| (1, 1)"},
        {CHANGES("b.c", EDIT(0, 0, 9, 0, "")), "b.c= (1, 1)"},
        /* Two entries of one file speak of the same text. */
        {DOCUMENTS(DOCUMENT("a.c", "3", EDIT(0, 4, 0, 7, "longer")) "," DOCUMENT(
             "a.c", "3", EDIT(0, 7, 0, 8, "!") "," EDIT(1, 0, 1, 3, "bar"))),
         "a.c=int longer!|bar();| (1, 3)"},
        {"{'changes':{'" U("a.c") "':[" EDIT(0, 4, 0, 7, "bar") "],'" U(
             "%61.c") "':[" EDIT(1, 0, 1, 3, "bar") "]}}",
         "a.c=int bar;|bar();| (1, 2)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_line_ends(void **state)
{
    static const struct row rows[] = {
        {CHANGES("crlf.c", EDIT(0, 0, 0, 3, "1")), "crlf.c=1^|two^| (1, 1)"},
        {CHANGES("crlf.c", EDIT(0, 3, 0, 4, "!")), "crlf.c=one!^|two^| (1, 1)"},
        {CHANGES("crlf.c", EDIT(1, 0, 1, 0, "a\\nb\\n\\n")), "crlf.c=one^|a^|b^|^|two^| (1, 1)"},
        {CHANGES("crlf.c", EDIT(1, 0, 1, 0, "a\\r\\nb\\n")), "crlf.c=one^|a^|b^|two^| (1, 1)"},
        {CHANGES("crlf.c", EDIT(0, 0, 2, 0, "1\\n2\\n")), "crlf.c=1^|2^| (1, 1)"},
        {CHANGES("a.c", EDIT(1, 0, 1, 0, "a\\r\\nb\\n")), "a.c=int foo;|a|b|foo();| (1, 1)"},
        {CHANGES("a.c", EDIT(1, 0, 1, 0, "a\\rb")), "a.c=int foo;|a^bfoo();| (1, 1)"},
        {CHANGES("mixed.c", EDIT(1, 0, 1, 3, "2")), "mixed.c=one|2^|three (1, 1)"},
        {CHANGES("mixed.c", EDIT(1, 0, 1, 0, "a\\r\\nb\\n")), "mixed.c=one|a^|b|two^|three (1, 1)"},
        {CHANGES("empty.c", EDIT(0, 0, 0, 0, "a\\r\\nb\\n")), "empty.c=a^|b| (1, 1)"},
        {CHANGES("bom.c", EDIT(0, 0, 0, 3, "x") "," EDIT(1, 0, 1, 3, "y")),
         "bom.c=" BOM "x|y| (1, 2)"},
        {CHANGES("bom.c", EDIT(0, 0, 2, 0, "x\\n")), "bom.c=" BOM "x| (1, 1)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

/* Whether the server counted the lone CR shows in none of its numbers. */
static void test_disputed_line_ends(void **state)
{
#define DISPUTED                                                                                   \
    "refused: the server's edit of cr.c is unusable: line 2 has a carriage return without a line " \
    "feed, and language servers do not agree whether it ends a line: no place behind it can be "   \
    "named; replace that character first"
    static const struct row rows[] = {
        {CHANGES("cr.c", EDIT(0, 0, 1, 2, "x")), "cr.c=xo^three|four (1, 1)"},
        {CHANGES("cr.c", EDIT(1, 0, 1, 3, "x")), DISPUTED},
        {CHANGES("cr.c", EDIT(1, 4, 1, 9, "x")), DISPUTED},
        {CHANGES("cr.c", EDIT(2, 0, 2, 4, "x")), DISPUTED},
        {CHANGES("cr.c", EDIT(0, 0, 3, 0, "x")), DISPUTED},
        {CHANGES("cr.c", EDIT(0, 0, 4, 0, "x")), "cr.c=x (1, 1)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_encodings(void **state)
{
    static const struct {
        enum wb_position_encoding encoding;
        const char *json;
    } rows[] = {
        {WB_POSITION_UTF8, CHANGES("emoji.c", EDIT(0, 4, 0, 7, "x") "," EDIT(0, 12, 0, 15, "y"))},
        {WB_POSITION_UTF16, CHANGES("emoji.c", EDIT(0, 2, 0, 5, "x") "," EDIT(0, 8, 0, 11, "y"))},
        {WB_POSITION_UTF32, CHANGES("emoji.c", EDIT(0, 1, 0, 4, "x") "," EDIT(0, 6, 0, 9, "y"))},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_text_done) struct wb_text out = {0};

        run_edit(rows[i].json, rows[i].encoding, &out);
        assert_string_equal(wb_text_cstr(&out), "emoji.c=" PARTY "x " PARTY "y| (1, 2)");
    }
}

static void test_versions(void **state)
{
#define STALE(version)                                                                             \
    "refused: the server's edit is for version " version                                           \
    " of a.c, and it was told version 3: ask "                                                     \
    "again"
    static const struct row rows[] = {
        {DOCUMENTS(DOCUMENT("a.c", "3", EDIT(0, 0, 0, 3, "x"))), "a.c=x foo;|foo();| (1, 1)"},
        {DOCUMENTS(DOCUMENT("a.c", "3.0", EDIT(0, 0, 0, 3, "x"))), "a.c=x foo;|foo();| (1, 1)"},
        {DOCUMENTS(DOCUMENT("a.c", "null", EDIT(0, 0, 0, 3, "x"))), "a.c=x foo;|foo();| (1, 1)"},
        {DOCUMENTS("{'textDocument':{'uri':'" U("a.c") "'},'edits':[" EDIT(0, 0, 0, 3, "x") "]}"),
         "a.c=x foo;|foo();| (1, 1)"},
        {DOCUMENTS(DOCUMENT("a.c", "2", EDIT(0, 0, 0, 3, "x"))), STALE("2")},
        {DOCUMENTS(DOCUMENT("b.c", "null", EDIT(0, 0, 0, 3, "x")) "," DOCUMENT(
             "a.c", "10", EDIT(0, 0, 0, 3, "x"))),
         STALE("10")},
        /* Never opened: the version means nothing. */
        {DOCUMENTS(DOCUMENT("b.c", "7", EDIT(0, 0, 0, 3, "x"))), "b.c=x();| (1, 1)"},
        /* Under a new name the server cannot know better. */
        {DOCUMENTS(RENAME("a.c", "n.c", "{}") "," DOCUMENT("n.c", "1", EDIT(0, 0, 0, 3, "x"))),
         "n.c=x foo;|foo();|; -a.c (1, 1)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_create(void **state)
{
    static const struct row rows[] = {
        {DOCUMENTS(CREATE("new.c", "{}")), "new.c= (1, 0)"},
        {DOCUMENTS("{'kind':'create','uri':'" U("deep/down/new.c") "'}"),
         "deep/down/new.c= (1, 0)"},
        {DOCUMENTS(
             CREATE("new.c", "{}") "," DOCUMENT("new.c", "null", EDIT(0, 0, 0, 0, "x\\r\\n"))),
         "new.c=x^| (1, 1)"},
        {DOCUMENTS(CREATE("b.c", "{}")),
         "refused: the server wants to create b.c, which exists already"},
        {DOCUMENTS(CREATE("b.c", "{'overwrite':true}")), "b.c= (1, 0)"},
        {DOCUMENTS(CREATE("b.c", "{'overwrite':true}") "," DOCUMENT("b.c", "null",
                                                                    EDIT(0, 0, 0, 0, "new"))),
         "b.c=new (1, 1)"},
        {DOCUMENTS(CREATE("b.c", "{'ignoreIfExists':true}")), "nothing"},
        {DOCUMENTS(CREATE("b.c", "{'overwrite':true,'ignoreIfExists':true}")), "b.c= (1, 0)"},
        {DOCUMENTS(CREATE("b.c", "{'overwrite':'yes'}")),
         "refused: the server wants to create b.c, which exists already"},
        {DOCUMENTS(CREATE("dir", "{'overwrite':true}")),
         "refused: the server wants to create dir, which exists already"},
        {DOCUMENTS(CREATE("dir", "{'overwrite':true,'ignoreIfExists':true}")), "nothing"},
        {DOCUMENTS(CREATE("new.c", "{}") "," CREATE("new.c", "{}")),
         "refused: the server wants to create new.c, which exists already"},
        {DOCUMENTS(CREATE("b.c/new.c", "{}")),
         "refused: the server wants a file in b.c, which is not a folder"},
        {DOCUMENTS(CREATE("deep/new.c", "{}") "," CREATE("deep", "{}")),
         "refused: the server wants to create deep, which exists already"},
        {DOCUMENTS(CREATE("deep/new.c", "{}") "," RENAME("deep", "dir/deep", "{}")),
         "dir/deep/new.c= (2, 0)"},
        {CHANGES("new.c", EDIT(0, 0, 0, 0, "x")),
         "refused: the server wants to edit new.c, which does not exist"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_rename(void **state)
{
    static const struct row rows[] = {
        {DOCUMENTS(RENAME("b.c", "n.c", "{}")), "n.c=foo();|; -b.c (1, 0)"},
        /* Edits before under the old name, behind under the new one. */
        {DOCUMENTS(DOCUMENT("b.c", "null", EDIT(0, 0, 0, 3, "bar")) "," RENAME("b.c", "n.c", "{}")),
         "n.c=bar();|; -b.c (1, 1)"},
        {DOCUMENTS(RENAME("b.c", "n.c", "{}") "," DOCUMENT("n.c", "null", EDIT(0, 0, 0, 3, "bar"))),
         "n.c=bar();|; -b.c (1, 1)"},
        {DOCUMENTS(DOCUMENT("b.c", "null", EDIT(0, 0, 0, 0, "1")) "," RENAME(
             "b.c", "n.c", "{}") "," DOCUMENT("n.c", "null", EDIT(0, 1, 0, 1, "2"))),
         "n.c=12foo();|; -b.c (1, 2)"},
        {DOCUMENTS(RENAME("b.c", "n.c", "{}") "," DOCUMENT("b.c", "null", EDIT(0, 0, 0, 3, "bar"))),
         "refused: the server wants to edit b.c, which does not exist"},
        {DOCUMENTS(RENAME("no.c", "n.c", "{}")),
         "refused: the server wants to rename no.c, which does not exist"},
        {DOCUMENTS(RENAME("b.c", "a.c", "{}")),
         "refused: the server wants to rename b.c to a.c, which exists already"},
        {DOCUMENTS(RENAME("b.c", "a.c", "{'overwrite':true}")), "a.c=foo();|; -b.c (1, 0)"},
        {DOCUMENTS(RENAME("b.c", "a.c", "{'ignoreIfExists':true}")), "nothing"},
        {DOCUMENTS(RENAME("b.c", "a.c", "{'overwrite':true,'ignoreIfExists':true}")),
         "a.c=foo();|; -b.c (1, 0)"},
        {DOCUMENTS(RENAME("b.c", "dir", "{'overwrite':true}")),
         "refused: the server wants to rename b.c to dir, which only a file could replace"},
        {DOCUMENTS(RENAME("dir", "b.c", "{'overwrite':true}")),
         "refused: the server wants to rename dir to b.c, which only a file could replace"},
        {DOCUMENTS(RENAME("dir", "dir/sub2", "{}")),
         "refused: the server wants to rename dir to dir/sub2, and one is in the other"},
        {DOCUMENTS(RENAME("b.c", "n.c", "{}") "," CREATE("b.c", "{}")), "b.c=; n.c=foo();| (2, 0)"},
        {DOCUMENTS(RENAME("b.c", "n.c", "{}") "," RENAME("a.c", "b.c",
                                                         "{}") "," RENAME("n.c", "a.c", "{}")),
         "a.c=foo();|; b.c=int foo;|foo();| (2, 0)"},
        /* Folders, with what is in them. */
        {DOCUMENTS(RENAME("dir", "lib", "{}")),
         "lib/sub/y.c=y|; lib/x.c=x|; -dir/x.c; -dir/sub/y.c (1, 0)"},
        {DOCUMENTS(DOCUMENT("dir/x.c", "null", EDIT(0, 0, 0, 0, "1")) "," RENAME(
             "dir", "lib",
             "{}") "," DOCUMENT("lib/x.c", "null",
                                EDIT(0, 1, 0, 1, "2")) "," DOCUMENT("lib/sub/y.c", "null",
                                                                    EDIT(0, 0, 0, 1, "z"))),
         "lib/sub/y.c=z|; lib/x.c=12x|; -dir/x.c; -dir/sub/y.c (3, 3)"},
        {DOCUMENTS(
             RENAME("dir", "lib", "{}") "," DOCUMENT("dir/x.c", "null", EDIT(0, 0, 0, 0, "1"))),
         "refused: the server wants to edit dir/x.c, which does not exist"},
        {DOCUMENTS(RENAME("dir", "lib", "{}") "," RENAME("lib", "lab", "{}") "," RENAME(
             "lab/sub", "sub", "{}") "," DOCUMENT("sub/y.c", "null",
                                                  EDIT(0, 0, 0, 1, "z")) "," CREATE("dir/new.c",
                                                                                    "{}")),
         "dir/new.c=; lab/x.c=x|; sub/y.c=z|; -dir/x.c; -dir/sub/y.c (4, 1)"},
        {DOCUMENTS(CREATE("dir/new.c", "{}") "," DOCUMENT(
             "dir/new.c", "null",
             EDIT(0, 0, 0, 0, "n")) "," RENAME("dir", "lib", "{}") "," RENAME("lib/new.c", "new.c",
                                                                              "{}")),
         "lib/sub/y.c=y|; lib/x.c=x|; new.c=n; -dir/x.c; -dir/sub/y.c (2, 1)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_delete(void **state)
{
    static const struct row rows[] = {
        {DOCUMENTS(DELETE("b.c", "{}")), "-b.c (1, 0)"},
        {DOCUMENTS(DELETE("no.c", "{}")),
         "refused: the server wants to delete no.c, which does not exist"},
        {DOCUMENTS(DELETE("no.c", "{'ignoreIfNotExists':true}")), "nothing"},
        {DOCUMENTS(DELETE("dir", "{'recursive':true}")), "-dir/x.c; -dir/sub/y.c (1, 0)"},
        {DOCUMENTS(DOCUMENT("b.c", "null", EDIT(0, 0, 0, 0, "1")) "," DELETE("b.c", "{}")),
         "-b.c (1, 1)"},
        {DOCUMENTS(DELETE("b.c", "{}") "," DOCUMENT("b.c", "null", EDIT(0, 0, 0, 0, "1"))),
         "refused: the server wants to edit b.c, which does not exist"},
        {DOCUMENTS(DELETE("b.c", "{}") "," DELETE("b.c", "{}")),
         "refused: the server wants to delete b.c, which does not exist"},
        {DOCUMENTS(DELETE("dir", "{'recursive':true}") "," DELETE("dir/x.c", "{}")),
         "refused: the server wants to delete dir/x.c, which does not exist"},
        {DOCUMENTS(DELETE("dir", "{'recursive':true}") "," CREATE("dir/x.c", "{}")),
         "dir/x.c=; -dir/sub/y.c (2, 0)"},
        /* Each step needs the one before it. */
        {DOCUMENTS(
             CREATE("step.c", "{}") "," DOCUMENT("step.c", "null", EDIT(0, 0, 0, 0, "step\\n")) "," RENAME(
                 "step.c", "moved.c",
                 "{}") "," DOCUMENT("moved.c", "null",
                                    EDIT(0, 0, 0, 0,
                                         "moved\\n")) "," DELETE("b.c", "{}") "," RENAME("moved.c",
                                                                                         "b.c",
                                                                                         "{}")),
         "b.c=moved|step| (2, 2)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_refused(void **state)
{
    static const struct row rows[] = {
        {"{'changes':{'file:///elsewhere/a.c':[" EDIT(0, 0, 0, 0, "x") "]}}",
         "refused: the server wants to change /elsewhere/a.c, which is not inside the workspace /w"},
        {"{'changes':{'file:///w/sub/../../outside.c':[" EDIT(0, 0, 0, 0, "x") "]}}",
         "refused: the server wants to change /outside.c, which is not inside the workspace /w"},
        {"{'changes':{'file:///w/%2e%2e/outside.c':[" EDIT(0, 0, 0, 0, "x") "]}}",
         "refused: the server wants to change /outside.c, which is not inside the workspace /w"},
        {"{'changes':{'file:///ww/a.c':[" EDIT(0, 0, 0, 0, "x") "]}}",
         "refused: the server wants to change /ww/a.c, which is not inside the workspace /w"},
        {"{'changes':{'" U("a.c") "':[" EDIT(0, 0, 0, 0, "x") "],'untitled:x':[" EDIT(0, 0, 0, 0,
                                                                                      "x") "]}}",
         "refused: the server wants to change untitled:x, which is no file"},
        {"{'changes':{'jdt://contents/a.class':[" EDIT(0, 0, 0, 0, "x") "]}}",
         "refused: the server wants to change jdt://contents/a.class, which is no file"},
        {CHANGES(".git/config", EDIT(0, 0, 0, 0, "x")),
         "refused: the server wants to change .git/config, which belongs to git"},
        {DOCUMENTS(CREATE("dir/.git/hooks/x", "{}")),
         "refused: the server wants to change dir/.git/hooks/x, which belongs to git"},
        {DOCUMENTS(DELETE("", "{'recursive':true}")),
         "refused: the server wants to change /w, which is not inside the workspace /w"},
        {DOCUMENTS(RENAME("b.c", "../b.c", "{}")),
         "refused: the server wants to change /b.c, which is not inside the workspace /w"},
        {DOCUMENTS("{'kind':'shred','uri':'" U("b.c") "'}"),
         "refused: the server wants the operation \"shred\", which is not known"},
        {DOCUMENTS("{'kind':5}"),
         "refused: the server wants the operation \"\", which is not known"},
        {CHANGES("dir", EDIT(0, 0, 0, 0, "x")),
         "refused: the server wants to edit dir, which is not a file"},
        {CHANGES("bad.c", EDIT(0, 0, 0, 0, "x")),
         "refused: the server wants to edit bad.c, which is not UTF-8: it cannot have read it as it "
         "is"},
        /* Localhost is this host. */
        {"{'changes':{'file://localhost/w/b%2Ec':[" EDIT(0, 0, 0, 3, "bar") "]}}",
         "b.c=bar();| (1, 1)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static void test_annotations_and_snippets(void **state)
{
#define ANNOTATED                                                                                  \
    "{'range':{'start':{'line':0,'character':0},'end':{'line':0,'character':3}},"                  \
    "'newText':'bar','annotationId':'note'}"
#define NOTE(members) ",'changeAnnotations':{'note':{'label':'In a string'" members "}}}"
#define CONFIRM "refused: the server wants a part of its edit confirmed by a human: \"In a string\""
#define SNIPPET                                                                                    \
    "refused: the server's edit of b.c is unusable: an edit is a snippet, whose "                  \
    "placeholders nobody can fill"
    static const struct row rows[] = {
        {"{'documentChanges':[" DOCUMENT("b.c", "null", ANNOTATED) "]" NOTE(""),
         "b.c=bar();| (1, 1)"},
        {"{'documentChanges':[" DOCUMENT("b.c", "null", ANNOTATED) "]}", "b.c=bar();| (1, 1)"},
        {"{'documentChanges':[" DOCUMENT("b.c", "null",
                                         ANNOTATED) "]" NOTE(",'needsConfirmation':false"),
         "b.c=bar();| (1, 1)"},
        {"{'documentChanges':[" DOCUMENT("b.c", "null",
                                         ANNOTATED) "]" NOTE(",'needsConfirmation':true"),
         CONFIRM},
        {"{'documentChanges':["
         "{'kind':'delete','uri':'" U("b.c") "','annotationId':'note'}"
                                             "]" NOTE(",'needsConfirmation':true"),
         CONFIRM},
        {DOCUMENTS(
             DOCUMENT("b.c", "null",
                      "{'range':{'start':{'line':0,'character':0},'end':{'line':0,'character':3}},"
                      "'snippet':{'kind':'snippet','value':'${1:x}$0'}}")),
         SNIPPET},
        {DOCUMENTS(
             DOCUMENT("b.c", "null",
                      "{'range':{'start':{'line':0,'character':0},'end':{'line':0,'character':3}},"
                      "'newText':'$0','insertTextFormat':2}")),
         SNIPPET},
        {DOCUMENTS(
             DOCUMENT("b.c", "null",
                      "{'range':{'start':{'line':0,'character':0},'end':{'line':0,'character':3}},"
                      "'newText':'$0','insertTextFormat':1}")),
         "b.c=$0();| (1, 1)"},
    };

    (void)state;
    expect_rows(rows, WB_COUNT(rows));
}

static int look_moved_on(void *ctx, struct wb_arena *arena, const char *path,
                         struct wb_edit_file *ret, struct wb_error *err)
{
    (void)arena;
    (void)path;
    if (ctx == NULL) {
        return wb_error_set(err, WB_ERROR_LIMIT, "the file is too large");
    }
    *ret = (struct wb_edit_file){
        .kind = WB_FILE_REGULAR,
        .content = WB_SPAN(BOM "new\n"),
        .is_open = true,
        .told = wb_span(ctx),
        .version = 1,
    };
    return 0;
}

static void test_content_that_moved_on(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    static char told[] = "old\n";
    struct wb_edit_source source = {
        .workspace = "/w", .encoding = WB_POSITION_UTF16, .look = look_moved_on, .ctx = told};
    struct wb_edit_plan plan;
    struct wb_error err;
    const struct wb_json *edit = parse_quoted(&arena, CHANGES("a.c", EDIT(0, 0, 0, 3, "x")));

    (void)state;
    assert_int_equal(wb_workspace_edit_plan(&arena, edit, &source, &plan, &err), -1);
    assert_int_equal(err.code, WB_ERROR_STALE);
    assert_string_equal(err.message,
                        "a.c has changed on disk since the server was asked: ask again");
    memcpy(told, "new\n", 4);
    assert_int_equal(wb_workspace_edit_plan(&arena, edit, &source, &plan, &err), 0);
    assert_int_equal(plan.n_ops, 1);
    assert_true(wb_span_is(plan.ops[0].new_content, BOM "x\n"));
    source.ctx = NULL;
    assert_int_equal(wb_workspace_edit_plan(&arena, edit, &source, &plan, &err), -1);
    assert_string_equal(err.message, "the file is too large");
}

static int look_at_disk(void *ctx, struct wb_arena *arena, const char *path,
                        struct wb_edit_file *ret, struct wb_error *err)
{
    (void)ctx;
    *ret = (struct wb_edit_file){.kind = wb_file_kind(path, NULL)};
    return ret->kind == WB_FILE_REGULAR ? wb_file_read(arena, path, 4096, &ret->content, NULL, err)
                                        : 0;
}

/* An edit goes through a symlink, a rename or delete takes the link itself; out of the workspace
 * neither leads. */
static void test_symlinks(void **state)
{
    struct scratch s;
    struct wb_edit_plan plan;
    struct wb_error err;

    (void)state;
    scratch_init(&s);
    char *ws = wb_path_join(&s.arena, s.folder, "ws");
    char *real = wb_path_join(&s.arena, ws, "real.c");
    assert_int_equal(mkdir(ws, 0700), 0);
    assert_int_equal(wb_file_write_private(real, WB_SPAN("foo\n"), NULL), 0);
    assert_int_equal(wb_file_write_private(wb_path_join(&s.arena, s.folder, "out.c"),
                                           WB_SPAN("foo\n"), NULL),
                     0);
    assert_int_equal(symlink("real.c", wb_path_join(&s.arena, ws, "link.c")), 0);
    assert_int_equal(symlink("../out.c", wb_path_join(&s.arena, ws, "out.c")), 0);
    assert_int_equal(symlink("..", wb_path_join(&s.arena, ws, "up")), 0);
    struct wb_edit_source source = {
        .workspace = ws, .encoding = WB_POSITION_UTF16, .look = look_at_disk};

    static const struct {
        const char *name;
        const char *edit; /* with %s for the URI */
        const char *path; /* of the first operation, below the workspace; NULL: refused */
    } rows[] = {
        {"link.c", "{'changes':{'%s':[" EDIT(0, 0, 0, 3, "x") "]}}", "real.c"},
        {"out.c", "{'changes':{'%s':[" EDIT(0, 0, 0, 3, "x") "]}}", NULL},
        {"up/out.c", "{'changes':{'%s':[" EDIT(0, 0, 0, 3, "x") "]}}", NULL},
        {"up/ws/real.c", "{'changes':{'%s':[" EDIT(0, 0, 0, 3, "x") "]}}", "real.c"},
        {"link.c", "{'documentChanges':[{'kind':'delete','uri':'%s'}]}", "link.c"},
        {"up/out.c", "{'documentChanges':[{'kind':'delete','uri':'%s'}]}", NULL},
        {"up/new.c", "{'documentChanges':[{'kind':'create','uri':'%s'}]}", NULL},
        {"up/ws/new.c", "{'documentChanges':[{'kind':'create','uri':'%s'}]}", "new.c"},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_text_done) struct wb_text json = {0};
        const char *at = strstr(rows[i].edit, "%s");

        wb_text_add(&json, rows[i].edit, (size_t)(at - rows[i].edit));
        wb_text_add_str(&json, wb_path_to_uri(&s.arena, wb_path_join(&s.arena, ws, rows[i].name)));
        wb_text_add_str(&json, at + 2);
        int status = wb_workspace_edit_plan(&s.arena, parse_quoted(&s.arena, wb_text_cstr(&json)),
                                            &source, &plan, &err);
        if (rows[i].path == NULL) {
            assert_int_equal(status, -1);
            assert_int_equal(err.code, WB_ERROR_DENIED);
        } else {
            assert_int_equal(status, 0);
            assert_int_equal(plan.n_ops, 1);
            assert_string_equal(plan.ops[0].path, wb_path_join(&s.arena, ws, rows[i].path));
        }
    }
    scratch_done(&s);
}

/* Thousands of files in one edit: one write each, in the order of the edit. */
static void test_many_files(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    static char told[] = "new\n";
    struct wb_edit_source source = {
        .workspace = "/w", .encoding = WB_POSITION_UTF16, .look = look_moved_on, .ctx = told};
    struct wb_edit_plan plan;

    (void)state;
    wb_text_add_str(&json, "{'changes':{");
    for (int i = 0; i < 3000; i++) {
        wb_text_printf(&json, "%s'file:///w/%d.c':[" EDIT(0, 0, 0, 0, "x") "]", i == 0 ? "" : ",",
                       i);
    }
    wb_text_add_str(&json, "}}");
    const struct wb_json *edit = parse_quoted(&arena, wb_text_cstr(&json));
    assert_int_equal(wb_workspace_edit_plan(&arena, edit, &source, &plan, NULL), 0);
    assert_int_equal(plan.n_ops, 3000);
    assert_int_equal(plan.n_files, 3000);
    assert_int_equal(plan.n_edits, 3000);
    assert_string_equal(plan.ops[2999].path, "/w/2999.c");
    assert_true(wb_span_is(plan.ops[2999].new_content, BOM "xnew\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_disputed_line_ends),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_rename),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_annotations_and_snippets),
        cmocka_unit_test(test_content_that_moved_on),
        cmocka_unit_test(test_symlinks),
        cmocka_unit_test(test_many_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
