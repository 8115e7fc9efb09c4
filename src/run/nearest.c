/* nearest: edit distance with transpositions (optimal string alignment) over short names. */
#include "run/nearest.h"

#define NAME_BYTES_MAX 64

static size_t least(size_t a, size_t b, size_t c)
{
    return WB_MIN(WB_MIN(a, b), c);
}

/* Edits that turn a into b. Three rows of the usual table are enough: a swap looks two back. */
static size_t distance(struct wb_span a, struct wb_span b)
{
    size_t rows[3][NAME_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = a.ptr[i - 1] == b.ptr[j - 1] ? 0 : 1;
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1]) {
                row[j] = WB_MIN(row[j], two_above[j - 2] + 1);
            }
        }
    }
    return rows[a.len % 3][b.len];
}

const char *wb_nearest(struct wb_span word, const char *const *candidates, size_t n_candidates)
{
    const char *best = NULL;
    /* A third of the word may be wrong; of two letters, one. */
    size_t best_distance = WB_MAX(word.len / 3, (size_t)1) + 1;
    if (word.len == 0 || word.len > NAME_BYTES_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < n_candidates; i++) {
        struct wb_span candidate = wb_span(candidates[i]);
        if (candidate.len > NAME_BYTES_MAX) {
            continue;
        }
        size_t d = distance(word, candidate);
        if (d < best_distance) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}
