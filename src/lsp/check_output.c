/* check_output: finds diagnostics in what a check's program printed, by its row's pattern (PCRE2).
 * Knows no process. */
#include "lsp/check.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "sys/file.h"
#include "sys/path.h"

#define MATCH_STEPS_MAX 200000 /* PCRE2's own count, for one line's beginning */
#define HARD_LINES_MAX 1000    /* that need more; then the pattern is beyond us */
#define MAKE_DEPTH_MAX 64

enum group { PATH, LINE, COLUMN, SEVERITY, CODE, MESSAGE, GROUP_COUNT };

struct parser {
    struct wb_arena *arena;
    const struct wb_check_row *row;
    const struct wb_check_paths *paths;
    struct wb_span output;
    pcre2_code *code;
    pcre2_match_context *context;
    pcre2_match_data *match;
    uint32_t groups[GROUP_COUNT]; /* numbers; 0: the pattern has none */
    /* Where make is, by what it says of itself up to `seen`. */
    const char *folders[MAKE_DEPTH_MAX];
    size_t n_folders, seen;
};

static void parser_done(struct parser *parser)
{
    pcre2_match_data_free(parser->match);
    pcre2_match_context_free(parser->context);
    pcre2_code_free(parser->code);
}

static int parser_init(struct parser *parser, struct wb_error *err)
{
    static const char *const names[GROUP_COUNT] = {"path",     "line", "column",
                                                   "severity", "code", "message"};
    const char *pattern = parser->row->pattern;
    int code;
    PCRE2_SIZE at;
    /* On bytes, not UTF-8: names of files and quoted source can be in any encoding. */
    parser->code =
        pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern), PCRE2_MULTILINE, &code, &at, NULL);
    if (parser->code == NULL) {
        PCRE2_UCHAR reason[128];
        pcre2_get_error_message(code, reason, sizeof(reason));
        return wb_error_set(
            err, WB_ERROR_INVALID,
            "The pattern of the project check %s does not compile, at its byte %zu: "
            "%s",
            parser->row->id, (size_t)at, (const char *)reason);
    }
    for (int i = 0; i < GROUP_COUNT; i++) {
        int number = pcre2_substring_number_from_name(parser->code, (PCRE2_SPTR)names[i]);
        parser->groups[i] = number > 0 ? (uint32_t)number : 0;
    }
    if (parser->groups[PATH] == 0 || parser->groups[MESSAGE] == 0) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The pattern of the project check %s lacks the group `path` or "
                            "`message`",
                            parser->row->id);
    }
    parser->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(parser->context, MATCH_STEPS_MAX);
    parser->match = pcre2_match_data_create_from_pattern(parser->code, NULL);
    return 0;
}

static struct wb_span get_group(const struct parser *parser, enum group group)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(parser->match);
    uint32_t number = parser->groups[group];
    if (number == 0 || ends[2 * number] == PCRE2_UNSET) {
        return (struct wb_span){0};
    }
    return (struct wb_span){parser->output.ptr + ends[2 * number],
                            ends[2 * number + 1] - ends[2 * number]};
}

/* Valid UTF-8, with the copy's path told as the workspace's. */
static const char *clean_text(const struct parser *parser, struct wb_span bytes)
{
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    bytes = wb_span_trim(bytes);
    struct wb_span copy = wb_span(parser->paths->copy);
    size_t at = 0, hit;
    while (copy.len > 0 && (hit = wb_span_find(bytes, copy, at)) != SIZE_MAX) {
        wb_text_add_utf8(&text, (struct wb_span){bytes.ptr + at, hit - at});
        wb_text_add_str(&text, parser->paths->workspace);
        at = hit + copy.len;
    }
    wb_text_add_utf8(&text, (struct wb_span){bytes.ptr + at, bytes.len - at});
    return wb_arena_strndup(parser->arena, wb_text_cstr(&text), text.len);
}

/* "make[1]: Entering directory '/x'" and "make[1]: Leaving directory '/x'". */
static void follow_make(struct parser *parser, struct wb_span line)
{
    static const struct wb_span entering = {": Entering directory '/", 23};
    if (!wb_span_starts(line, WB_SPAN("make"))) {
        return;
    }
    size_t at = wb_span_find(line, entering, 0);
    if (at != SIZE_MAX && wb_span_ends(line, WB_SPAN("'")) && parser->n_folders < MAKE_DEPTH_MAX) {
        at += entering.len - 1; /* the path begins with its slash */
        parser->folders[parser->n_folders++] =
            wb_arena_strndup(parser->arena, line.ptr + at, line.len - at - 1);
    } else if (wb_span_find(line, WB_SPAN(": Leaving directory '"), 0) != SIZE_MAX &&
               parser->n_folders > 0) {
        parser->n_folders--;
    }
}

