/* grep: lines of files by a regular expression. */
#include "base/clock.h"
#include "base/limits.h"
#include "files/content.h"
#include "files/regex.h"
#include "run/search.h"
#include "sys/file.h"

#define LINES_SHOWN_MAX 200
#define LINE_SHOWN_BYTES_MAX 400
#define LOCATIONS_MAX 50000
#define LOCATION_LINE_BYTES_MAX 4096

struct grep_args {
    struct wb_span pattern, path, glob;
};

static const struct wb_arg table[] = {
    {"pattern", WB_ARG_STRING, offsetof(struct grep_args, pattern), .required = true, .min = 1,
     .max = 10000, .doc = "a regular expression (Perl's); (?i) in front ignores case"},
    {"path", WB_ARG_PATH, offsetof(struct grep_args, path),
     .doc = "file or folder to search; default the workspace"},
    {"glob", WB_ARG_STRING, offsetof(struct grep_args, glob), .min = 1, .max = 4095,
     .doc = "only files whose path fits, for example *.{c,h}; with ! in front only others"},
};

struct grep {
    struct wb_call *call;
    struct wb_regex *regex;
    struct wb_arena file; /* of the file being searched */
    struct wb_text *text; /* the first hits */
    struct wb_json_writer data;
    size_t n_hits, n_files, n_files_hit, n_binary, n_large, n_unreadable;
    const char *failed_on; /* the file that the pattern took too long on */
    bool timed_out;
    struct wb_error last_failure; /* of reading a file */
};

static void add_hit(struct grep *grep, const char *shown, size_t number, struct wb_span line)
{
    grep->n_hits++;
    if (grep->n_hits <= LINES_SHOWN_MAX) {
        wb_text_printf(grep->text, "%s:%zu: ", shown, number);
        wb_content_add_line(grep->text, line, LINE_SHOWN_BYTES_MAX);
        wb_text_add_char(grep->text, '\n');
    }
    if (grep->n_hits <= LOCATIONS_MAX) {
        line.len = wb_utf8_cut(line, LOCATION_LINE_BYTES_MAX);
        wb_json_begin_object(&grep->data);
        wb_json_member_str(&grep->data, "path", shown);
        wb_json_member_int(&grep->data, "line", (int64_t)number);
        wb_json_member_span(&grep->data, "text", line);
        wb_json_end_object(&grep->data);
    }
}

/* False: the pattern takes too long. */
static bool grep_content(struct grep *grep, struct wb_span content, const char *shown)
{
    size_t bom = wb_file_bom(content), number = 0, skipped, hits_before = grep->n_hits;
    struct wb_span rest = {content.ptr + bom, content.len - bom}, line;
    int found;
    while ((found = wb_regex_next_line(grep->regex, &rest, &line, &skipped)) == 1) {
        number += skipped + 1;
        add_hit(grep, shown, number, line);
    }
    grep->n_files_hit += grep->n_hits != hits_before;
    return found == 0;
}

static bool grep_file(void *ctx, const char *path, const char *shown)
{
    struct grep *grep = ctx;
    struct wb_span content;
    struct wb_error err = {0};
    if (wb_clock_left_ms(grep->call->deadline_ms) == 0) {
        grep->timed_out = true;
        return false;
    }
    wb_arena_clear(&grep->file);
    if (wb_file_read_real(&grep->file, path, WB_FILE_BYTES_MAX, &content, NULL, &err) != 0) {
        *(err.code == WB_ERROR_LIMIT ? &grep->n_large : &grep->n_unreadable) += 1;
        grep->last_failure = err;
    } else if (wb_file_is_binary(content)) {
        grep->n_binary++;
    } else {
        grep->n_files++;
        if (!grep_content(grep, content, shown)) {
            grep->failed_on = wb_arena_strdup(grep->call->arena, shown);
            return false;
        }
    }
    return true;
}

static void tell_skipped(struct wb_text *out, size_t n, const char *what)
{
    if (n != 0) {
        wb_text_printf(out, ", %zu %s", n, what);
    }
}

/* As the character, or as \n, \r\n. */
static bool asks_for_line_end(struct wb_span pattern)
{
    return wb_span_find(pattern, WB_SPAN("\n"), 0) != SIZE_MAX ||
           wb_span_find(pattern, WB_SPAN("\\n"), 0) != SIZE_MAX;
}

