/* scan: see the header. */
#include "ast/scan.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "run/run.h"
#include "sys/path.h"

enum outcome { PENDING, SEARCHED, BINARY, LARGE, UNREADABLE, SLOW };

struct slot {
    const char *path, *shown;
    enum outcome outcome;
    bool is_symlink, is_done, has_errors;
    void *results;
    size_t n, n_given_up;
};

struct job {
    struct wb_scan *scan;
    struct wb_search search;
    struct wb_arena arena; /* paths */
    struct slot *slots;
    size_t n_slots, slots_capacity, n_symlinks;
    atomic_size_t next;
    atomic_bool is_stopped;
    pthread_mutex_t lock; /* what follows, and is_done of the slots */
    size_t n_prefix;      /* files done without a gap */
    size_t n_results;     /* in them */
};

/* What one thread works with. */
struct worker {
    struct job *job;
    struct wb_parser *parser;
    struct wb_matcher *matcher;
    struct wb_arena arena; /* of the file at hand */
};

/* --- the files --- */

static bool has_no_extension(const char *path)
{
    return strchr(wb_path_base(path), '.') == NULL;
}

static size_t read_head(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read(fd, buffer, size) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 ? (size_t)n : 0;
}

const struct wb_language *wb_scan_language(const struct wb_languages *languages, const char *path)
{
    char head[128];
    const struct wb_language *language =
        wb_languages_of_file(languages, path, (struct wb_span){NULL, 0});
    if (language != NULL || !has_no_extension(path)) {
        return language;
    }
    struct wb_span first = {head, read_head(path, head, sizeof(head))};
    return wb_span_starts(first, WB_SPAN("#!")) ? wb_languages_of_file(languages, path, first)
                                                : NULL;
}

/* Files of other languages that are this one's too: C++ has headers called .h. */
static bool is_also(const struct wb_grammar *grammar, const char *path)
{
    const struct wb_json *also = wb_json_get(grammar->language->grammar, "also");
    for (struct wb_json_iter it = wb_json_iter(also); wb_json_next(&it);) {
        const char *extension = wb_json_str(it.value);
        if (extension != NULL && wb_str_equal(wb_path_extension(path), extension)) {
            return true;
        }
    }
    return false;
}

/* Languages that share a parser are searched together (JavaScript's two). */
static bool is_wanted(const struct wb_scan *scan, const char *path)
{
    const struct wb_grammar *grammar = scan->pattern->grammar;
    const struct wb_language *language = wb_scan_language(scan->languages, path);
    if (language == NULL || language->grammar == NULL) {
        return false;
    }
    if (language == grammar->language) {
        return true;
    }
    const char *parser = wb_json_str(wb_json_get(language->grammar, "parser"));
    const char *own = wb_json_str(wb_json_get(grammar->language->grammar, "parser"));
    return (parser != NULL && own != NULL && wb_str_equal(parser, own)) || is_also(grammar, path);
}

static void add_file(struct job *job, const char *path, const char *shown)
{
    *WB_ARENA_PUSH(&job->arena, job->slots, job->n_slots, job->slots_capacity) = (struct slot){
        .path = wb_arena_strdup(&job->arena, path),
        .shown = wb_arena_strdup(&job->arena, shown),
        .is_symlink = job->search.at_symlink,
    };
    job->n_symlinks += job->search.at_symlink;
}

static bool collect(void *ctx, const char *path, const char *shown)
{
    struct job *job = ctx;
    if (is_wanted(job->scan, path)) {
        add_file(job, path, shown);
    }
    return true;
}

/* A file that a symlink leads to is searched once, under its own name where that is searched too. */
static void follow_symlinks(struct job *job)
{
    struct wb_map real;
    size_t n = 0;
    wb_map_init(&real);
    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i].is_symlink) {
            wb_map_set(&real, job->slots[i].path, job);
        }
    }
    for (size_t i = 0; i < job->n_slots; i++) {
        struct slot *slot = &job->slots[i];
        slot->path = slot->is_symlink ? wb_path_real(&job->arena, slot->path, NULL) : slot->path;
        if (slot->path != NULL && !(slot->is_symlink && wb_map_set(&real, slot->path, job))) {
            job->slots[n++] = *slot;
        }
    }
    job->n_slots = n;
    wb_map_done(&real);
}

/* --- one file, on a worker's thread --- */

static void match(struct worker *worker, struct slot *slot, struct wb_span source,
                  const struct wb_flat_tree *tree)
{
    struct wb_scan *scan = worker->job->scan;
    size_t given_up = wb_matcher_given_up(worker->matcher);
    wb_matcher_start(worker->matcher, tree, source);
    const struct wb_scan_file file = {
        .path = slot->path,
        .shown = slot->shown,
        .tree = tree,
        .source = source,
        .matcher = worker->matcher,
        .parser = worker->parser,
    };
    slot->results = scan->visit(scan->ctx, &file, &slot->n);
    slot->has_errors = tree->n_errors > 0;
    slot->n_given_up = wb_matcher_given_up(worker->matcher) - given_up;
}

