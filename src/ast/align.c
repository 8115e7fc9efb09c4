/* align: see the header. */
#include "ast/align.h"

#include <strings.h>

#define ALIGNED_MAX 1000000 /* products of two lengths; more is not aligned */

/* --- reading --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 128 || u == '_' || (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') ||
           (u >= 'a' && u <= 'z');
}

/* The length of the word or the character at the front of text, which is not empty. */
static size_t token_length(struct wb_span text)
{
    size_t len = 0;
    while (len < text.len && is_word(text.ptr[len])) {
        len++;
    }
    return WB_MAX(len, (size_t)1);
}

static bool read_variable(const struct wb_pattern *pattern, struct wb_span rest, size_t length,
                          struct wb_span name, struct wb_token *token, struct wb_tokens *ret)
{
    token->text = (struct wb_span){rest.ptr, length};
    token->variable = name.len > 0 ? wb_pattern_variable(pattern, name) : SIZE_MAX;
    ret->has_wild = ret->has_wild || name.len == 0;
    return token->variable != SIZE_MAX;
}

bool wb_tokens_read(struct wb_arena *arena, const struct wb_pattern *pattern, struct wb_span text,
                    struct wb_tokens *ret, struct wb_span *ret_bad)
{
    size_t gap = 0;
    bool is_good = true;
    *ret = (struct wb_tokens){.items = NULL};
    for (size_t at = 0; at < text.len;) {
        struct wb_span name, rest = {text.ptr + at, text.len - at};
        if (is_blank(text.ptr[at])) {
            at++;
            continue;
        }
        struct wb_token token = {.gap = {text.ptr + gap, at - gap}, .variable = SIZE_MAX};
        bool is_escape = rest.len > 1 && rest.ptr[0] == '\\' && rest.ptr[1] == '$';
        size_t length =
            is_escape ? 0 : wb_metavariable_read(pattern->grammar, rest, &name, &token.is_many);
        if (length > 0) {
            if (!read_variable(pattern, rest, length, name, &token, ret) && is_good) {
                is_good = false;
                *ret_bad = token.text;
            }
        } else {
            size_t skip = is_escape ? 1 : 0;
            length = token_length((struct wb_span){rest.ptr + skip, rest.len - skip}) + skip;
            token.text = (struct wb_span){rest.ptr + skip, length - skip};
        }
        *WB_ARENA_PUSH(arena, ret->items, ret->count, ret->capacity) = token;
        at += length;
        gap = at;
    }
    ret->tail = (struct wb_span){text.ptr + gap, text.len - gap};
    return is_good;
}

/* --- aligning two texts --- */

static bool is_same(const struct wb_token *a, const struct wb_token *b)
{
    return a->variable == b->variable &&
           (a->variable != SIZE_MAX || wb_span_equal(a->text, b->text));
}

/* One text in another's stead: as many tokens of both between those that are the same. */
static void pair_rest(const struct wb_tokens *a, const struct wb_tokens *b, size_t *map)
{
    size_t i = 0; /* behind the last token of a that is one of b's */
    for (size_t j = 0, end; j <= b->count; j = end + 1) {
        for (end = j; end < b->count && map[end] == SIZE_MAX;) {
            end++;
        }
        size_t stop = end < b->count ? map[end] : a->count;
        bool is_text = stop - i == end - j;
        for (size_t k = 0; is_text && k < end - j; k++) {
            is_text = a->items[i + k].variable == SIZE_MAX && b->items[j + k].variable == SIZE_MAX;
        }
        for (size_t k = 0; is_text && k < end - j; k++) {
            map[j + k] = i + k;
        }
        i = stop + 1;
    }
}

/* For each token of b the index of the token of a that it is, or instead of which it stands; SIZE_MAX:
 * of none. The longest common subsequence. */