static void tell(struct grep *grep, const struct wb_search *search, struct wb_span pattern)
{
    struct wb_text *out = grep->text;
    if (grep->n_hits > LINES_SHOWN_MAX) {
        wb_text_printf(out,
                       "[%d of %zu matching lines shown, in %zu files: narrow the pattern, "
                       "path or glob",
                       LINES_SHOWN_MAX, grep->n_hits, grep->n_files_hit);
    } else if (grep->n_hits == 0) {
        wb_text_printf(out, "[no matching line in %zu file%s", grep->n_files,
                       grep->n_files == 1 ? "" : "s");
    } else {
        wb_text_printf(out, "[%zu matching line%s in %zu of %zu files", grep->n_hits,
                       grep->n_hits == 1 ? "" : "s", grep->n_files_hit, grep->n_files);
    }
    WB_AUTO(wb_text_done) struct wb_text skipped;
    wb_text_init(&skipped);
    tell_skipped(&skipped, grep->n_binary, "binary");
    tell_skipped(&skipped, grep->n_large, "too large");
    tell_skipped(&skipped, grep->n_unreadable + search->counts.unreadable, "unreadable");
    tell_skipped(&skipped, search->n_outside, "symlinks out of the workspace");
    tell_skipped(&skipped, search->n_ruled_out, "that a guard rule governs");
    if (skipped.len != 0) {
        wb_text_printf(out, "; skipped: %s", wb_text_cstr(&skipped) + 2);
    }
    wb_text_add_str(out, "]\n");
    if (grep->n_hits == 0 && asks_for_line_end(pattern)) {
        wb_text_add_str(out, "[lines are searched one by one, without their line ends: a pattern "
                             "with a line end in it matches nothing]\n");
    }
}

/* What was asked for by name, and cannot be read, is no file without matches. */
static int check_end(const struct grep *grep, const struct wb_search *search, struct wb_error *err)
{
    if (search->is_file && grep->n_unreadable + grep->n_large == 1) {
        return wb_error_set(err, grep->last_failure.code, "%s", grep->last_failure.message);
    }
    if (grep->failed_on != NULL) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "The pattern takes too many steps on %s: make it simpler (nested "
                            "repetitions are the usual cause), or leave the file out",
                            grep->failed_on);
    }
    if (grep->timed_out) {
        return wb_error_set(err, WB_ERROR_TIMEOUT,
                            "The deadline came after %zu files: narrow the path or the glob",
                            grep->n_files);
    }
    return 0;
}

static int run_grep(struct grep *grep, const struct grep_args *args, struct wb_result *result,
                    struct wb_error *err)
{
    struct wb_search search = {
        .call = grep->call, .glob = args->glob.ptr, .visit = grep_file, .ctx = grep};
    wb_result_data(result, &grep->data);
    wb_json_begin_object(&grep->data);
    wb_json_key(&grep->data, "locations");
    wb_json_begin_array(&grep->data);
    if (wb_search_files(&search, args->path, err) != 0 || check_end(grep, &search, err) != 0) {
        wb_text_clear(&result->data);
        return -1;
    }
    wb_json_end_array(&grep->data);
    wb_json_member_int(&grep->data, "total", (int64_t)grep->n_hits);
    wb_json_end_object(&grep->data);
    tell(grep, &search, args->pattern);
    return 0;
}

static int call_grep(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    const struct grep_args *a = args;
    WB_AUTO(wb_regex_free_p) struct wb_regex *regex = wb_regex_new(a->pattern, err);
    if (regex == NULL) {
        return -1;
    }
    struct grep grep = {.call = call, .regex = regex, .text = &result->text};
    wb_arena_init(&grep.file);
    int status = run_grep(&grep, a, result, err);
    wb_arena_done(&grep.file);
    return status;
}

const struct wb_tool wb_tool_grep = {
    .name = "grep",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Search file contents with a regular expression",
    .description =
        "Searches text files line by line with a regular expression (Perl syntax) and lists "
        "matching lines as path:line: text, 200 at most, with the total. What .gitignore and "
        ".ignore exclude is left out, and hidden and binary files. To find uses of a symbol, lsp "
        "references is exact where grep is not.",
    .args = {table, WB_COUNT(table), sizeof(struct grep_args), NULL, 0},
    .call = call_grep,
};
