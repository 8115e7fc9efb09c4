/* staging: see the header. */
#include "staging/staging.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct wb_staging {
    struct wb_stager stager; /* first: the run's resource is this */
    pthread_mutex_t lock;
    struct wb_staged_edit **edits; /* in the order of their ids */
    size_t n_edits, capacity;
    size_t n_staged, bytes; /* of those with content */
};

/* --- edits --- */

static void free_content(struct wb_staging *staging, struct wb_staged_edit *edit)
{
    staging->n_staged--;
    staging->bytes -= edit->bytes;
    edit->files = NULL;
    edit->n_files = 0;
    wb_arena_done(&edit->arena);
}

static void free_staging(void *resource)
{
    struct wb_staging *staging = resource;
    for (size_t i = 0; i < staging->n_edits; i++) {
        if (staging->edits[i]->files != NULL) {
            free_content(staging, staging->edits[i]);
        }
        free(staging->edits[i]);
    }
    free(staging->edits);
    pthread_mutex_destroy(&staging->lock);
    free(staging);
}

static size_t count_bytes(const struct wb_staged_file *files, size_t n_files)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n_files; i++) {
        bytes += files[i].old_content.len + files[i].new_content.len;
    }
    return bytes;
}

static struct wb_staged_edit *copy_edit(const char *what, const struct wb_staged_file *files,
                                        size_t n_files)
{
    struct wb_staged_edit *edit = wb_alloc(sizeof(*edit));
    wb_arena_init(&edit->arena);
    struct wb_staged_file *copies = wb_arena_alloc_array(&edit->arena, n_files, sizeof(*copies));
    for (size_t i = 0; i < n_files; i++) {
        copies[i].path = wb_arena_strdup(&edit->arena, files[i].path);
        copies[i].old_content = wb_arena_span(&edit->arena, files[i].old_content);
        copies[i].new_content = wb_arena_span(&edit->arena, files[i].new_content);
        copies[i].n_replacements = files[i].n_replacements;
        edit->n_replacements += files[i].n_replacements;
    }
    edit->what = wb_arena_strdup(&edit->arena, what);
    edit->files = copies;
    edit->n_files = n_files;
    edit->bytes = count_bytes(files, n_files);
    return edit;
}

/* "edit_1 (12 replacements in 4 files), ..."; "nothing" without any. Under the lock. */
static void list_staged(const struct wb_staging *staging, struct wb_text *out)
{
    for (size_t i = 0; i < staging->n_edits; i++) {
        const struct wb_staged_edit *edit = staging->edits[i];
        if (edit->state == WB_STAGED_STAGED || edit->state == WB_STAGED_RESOLVING) {
            wb_text_printf(out, "%s%s (%s: %zu replacement%s in %zu file%s)",
                           out->len > 0 ? ", " : "", edit->id, edit->what, edit->n_replacements,
                           edit->n_replacements == 1 ? "" : "s", edit->n_files,
                           edit->n_files == 1 ? "" : "s");
        }
    }
    if (out->len == 0) {
        wb_text_add_str(out, "nothing");
    }
}

static int refuse_more(const struct wb_staging *staging, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text staged = {0};
    list_staged(staging, &staged);
    return wb_error_set(err, WB_ERROR_LIMIT,
                        "Too much is staged already: accept or discard some first. Staged: %s",
                        wb_text_cstr(&staged));
}

static int stage(void *ctx, const char *what, const struct wb_staged_file *files, size_t n_files,
                 char ret_id[WB_STAGED_ID_BYTES], struct wb_error *err)
{
    struct wb_staging *staging = ctx;
    size_t bytes = count_bytes(files, n_files);
    int status = 0;
    pthread_mutex_lock(&staging->lock);
    if (staging->n_staged == WB_STAGING_EDITS_MAX ||
        bytes > WB_STAGING_BYTES_MAX - WB_MIN(staging->bytes, WB_STAGING_BYTES_MAX)) {
        status = refuse_more(staging, err);
    } else {
        struct wb_staged_edit *edit = copy_edit(what, files, n_files);
        WB_GROW(staging->edits, staging->capacity, staging->n_edits + 1);
        staging->edits[staging->n_edits++] = edit;
        staging->n_staged++;
        staging->bytes += bytes;
        snprintf(edit->id, sizeof(edit->id), "edit_%zu", staging->n_edits);
        memcpy(ret_id, edit->id, sizeof(edit->id));
    }
    pthread_mutex_unlock(&staging->lock);
    return status;
}

/* --- resolving --- */

static struct wb_staged_edit *find(const struct wb_staging *staging, const char *id)
{
    for (size_t i = 0; i < staging->n_edits; i++) {
        if (wb_str_equal(staging->edits[i]->id, id)) {
            return staging->edits[i];
        }
    }
    return NULL;
}

static int refuse_id(const struct wb_staging *staging, const struct wb_staged_edit *edit,
                     const char *id, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text staged = {0};
    list_staged(staging, &staged);
    const char *what = edit == NULL                         ? "is not known"
                       : edit->state == WB_STAGED_ACCEPTED  ? "was accepted already"
                       : edit->state == WB_STAGED_DISCARDED ? "was discarded already"
                                                            : "is being resolved right now";
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "The edit_id `%.64s` %s. Staged: %s", id, what,
                        wb_text_cstr(&staged));
}

const struct wb_staged_edit *wb_staging_take(struct wb_staging *staging, const char *id,
                                             struct wb_error *err)
{
    pthread_mutex_lock(&staging->lock);
    struct wb_staged_edit *edit = find(staging, id);
    if (edit == NULL || edit->state != WB_STAGED_STAGED) {
        refuse_id(staging, edit, id, err);
        edit = NULL;
    } else {
        edit->state = WB_STAGED_RESOLVING;
    }
    pthread_mutex_unlock(&staging->lock);
    return edit;
}

void wb_staging_finish(struct wb_staging *staging, const struct wb_staged_edit *edit,
                       enum wb_staged_state state)
{
    pthread_mutex_lock(&staging->lock);
    struct wb_staged_edit *own = find(staging, edit->id);
    own->state = state;
    if (state != WB_STAGED_STAGED) {
        free_content(staging, own);
    }
    pthread_mutex_unlock(&staging->lock);
}

const char *const *wb_staging_paths(struct wb_staging *staging, const char *id,
                                    struct wb_arena *arena)
{
    const char **paths = NULL;
    pthread_mutex_lock(&staging->lock);
    const struct wb_staged_edit *edit = find(staging, id);
    if (edit != NULL && edit->files != NULL) {
        paths = wb_arena_alloc_array(arena, edit->n_files + 1, sizeof(*paths));
        for (size_t i = 0; i < edit->n_files; i++) {
            paths[i] = wb_arena_strdup(arena, edit->files[i].path);
        }
    }
    pthread_mutex_unlock(&staging->lock);
    return paths;
}

/* --- the run's --- */

void wb_staging_attach(struct wb_run *run)
{
    struct wb_staging *staging = wb_alloc(sizeof(*staging));
    staging->stager = (struct wb_stager){stage, staging};
    pthread_mutex_init(&staging->lock, NULL);
    wb_run_attach(run, WB_RESOURCE_STAGING, &staging->stager, free_staging);
}

bool wb_staging_available(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_STAGING) != NULL;
}

struct wb_staging *wb_staging_of_run(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_STAGING);
}