static void follow_make_to(struct parser *parser, size_t end)
{
    struct wb_span rest = {parser->output.ptr + parser->seen, end - parser->seen};
    struct wb_span line;
    while (wb_span_next_line(&rest, &line)) {
        follow_make(parser, line);
    }
    parser->seen = end;
}

/* A name counts from where make is, if such a file is there, else from where the program ran. */
static const char *find_path(const struct parser *parser, struct wb_span name)
{
    const struct wb_check_paths *paths = parser->paths;
    const char *relative = wb_arena_strndup(parser->arena, name.ptr, name.len);
    const char *path = NULL;
    if (parser->n_folders > 0) {
        path = wb_path_join(parser->arena, parser->folders[parser->n_folders - 1], relative);
    }
    if (path == NULL || wb_file_kind(path, NULL) == WB_FILE_MISSING) {
        path = wb_path_join(parser->arena, paths->cwd, relative);
    }
    path = wb_path_normalize(parser->arena, path);
    if (paths->copy != NULL && wb_path_is_inside(path, paths->copy)) {
        const char *below = wb_path_relative(path, paths->copy);
        path =
            wb_path_normalize(parser->arena, wb_path_join(parser->arena, paths->workspace, below));
    }
    return path;
}

static enum wb_severity find_severity(const struct parser *parser, struct wb_span text)
{
    enum wb_severity severity = parser->row->default_severity;
    const char *name = wb_arena_strndup(parser->arena, text.ptr != NULL ? text.ptr : "", text.len);
    struct wb_span mapped = wb_json_span(wb_json_get(parser->row->severity_map, name));
    wb_severity_parse(mapped.ptr != NULL ? mapped : text, &severity);
    return severity;
}

static int64_t find_number(struct wb_span text)
{
    int64_t number;
    return wb_span_int64(text, &number) && number > 0 ? number : 0;
}

static void add_match(struct parser *parser, struct wb_diagnostic_list *list)
{
    if (get_group(parser, PATH).len == 0) {
        return;
    }
    struct wb_diagnostic *diagnostic = wb_diagnostics_add(parser->arena, list);
    diagnostic->path = find_path(parser, get_group(parser, PATH));
    diagnostic->line = find_number(get_group(parser, LINE));
    diagnostic->column = WB_MAX(find_number(get_group(parser, COLUMN)) - 1, 0);
    diagnostic->severity = find_severity(parser, get_group(parser, SEVERITY));
    diagnostic->source = parser->row->id;
    diagnostic->code = clean_text(parser, get_group(parser, CODE));
    diagnostic->message = clean_text(parser, get_group(parser, MESSAGE));
}

static size_t next_line(struct wb_span output, size_t at)
{
    size_t line_end = wb_span_find(output, WB_SPAN("\n"), at);
    return line_end != SIZE_MAX ? line_end + 1 : output.len;
}

int wb_check_parse(struct wb_arena *arena, const struct wb_check_row *row, struct wb_span output,
                   const struct wb_check_paths *paths, struct wb_diagnostic_list *list,
                   struct wb_error *err)
{
    WB_AUTO(parser_done)
    struct parser parser = {.arena = arena, .row = row, .paths = paths, .output = output};
    if (parser_init(&parser, err) < 0) {
        return -1;
    }
    size_t at = 0, n_hard = 0;
    for (size_t n = 0; n < WB_CHECK_FINDINGS_MAX && n_hard < HARD_LINES_MAX && at < output.len;) {
        int found = pcre2_match(parser.code, (PCRE2_SPTR)output.ptr, output.len, at, PCRE2_ANCHORED,
                                parser.match, parser.context);
        if (found > 0) {
            follow_make_to(&parser, at);
            add_match(&parser, list);
            at = WB_MAX(pcre2_get_ovector_pointer(parser.match)[1], at + 1);
            n++;
        }
        n_hard += found < 0 && found != PCRE2_ERROR_NOMATCH;
        if (found <= 0 || output.ptr[at - 1] != '\n') {
            at = next_line(output, at);
        }
    }
    return 0;
}
