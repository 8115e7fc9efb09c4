/* scan: see the header. */
#include "ast/scan.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "run/run.h"
#include "sys/path.h"

#define WAKE_EACH 16      /* files that the walk finds before it wakes the threads that wait */
#define TRIM_BYTES WB_MIB /* parsed: what the parsers took is given back to the system then */
#define PROGRESS_MS 1000  /* between two words of how far a search is */

/* ANOTHER: a symlink to a file that is searched under another name, or that is not there. */
enum outcome { PENDING, SEARCHED, BINARY, LARGE, UNREADABLE, SLOW, ANOTHER };

struct slot {
    const char *path, *shown;
    enum outcome outcome;
    bool is_symlink, is_done, has_errors;
    void *results;
    size_t n, n_given_up;
};

/* The files are searched while they are being found. One thread walks, and searches when that is
 * over. */
struct job {
    struct wb_scan *scan;
    struct wb_search search;
    struct wb_error err;    /* of the walk */
    struct wb_arena arena;  /* paths and slots; the walking thread's */
    atomic_bool has_walker; /* some thread walks, or has */
    atomic_bool is_stopped; /* there is enough */
    atomic_size_t n_parsed_bytes;
    pthread_mutex_t lock; /* what follows, and is_done of the slots */
    pthread_cond_t more;  /* slots have come, or the walk is over */
    struct slot **slots;  /* in path order; malloc'ed */
    size_t n_slots, slots_capacity;
    size_t next, next_symlink; /* to be taken */
    size_t n_prefix;           /* files done without a gap */
    size_t n_results;          /* in them */
    size_t n_done;
    int64_t told_ms; /* when progress was told last */
    bool is_walk_over, is_walk_whole;
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

/* --- finding them, on the walking thread --- */

static void add_file(struct job *job, const char *path, const char *shown)
{
    struct slot *slot = wb_arena_alloc(&job->arena, sizeof(*slot));
    *slot = (struct slot){
        .path = wb_arena_strdup(&job->arena, path),
        .shown = wb_arena_strdup(&job->arena, shown),
        .is_symlink = job->search.at_symlink,
    };
    pthread_mutex_lock(&job->lock);
    WB_GROW(job->slots, job->slots_capacity, job->n_slots + 1);
    job->slots[job->n_slots++] = slot;
    if (job->n_slots % WAKE_EACH == 0) {
        pthread_cond_broadcast(&job->more);
    }
    pthread_mutex_unlock(&job->lock);
}

/* The walk goes on behind the stop until it has seen a file that is not searched: only then it is
 * true, whatever the threads do, that there are more. */
static bool is_enough(struct job *job)
{
    if (!atomic_load(&job->is_stopped)) {
        return wb_clock_left_ms(job->scan->call->deadline_ms) == 0;
    }
    pthread_mutex_lock(&job->lock);
    size_t i = job->n_prefix;
    while (i < job->n_slots && job->slots[i]->is_symlink) {
        i++;
    }
    bool is_behind = i < job->n_slots;
    pthread_mutex_unlock(&job->lock);
    return is_behind;
}

static bool collect(void *ctx, const char *path, const char *shown)
{
    struct job *job = ctx;
    if (is_wanted(job->scan, path)) {
        add_file(job, path, shown);
    }
    return !is_enough(job);
}

/* A file that a symlink leads to is searched once, under its own name where that is searched too. */
static void follow_symlinks(struct job *job)
{
    struct wb_map real;
    wb_map_init(&real);
    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i]->is_symlink) {
            wb_map_set(&real, job->slots[i]->path, job);
        }
    }
    for (size_t i = 0; i < job->n_slots; i++) {
        struct slot *slot = job->slots[i];
        if (slot->is_symlink) {
            slot->path = wb_path_real(&job->arena, slot->path, NULL);
            slot->is_done = slot->path == NULL || wb_map_set(&real, slot->path, job) != NULL;
            slot->outcome = slot->is_done ? ANOTHER : PENDING;
        }
    }
    wb_map_done(&real);
}

/* A file that is named is searched whatever its name; of a folder, the files of the language. */
static int find_files(struct job *job)
{
    struct wb_scan *scan = job->scan;
    const char *path = NULL;
    if (scan->path.ptr != NULL) {
        path = wb_call_path(scan->call, scan->path, &job->err);
        if (path == NULL) {
            return -1;
        }
    }
    if (path != NULL && wb_file_kind(path, NULL) == WB_FILE_REGULAR) {
        add_file(job, path, wb_call_relative(scan->call, path));
        return 0;
    }
    return wb_search_files(&job->search, scan->path, &job->err);
}

/* Files done without a gap; under the lock. They decide when there is enough. */
static void advance(struct job *job)
{
    while (job->n_prefix < job->n_slots && job->slots[job->n_prefix]->is_done &&
           job->n_results < job->scan->stop_after) {
        job->n_results += job->slots[job->n_prefix++]->n;
    }
    if (job->n_results >= job->scan->stop_after) {
        atomic_store(&job->is_stopped, true);
    }
}

