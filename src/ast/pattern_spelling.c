/* pattern_spelling: how the placeholder of a metavariable may be written at its place. Judged by the
 * text around it alone: what is wrong does not parse, and the next spelling is tried. Each spelling
 * more is a parse more in every context that fails, so that unlikely ones are left out. */
#include <ctype.h>

#include "ast/pattern_internal.h"

/* What is around a metavariable. */
struct place {
    struct wb_span before; /* the text before it, without the space at its end */
    char last, next;       /* the characters beside it, layout aside; NUL: the text's ends */
    bool is_first;         /* on its line */
    bool is_many;
};

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static struct place place_of(struct wb_span text, size_t start, size_t end, bool is_many)
{
    struct place place = {.is_many = is_many};
    size_t at = start;
    while (at > 0 && (text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '\t')) {
        at--;
    }
    place.is_first = at > 0 && text.ptr[at - 1] == '\n';
    while (at > 0 && isspace((unsigned char)text.ptr[at - 1])) {
        at--;
    }
    while (end < text.len && (text.ptr[end] == ' ' || text.ptr[end] == '\t')) {
        end++;
    }
    place.before = (struct wb_span){text.ptr, at};
    place.last = at > 0 ? text.ptr[at - 1] : '\0';
    place.next = end < text.len ? text.ptr[end] : '\0';
    return place;
}

/* --- bodies --- */

/* Statements and members stand between braces, behind one another, on lines of their own; a run also
 * before a word on its line (`then $$$ end`). */
static bool is_member(const struct place *place)
{
    bool is_alone = place->last == '\0' && place->next == '\0';
    bool ends = place->next == '\0' || is_one_of(place->next, "}\n");
    bool goes_on = place->is_many && !is_one_of(place->next, ",;:=.()[]<>+-*/&|?\"'`");
    bool is_behind = place->last == '\0' || is_one_of(place->last, "{};") ||
                     (place->is_many && (place->last == ':' || place->is_first));
    bool is_before_word = place->is_many && isalpha((unsigned char)place->next);
    return (ends || goes_on) && !is_alone && (is_behind || is_before_word);
}

/* Entries, parameters and attributes stand between commas and brackets, or in a tag. */
static bool is_entry(const struct place *place)
{
    bool is_in_list =
        is_one_of(place->last, place->is_many ? "([{," : "(,") && is_one_of(place->next, ",)]}");
    bool is_in_tag = place->is_many && (is_word(place->last) || place->last == '"') &&
                     is_one_of(place->next, "/>");
    return is_in_list || is_in_tag;
}

/* With more on its line a member needs its end: `$$$ return x;` is no declaration of a `return`. */
static bool comes_first(const struct place *place)
{
    bool ends = place->next == '\0' || is_one_of(place->next, "}\n");
    bool is_before_word =
        isalpha((unsigned char)place->next) && !(place->is_first || is_one_of(place->last, "{};:"));
    return !ends && !is_before_word;
}

/* --- styles --- */

/* A string stands behind certain words: `from "x"`. */
static bool may_be_quoted(const struct wb_grammar *grammar, const struct place *place)
{
    const char **words = grammar->quoted_after;
    bool fits = words[0] == NULL;
    for (; *words != NULL && !fits; words++) {
        struct wb_span word = wb_span(*words);
        size_t at = place->before.len - word.len;
        fits = wb_span_ends(place->before, word) &&
               (place->before.len == word.len || !is_word(place->before.ptr[at - 1]));
    }
    return fits;
}

/* Where variables have a sigil: a bare name stands behind a word (`function f`), behind `->`, in types
 * and in front of variables. */
static bool may_be_bare(const struct place *place)
{
    return is_word(place->last) || is_one_of(place->last, ">:?|&\\") ||
           is_one_of(place->next, "$|");
}

static bool allows(const struct wb_grammar *grammar, size_t i, const struct place *place)
{
    bool has_sigil = grammar->placeholders[0] == WB_PLACEHOLDER_DOLLAR;
    switch (i == 0 ? WB_PLACEHOLDER_UPPER : grammar->placeholders[i]) {
    case WB_PLACEHOLDER_QUOTED:
        return may_be_quoted(grammar, place);
    case WB_PLACEHOLDER_BARE:
        return !has_sigil || may_be_bare(place);
    default:
        return true;
    }
}

/* --- the spellings --- */

void wb_pattern_part_spell(struct wb_arena *arena, const struct wb_grammar *grammar,
                           struct wb_span text, size_t start, size_t end, bool is_many,
                           struct wb_pattern_part *part)
{
    const struct place place = place_of(text, start, end, is_many);
    bool member = is_member(&place);
    const char **bodies = member ? grammar->bodies : is_entry(&place) ? grammar->entries : NULL;
    size_t n = 0, n_bodies = 0, capacity = 0;
    struct wb_pattern_spelling *spellings = NULL;
    while (bodies != NULL && bodies[n_bodies] != NULL) {
        n_bodies++;
    }
    bool bodies_first = member && comes_first(&place);
    for (size_t i = 0; bodies_first && i < n_bodies; i++) {
        *WB_ARENA_PUSH(arena, spellings, n, capacity) =
            (struct wb_pattern_spelling){grammar->placeholders[0], bodies[i]};
    }
    for (size_t i = 0; i < grammar->n_placeholders; i++) {
        if (allows(grammar, i, &place)) {
            *WB_ARENA_PUSH(arena, spellings, n, capacity) =
                (struct wb_pattern_spelling){grammar->placeholders[i], NULL};
        }
    }
    for (size_t i = 0; !bodies_first && i < n_bodies; i++) {
        *WB_ARENA_PUSH(arena, spellings, n, capacity) =
            (struct wb_pattern_spelling){grammar->placeholders[0], bodies[i]};
    }
    part->spellings = spellings;
    part->n_spellings = n;
}