static void align(const struct wb_tokens *a, const struct wb_tokens *b, size_t *map)
{
    size_t n = a->count, m = b->count, width = m + 1;
    for (size_t j = 0; j < m; j++) {
        map[j] = SIZE_MAX;
    }
    if (n == 0 || m == 0 || n > ALIGNED_MAX / m) {
        return;
    }
    /* lengths[i][j]: of the longest common subsequence of a from i on and b from j on */
    WB_AUTO(wb_free_p) uint32_t *lengths = wb_alloc_array((n + 1) * width, sizeof(*lengths));
    for (size_t i = n; i-- > 0;) {
        for (size_t j = m; j-- > 0;) {
            uint32_t skip = WB_MAX(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
            lengths[i * width + j] =
                is_same(&a->items[i], &b->items[j]) ? lengths[(i + 1) * width + j + 1] + 1 : skip;
        }
    }
    for (size_t i = 0, j = 0; i < n && j < m;) {
        if (is_same(&a->items[i], &b->items[j])) {
            map[j++] = i++;
        } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    pair_rest(a, b, map);
}

static bool is_closing(const struct wb_token *token)
{
    return token->variable == SIZE_MAX && token->text.len == 1 &&
           strchr(")]}", token->text.ptr[0]) != NULL;
}

static bool is_comma(const struct wb_token *token)
{
    return token->variable == SIZE_MAX && wb_span_is(token->text, ",");
}

static void align_gap(const struct wb_tokens *a, const struct wb_tokens *b, const size_t *map,
                      size_t j, struct wb_alignment *ret)
{
    size_t i = map[j];
    ret->gaps[j] = SIZE_MAX;
    if (j == 0 || i == SIZE_MAX || i == 0 || !wb_span_equal(a->items[i].gap, b->items[j].gap)) {
        return;
    }
    /* `f($A)` in `g(f($A)) {`: the bracket in front is another one, but it is one. */
    bool is_kept = map[j - 1] == i - 1 || is_same(&a->items[i - 1], &b->items[j - 1]);
    ret->is_layout[j] = !is_kept && is_closing(&b->items[j]) && !is_comma(&b->items[j - 1]);
    if (is_kept || ret->is_layout[j]) {
        ret->gaps[j] = i;
    }
}

struct wb_alignment wb_tokens_align(struct wb_arena *arena, const struct wb_tokens *a,
                                    const struct wb_tokens *b)
{
    size_t *map = wb_arena_alloc_array(arena, b->count + 1, sizeof(*map));
    struct wb_alignment ret = {
        .gaps = wb_arena_alloc_array(arena, b->count + 1, sizeof(*ret.gaps)),
        .is_layout = wb_arena_alloc_array(arena, b->count + 1, sizeof(*ret.is_layout)),
        .same = map,
    };
    align(a, b, map);
    for (size_t j = 0; j < b->count; j++) {
        align_gap(a, b, map, j, &ret);
    }
    for (size_t j = 0; j < b->count; j++) {
        if (map[j] != SIZE_MAX && !is_same(&a->items[map[j]], &b->items[j])) {
            map[j] = SIZE_MAX; /* it stands in its stead only */
        }
    }
    return ret;
}

/* --- a match's tokens, in order --- */

struct reader {
    struct wb_span source;
    const struct wb_match *match;
    const struct wb_range *left_out;
    size_t n_left_out, i_left_out;
    uint32_t at;
    struct wb_range token; /* the one at hand; empty at the end */
    size_t variable;       /* whose capture it is; SIZE_MAX: text */
};

/* The bound capture that begins at the offset and is not empty. */
static size_t find_capture(const struct reader *r, size_t n_variables, uint32_t offset)
{
    for (size_t i = 0; i < n_variables; i++) {
        const struct wb_capture *capture = &r->match->captures[i];
        if (capture->is_bound && capture->start == offset && capture->end > offset) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Where the next capture or range to pass over begins: a token ends there. */
static uint32_t next_border(const struct reader *r, size_t n_variables)
{
    uint32_t border = r->match->end;
    for (size_t i = 0; i < n_variables; i++) {
        const struct wb_capture *capture = &r->match->captures[i];
        if (capture->is_bound && capture->start > r->at && capture->start < border) {
            border = capture->start;
        }
    }
    return border;
}

static void next_token(struct reader *r, size_t n_variables)
{
    while (r->at < r->match->end) {
        while (r->i_left_out < r->n_left_out && r->left_out[r->i_left_out].end <= r->at) {
            r->i_left_out++;
        }
        if (r->i_left_out < r->n_left_out && r->left_out[r->i_left_out].start <= r->at) {
            r->at = r->left_out[r->i_left_out].end;
        } else if (is_blank(r->source.ptr[r->at])) {
            r->at++;
        } else {
            break;
        }
    }
    r->token = (struct wb_range){r->at, r->at};
    r->variable = SIZE_MAX;
    if (r->at < r->match->end) {
        r->variable = find_capture(r, n_variables, r->at);
        r->token.end = r->variable != SIZE_MAX
                           ? r->match->captures[r->variable].end
                           : r->at + (uint32_t)token_length(
                                         (struct wb_span){r->source.ptr + r->at,
                                                          next_border(r, n_variables) - r->at});
    }
    r->at = r->token.end;
}

static struct wb_span text_of(const struct reader *r)
{
    return (struct wb_span){r->source.ptr + r->token.start, r->token.end - r->token.start};
}

static bool is_end(const struct reader *r)
{
    return r->token.start == r->token.end;
}

static bool is_separator(struct wb_span text)
{
    return wb_span_is(text, ",") || wb_span_is(text, ";");
}

/* --- the pattern's tokens in it --- */

struct placer {
    struct wb_arena *arena;
    const struct wb_pattern *pattern;
    struct reader reader;
    struct wb_token_places *ret;
    bool was[WB_PATTERN_VARIABLES_MAX]; /* variables that came already */
    uint32_t behind;                    /* the end of what was taken last */
};

static void step(struct placer *placer)
{
    next_token(&placer->reader, placer->pattern->n_variables);
}

static bool is_text(const struct placer *placer, struct wb_span text)
{
    const struct reader *r = &placer->reader;
    struct wb_span own = text_of(r);
    return !is_end(r) && r->variable == SIZE_MAX &&
           (wb_span_equal(own, text) ||
            (placer->pattern->grammar->ignores_case && own.len == text.len &&
             strncasecmp(own.ptr, text.ptr, text.len) == 0));
}

/* The first time, the capture; then the same tokens again. */
static bool is_variable(const struct placer *placer, size_t variable)
{
    const struct reader *r = &placer->reader;
    if (!placer->was[variable]) {
        return r->variable == variable;
    }
    const struct wb_capture *capture = &r->match->captures[variable];
    struct wb_span text = {r->source.ptr + capture->start, capture->end - capture->start};
    struct wb_span first = {text.ptr, token_length(text)};
    return is_text(placer, first);
}

static bool is_at(const struct placer *placer, const struct wb_token *token)
{
    return token->variable == SIZE_MAX ? is_text(placer, token->text)
                                       : is_variable(placer, token->variable);
}

/* Goes to the token, over what is not the pattern's. False: it is not there, and nothing moves. */
static bool go_to(struct placer *placer, const struct wb_token *token)
{
    struct reader before = placer->reader;
    size_t n_extra = placer->ret->n_extra;
    while (!is_end(&placer->reader) && !is_at(placer, token)) {
        if (!is_separator(text_of(&placer->reader))) {
            *WB_ARENA_PUSH(placer->arena, placer->ret->extra, placer->ret->n_extra,
                           placer->ret->extra_capacity) = placer->reader.token;
        }
        step(placer);
    }
    bool is_there = !is_end(&placer->reader);
    if (!is_there) {
        placer->reader = before;
        placer->ret->n_extra = n_extra;
    }
    return is_there;
}

/* A metavariable that came before: the same tokens again. */
static bool take_again(struct placer *placer, const struct wb_capture *capture,
                       struct wb_range *ret)
{
    struct reader *r = &placer->reader;
    struct wb_match inside = *r->match;
    inside.end = capture->end;
    struct reader first = {.source = r->source,
                           .match = &inside,
                           .left_out = r->left_out,
                           .n_left_out = r->n_left_out,
                           .at = capture->start};
    *ret = (struct wb_range){r->token.start, r->token.start};
    for (next_token(&first, 0); !is_end(&first); next_token(&first, 0)) {
        if (!is_text(placer, text_of(&first))) {
            return false;
        }
        ret->end = r->token.end;
        step(placer);
    }
    return true;
}

static bool take_variable(struct placer *placer, const struct wb_token *token, struct wb_range *ret)
{
    const struct wb_capture *capture = &placer->reader.match->captures[token->variable];
    bool is_first = !placer->was[token->variable];
    placer->was[token->variable] = true;
    if (!capture->is_bound || capture->start == capture->end) {
        *ret = (struct wb_range){placer->behind, placer->behind};
        return capture->is_bound;
    }
    placer->was[token->variable] = !is_first; /* for go_to */
    bool is_there = go_to(placer, token);
    placer->was[token->variable] = true;
    if (!is_there) {
        return false;
    }
    if (!is_first) {
        return take_again(placer, capture, ret);
    }
    *ret = placer->reader.token;
    step(placer);
    return true;
}

/* Text that is not there is a separator that may be missing, or a comment in the pattern. */
static bool take(struct placer *placer, const struct wb_token *token, struct wb_range *ret)
{
    if (token->variable != SIZE_MAX) {
        return take_variable(placer, token, ret);
    }
    bool is_near = is_at(placer, token);
    if (!is_near && is_separator(token->text)) {
        *ret = (struct wb_range){UINT32_MAX, UINT32_MAX};
        return true;
    }
    bool is_there = is_near || go_to(placer, token);
    *ret = is_there ? placer->reader.token : (struct wb_range){UINT32_MAX, UINT32_MAX};
    if (is_there) {
        step(placer);
    }
    return true;
}

struct wb_token_places *wb_tokens_place(struct wb_arena *arena, const struct wb_pattern *pattern,
                                        const struct wb_tokens *tokens, struct wb_span source,
                                        const struct wb_match *match,
                                        const struct wb_range *left_out, size_t n_left_out)
{
    struct wb_token_places *ret = WB_ARENA_NEW(arena, struct wb_token_places);
    struct placer placer = {.arena = arena, .pattern = pattern, .ret = ret, .behind = match->start};
    placer.reader = (struct reader){.source = source,
                                    .match = match,
                                    .left_out = left_out,
                                    .n_left_out = n_left_out,
                                    .at = match->start};
    if (tokens->has_wild) {
        return NULL;
    }
    ret->items = wb_arena_alloc_array(arena, tokens->count + 1, sizeof(*ret->items));
    step(&placer);
    for (size_t i = 0; i < tokens->count; i++) {
        if (!take(&placer, &tokens->items[i], &ret->items[i])) {
            return NULL;
        }
        placer.behind = ret->items[i].start != UINT32_MAX ? ret->items[i].end : placer.behind;
    }
    for (; !is_end(&placer.reader); step(&placer)) {
        if (!is_separator(text_of(&placer.reader))) {
            *WB_ARENA_PUSH(arena, ret->extra, ret->n_extra, ret->extra_capacity) =
                placer.reader.token;
        }
    }
    return ret;
}