static int64_t parse_deadline(const struct wb_call *call)
{
    return WB_MIN(call->deadline_ms, wb_clock_deadline(WB_SCAN_PARSE_MS));
}

/* From the cache, or parsed. NULL: that took too long. */
static const struct wb_flat_tree *take_tree(struct worker *worker, const struct wb_source *source)
{
    struct wb_scan *scan = worker->job->scan;
    struct wb_flat_tree parsed;
    struct wb_error err;
    const struct wb_flat_tree *tree = wb_tree_cache_get(scan->cache, source);
    if (tree == NULL &&
        wb_parser_parse(worker->parser, source->grammar, source->content,
                        parse_deadline(scan->call), scan->call->cancel, &parsed, &err) == 0) {
        tree = wb_tree_cache_put_take(scan->cache, source, &parsed);
    }
    return tree;
}

static enum outcome search_source(struct worker *worker, struct slot *slot,
                                  const struct wb_source *source)
{
    struct wb_scan *scan = worker->job->scan;
    if (wb_file_is_binary(source->content)) {
        return BINARY;
    }
    if (!wb_filter_source(scan->pattern, source->content)) {
        wb_tree_cache_note(scan->cache, source);
        return SEARCHED;
    }
    const struct wb_flat_tree *tree = take_tree(worker, source);
    if (tree == NULL) {
        return SLOW;
    }
    match(worker, slot, source->content, tree);
    wb_tree_cache_release(tree);
    return SEARCHED;
}

static enum outcome search_file(struct worker *worker, struct slot *slot)
{
    struct wb_scan *scan = worker->job->scan;
    struct wb_source source = {.path = slot->path, .grammar = scan->pattern->grammar};
    struct wb_error err;
    if (wb_tree_cache_rules_out(scan->cache, slot->path, scan->pattern)) {
        return SEARCHED;
    }
    if (wb_file_read(&worker->arena, slot->path, WB_FILE_BYTES_MAX, &source.content, &source.stamp,
                     &err) != 0) {
        return err.code == WB_ERROR_LIMIT ? LARGE : UNREADABLE;
    }
    return search_source(worker, slot, &source);
}

/* The files done without a gap decide when there is enough. */
static void finish(struct job *job, struct slot *slot, enum outcome outcome)
{
    pthread_mutex_lock(&job->lock);
    slot->outcome = outcome;
    slot->is_done = true;
    while (job->n_prefix < job->n_slots && job->slots[job->n_prefix].is_done &&
           job->n_results < job->scan->stop_after) {
        job->n_results += job->slots[job->n_prefix++].n;
    }
    if (job->n_results >= job->scan->stop_after) {
        atomic_store(&job->is_stopped, true);
    }
    pthread_mutex_unlock(&job->lock);
}

static void work(void *ctx, size_t i)
{
    struct worker worker = {.job = ctx, .parser = wb_parser_new()};
    struct job *job = ctx;
    (void)i;
    worker.matcher = wb_matcher_new(job->scan->pattern);
    wb_arena_init(&worker.arena);
    while (!atomic_load(&job->is_stopped) && !wb_cancel_is_fired(job->scan->call->cancel) &&
           wb_clock_left_ms(job->scan->call->deadline_ms) > 0) {
        size_t index = atomic_fetch_add(&job->next, 1);
        if (index >= job->n_slots) {
            break;
        }
        finish(job, &job->slots[index], search_file(&worker, &job->slots[index]));
        wb_arena_clear(&worker.arena);
    }
    wb_arena_done(&worker.arena);
    wb_matcher_free(worker.matcher);
    wb_parser_free(worker.parser);
}

/* --- the whole --- */

static void count(struct wb_scan *scan, const struct slot *slot)
{
    size_t *const counters[] = {
        [SEARCHED] = &scan->n_searched,     [BINARY] = &scan->n_binary, [LARGE] = &scan->n_large,
        [UNREADABLE] = &scan->n_unreadable, [SLOW] = &scan->n_slow,
    };
    (*counters[slot->outcome])++;
    scan->n_results += slot->n;
    scan->n_given_up += slot->n_given_up;
    scan->n_with_errors += slot->has_errors;
}

static void take_results(struct job *job)
{
    struct wb_scan *scan = job->scan;
    for (size_t i = 0; i < job->n_slots; i++) {
        struct slot *slot = &job->slots[i];
        if (i < job->n_prefix) {
            count(scan, slot);
            if (slot->results != NULL) {
                scan->take(scan->ctx, slot->path, slot->shown, slot->results, slot->n);
            }
        } else if (slot->results != NULL) {
            scan->drop(slot->results);
        }
    }
    if (job->n_prefix < job->n_slots && job->n_prefix > 0) {
        scan->stopped_at = wb_arena_strdup(scan->call->arena, job->slots[job->n_prefix - 1].shown);
    }
}