static void walk(struct job *job)
{
    int status = find_files(job);
    bool is_whole = status == 0 && !is_enough(job);
    pthread_mutex_lock(&job->lock);
    job->is_walk_over = true;
    job->is_walk_whole = is_whole;
    follow_symlinks(job);
    advance(job);
    pthread_cond_broadcast(&job->more);
    pthread_mutex_unlock(&job->lock);
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
        atomic_fetch_add(&worker->job->n_parsed_bytes, source->content.len);
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

static void finish(struct job *job, struct slot *slot, enum outcome outcome)
{
    size_t n_done = 0, n_slots = 0;
    pthread_mutex_lock(&job->lock);
    slot->outcome = outcome;
    slot->is_done = true;
    job->n_done++;
    advance(job);
    if (wb_clock_now_ms() - job->told_ms >= PROGRESS_MS) {
        job->told_ms = wb_clock_now_ms();
        n_done = job->n_done;
        n_slots = job->is_walk_over ? job->n_slots : 0;
    }
    pthread_mutex_unlock(&job->lock);
    if (n_done > 0) {
        wb_call_progress(job->scan->call, (int64_t)n_done, (int64_t)n_slots, "%zu files searched",
                         n_done);
    }
}

static bool is_given_up(const struct job *job)
{
    return atomic_load(&job->is_stopped) || wb_cancel_is_fired(job->scan->call->cancel) ||
           wb_clock_left_ms(job->scan->call->deadline_ms) == 0;
}

/* The next file that is there, under the lock; symlinks when all files are known. */
static struct slot *next_slot(struct job *job)
{
    while (job->next < job->n_slots) {
        struct slot *slot = job->slots[job->next++];
        if (!slot->is_symlink) {
            return slot;
        }
    }
    while (job->is_walk_over && job->next_symlink < job->n_slots) {
        struct slot *slot = job->slots[job->next_symlink++];
        if (slot->is_symlink && !slot->is_done) {
            return slot;
        }
    }
    return NULL;
}

/* NULL: there is nothing left to do. */
static struct slot *take_slot(struct job *job)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&job->lock);
    while (!is_given_up(job) && (slot = next_slot(job)) == NULL && !job->is_walk_over) {
        pthread_cond_wait(&job->more, &job->lock);
    }
    pthread_mutex_unlock(&job->lock);
    return slot;
}

static void work(void *ctx, size_t i)
{
    struct worker worker = {.job = ctx};
    struct job *job = ctx;
    struct slot *slot;
    (void)i;
    if (!atomic_exchange(&job->has_walker, true)) {
        walk(job);
    }
    worker.parser = wb_parser_new();
    worker.matcher = wb_matcher_new(job->scan->pattern);
    wb_arena_init(&worker.arena);
    while ((slot = take_slot(job)) != NULL) {
        finish(job, slot, search_file(&worker, slot));
        wb_arena_clear(&worker.arena);
    }
    wb_arena_done(&worker.arena);
    wb_matcher_free(worker.matcher);
    wb_parser_free(worker.parser);
}

/* --- the whole --- */

static void count(struct wb_scan *scan, const struct slot *slot)
{
    if (slot->outcome == ANOTHER) {
        return;
    }
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
    bool is_cut = false; /* some file is behind the stop */
    for (size_t i = 0; i < job->n_slots; i++) {
        struct slot *slot = job->slots[i];
        if (i < job->n_prefix) {
            count(scan, slot);
            if (slot->results != NULL) {
                scan->take(scan->ctx, slot->path, slot->shown, slot->results, slot->n);
            }
        } else {
            is_cut = is_cut || slot->outcome != ANOTHER;
            if (slot->results != NULL) {
                scan->drop(slot->results);
            }
        }
    }
    if (is_cut && job->n_prefix > 0) {
        const struct slot *last = job->slots[job->n_prefix - 1];
        scan->stopped_at = wb_arena_strdup(scan->call->arena, last->shown);
    } else {
        scan->n_outside = job->search.n_outside;
        scan->n_ruled_out = job->search.n_ruled_out;
        scan->n_unreadable += job->search.counts.unreadable;
    }
}

static int check_end(const struct job *job, struct wb_error *err)
{
    const struct wb_scan *scan = job->scan;
    if (job->err.code != WB_ERROR_NONE) {
        *err = job->err;
        return -1;
    }
    if (job->n_results >= scan->stop_after ||
        (job->is_walk_whole && job->n_prefix == job->n_slots)) {
        return 0;
    }
    bool cancelled = wb_cancel_is_fired(scan->call->cancel);
    return wb_error_set(
        err, cancelled ? WB_ERROR_CANCELLED : WB_ERROR_TIMEOUT,
        cancelled ? "The search was cancelled after %zu of %zu files"
                  : "The deadline came after %zu of %zu files that were found: narrow the path",
        job->n_prefix, job->n_slots);
}

static size_t n_threads(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? WB_MIN((size_t)processors, (size_t)WB_SCAN_THREADS_MAX) : 1;
}

int wb_scan_run(struct wb_scan *scan, struct wb_error *err)
{
    struct job job = {.scan = scan, .told_ms = wb_clock_now_ms()};
    job.search = (struct wb_search){.call = scan->call, .visit = collect, .ctx = &job};
    wb_arena_init(&job.arena);
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.more, NULL);
    wb_pool_run_each(wb_host_pool(wb_run_host(scan->call->run)), n_threads(), work, &job);
    int status = check_end(&job, err);
    scan->n_files = job.n_slots;
    take_results(&job);
    if (atomic_load(&job.n_parsed_bytes) >= TRIM_BYTES) {
        malloc_trim(0);
    }
    pthread_cond_destroy(&job.more);
    pthread_mutex_destroy(&job.lock);
    wb_arena_done(&job.arena);
    free(job.slots);
    return status;
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
