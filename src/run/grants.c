/* grants: see the header. */
#include "run/grants.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/text.h"

#define GRANTS_MAX 1000 /* of each kind; what is over it is asked for again */

struct pattern {
    char *tool, *text;
};

struct wb_grants {
    pthread_mutex_t lock; /* of all of it */
    struct wb_sha256 *calls;
    size_t n_calls, calls_capacity;
    struct pattern *patterns;
    size_t n_patterns, patterns_capacity;
    struct wb_sha256 refused;
    bool has_refused;
};

struct wb_grants *wb_grants_new(void)
{
    struct wb_grants *grants = wb_alloc(sizeof(*grants));
    pthread_mutex_init(&grants->lock, NULL);
    return grants;
}

void wb_grants_free(struct wb_grants *grants)
{
    if (grants != NULL) {
        for (size_t i = 0; i < grants->n_patterns; i++) {
            free(grants->patterns[i].tool);
            free(grants->patterns[i].text);
        }
        pthread_mutex_destroy(&grants->lock);
        free(grants->patterns);
        free(grants->calls);
        free(grants);
    }
}

struct wb_sha256 wb_grants_digest(const char *tool, struct wb_span arguments_json)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_text_add_str(&text, tool);
    wb_text_add_char(&text, '\n');
    wb_text_add_span(&text, wb_span_trim(arguments_json));
    return wb_sha256(wb_text_span(&text));
}

void wb_grants_add(struct wb_grants *grants, const struct wb_sha256 *digest)
{
    pthread_mutex_lock(&grants->lock);
    if (grants->n_calls < GRANTS_MAX) {
        WB_GROW(grants->calls, grants->calls_capacity, grants->n_calls + 1);
        grants->calls[grants->n_calls++] = *digest;
    }
    pthread_mutex_unlock(&grants->lock);
}

bool wb_grants_has(struct wb_grants *grants, const struct wb_sha256 *digest)
{
    bool found = false;
    pthread_mutex_lock(&grants->lock);
    for (size_t i = 0; i < grants->n_calls && !found; i++) {
        found = wb_sha256_equal(&grants->calls[i], digest);
    }
    pthread_mutex_unlock(&grants->lock);
    return found;
}

void wb_grants_add_pattern(struct wb_grants *grants, const char *tool, const char *pattern)
{
    pthread_mutex_lock(&grants->lock);
    if (grants->n_patterns < GRANTS_MAX) {
        WB_GROW(grants->patterns, grants->patterns_capacity, grants->n_patterns + 1);
        grants->patterns[grants->n_patterns++] =
            (struct pattern){wb_strdup(tool), wb_strdup(pattern)};
    }
    pthread_mutex_unlock(&grants->lock);
}

const char *wb_grants_next_pattern(struct wb_grants *grants, struct wb_arena *arena,
                                   const char *tool, size_t *cursor)
{
    const char *found = NULL;
    pthread_mutex_lock(&grants->lock);
    while (found == NULL && *cursor < grants->n_patterns) {
        const struct pattern *pattern = &grants->patterns[(*cursor)++];
        if (wb_str_equal(pattern->tool, tool)) {
            found = wb_arena_strdup(arena, pattern->text);
        }
    }
    pthread_mutex_unlock(&grants->lock);
    return found;
}

void wb_grants_set_refused(struct wb_grants *grants, const struct wb_sha256 *digest, bool refused)
{
    pthread_mutex_lock(&grants->lock);
    grants->has_refused = refused;
    grants->refused = *digest;
    pthread_mutex_unlock(&grants->lock);
}

bool wb_grants_was_refused(struct wb_grants *grants, const struct wb_sha256 *digest)
{
    pthread_mutex_lock(&grants->lock);
    bool refused = grants->has_refused && wb_sha256_equal(&grants->refused, digest);
    pthread_mutex_unlock(&grants->lock);
    return refused;
}