static int check_end(const struct job *job, struct wb_error *err)
{
    const struct wb_scan *scan = job->scan;
    if (job->n_prefix == job->n_slots || job->n_results >= scan->stop_after) {
        return 0;
    }
    bool cancelled = wb_cancel_is_fired(scan->call->cancel);
    return wb_error_set(err, cancelled ? WB_ERROR_CANCELLED : WB_ERROR_TIMEOUT,
                        cancelled ? "The search was cancelled after %zu of %zu files"
                                  : "The deadline came after %zu of %zu files: narrow the path",
                        job->n_prefix, job->n_slots);
}

static size_t n_threads(size_t n_files)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = processors > 0 ? (size_t)processors : 1;
    return WB_MAX(WB_MIN(WB_MIN(n, (size_t)WB_SCAN_THREADS_MAX), n_files), (size_t)1);
}

/* A file that is named is searched whatever its name; of a folder, the files of the language. */
static int find_files(struct job *job, struct wb_error *err)
{
    struct wb_scan *scan = job->scan;
    const char *path = scan->path.ptr != NULL ? wb_call_path(scan->call, scan->path, err) : NULL;
    if (scan->path.ptr != NULL && path == NULL) {
        return -1;
    }
    if (path != NULL && wb_file_kind(path, NULL) == WB_FILE_REGULAR) {
        add_file(job, path, wb_call_relative(scan->call, path));
        return 0;
    }
    if (wb_search_files(&job->search, scan->path, err) != 0) {
        return -1;
    }
    if (job->n_symlinks > 0) {
        follow_symlinks(job);
    }
    scan->n_outside = job->search.n_outside;
    scan->n_unreadable = job->search.counts.unreadable;
    return 0;
}

int wb_scan_run(struct wb_scan *scan, struct wb_error *err)
{
    struct job job = {.scan = scan};
    job.search = (struct wb_search){.call = scan->call, .visit = collect, .ctx = &job};
    wb_arena_init(&job.arena);
    pthread_mutex_init(&job.lock, NULL);
    int status = find_files(&job, err);
    if (status == 0) {
        scan->n_files = job.n_slots;
        wb_pool_run_each(wb_host_pool(wb_run_host(scan->call->run)), n_threads(job.n_slots), work,
                         &job);
        status = check_end(&job, err);
        take_results(&job);
    }
    pthread_mutex_destroy(&job.lock);
    wb_arena_done(&job.arena);
    return status;
}

/* --- which languages are there --- */

struct survey_row {
    const struct wb_grammar *grammar;
    size_t n;
};

struct survey {
    const struct wb_languages *languages;
    const struct wb_grammars *grammars;
    struct survey_row found[128];
    size_t n_found;
};

static bool survey_file(void *ctx, const char *path, const char *shown)
{
    struct survey *survey = ctx;
    const struct wb_grammar *grammar =
        wb_grammars_of(survey->grammars, wb_scan_language(survey->languages, path));
    (void)shown;
    for (size_t i = 0; grammar != NULL && i < WB_COUNT(survey->found); i++) {
        if (i == survey->n_found) {
            survey->found[survey->n_found++].grammar = grammar;
        }
        if (survey->found[i].grammar == grammar) {
            survey->found[i].n++;
            break;
        }
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct survey_row *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n)
                        : strcmp(x->grammar->language->id, y->grammar->language->id);
}

int wb_scan_survey(struct wb_call *call, const struct wb_languages *languages,
                   const struct wb_grammars *grammars, struct wb_span path, struct wb_text *out,
                   struct wb_error *err)
{
    struct survey survey = {.languages = languages, .grammars = grammars};
    struct wb_search search = {.call = call, .visit = survey_file, .ctx = &survey};
    if (wb_search_files(&search, path, err) != 0) {
        return -1;
    }
    qsort(survey.found, survey.n_found, sizeof(survey.found[0]), by_number);
    for (size_t i = 0; i < survey.n_found; i++) {
        wb_text_printf(out, "%s%s (%zu file%s)", i > 0 ? ", " : "",
                       survey.found[i].grammar->language->id, survey.found[i].n,
                       survey.found[i].n == 1 ? "" : "s");
    }
    return 0;
}

/* --- lines --- */

size_t wb_line_of(struct wb_line_counter *counter, size_t offset)
{
    if (offset < counter->at) {
        counter->at = 0;
        counter->line = 1;
    }
    const char *end = counter->source.ptr + offset;
    const char *at = counter->source.ptr + counter->at;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        counter->line++;
        at++;
    }
    counter->at = offset;
    return counter->line;
}
