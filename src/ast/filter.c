/* filter: see the header. */
#include "ast/filter.h"

#include <stdlib.h>

#define WORD_BITS_MIN 512u
#define WORD_BITS_MAX (128u * 1024)

/* --- of the source --- */

/* Beyond ASCII anything may be a boundary (blanks, operators, a byte order mark). */
static bool is_word_char(unsigned char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool holds(struct wb_span source, struct wb_span text, bool is_word)
{
    const char *at = source.ptr, *end = source.ptr + source.len;
    while ((at = memmem(at, (size_t)(end - at), text.ptr, text.len)) != NULL) {
        const char *behind = at + text.len;
        if (!is_word || ((at == source.ptr || !is_word_char((unsigned char)at[-1])) &&
                         (behind == end || !is_word_char((unsigned char)*behind)))) {
            return true;
        }
        at++;
    }
    return false;
}

bool wb_filter_source(const struct wb_pattern *pattern, struct wb_span source)
{
    for (size_t i = 0; i < pattern->n_required; i++) {
        if (!holds(source, pattern->required[i], pattern->required_is_word[i])) {
            return false;
        }
    }
    return true;
}

/* --- words: a Bloom filter, two bits a word, about eight bits for each that a file has --- */

/* The hash of the word at the front of text, which is *ret_len bytes long. */
static uint64_t hash_word(struct wb_span text, size_t *ret_len)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t i = 0;
    for (; i < text.len && is_word_char((unsigned char)text.ptr[i]); i++) {
        hash = (hash ^ (unsigned char)text.ptr[i]) * 0x100000001b3u;
    }
    *ret_len = i;
    return hash ^ hash >> 29;
}

static uint32_t first_bit(const struct wb_facts *facts, uint64_t hash)
{
    return (uint32_t)hash & (facts->n_word_bits - 1);
}

static uint32_t second_bit(const struct wb_facts *facts, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & (facts->n_word_bits - 1);
}

static void set_bit(struct wb_facts *facts, uint32_t bit)
{
    facts->words[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static bool has_bit(const struct wb_facts *facts, uint32_t bit)
{
    return (facts->words[bit / 8] >> bit % 8 & 1) != 0;
}

void wb_facts_add_words(struct wb_facts *facts, struct wb_span source)
{
    size_t len;
    facts->n_word_bits = WORD_BITS_MIN;
    while (facts->n_word_bits < WORD_BITS_MAX && facts->n_word_bits < source.len / 8) {
        facts->n_word_bits *= 2;
    }
    free(facts->words);
    facts->words = wb_alloc(facts->n_word_bits / 8);
    for (size_t i = 0; i < source.len; i += WB_MAX(len, (size_t)1)) {
        uint64_t hash = hash_word((struct wb_span){source.ptr + i, source.len - i}, &len);
        if (len > 0) {
            set_bit(facts, first_bit(facts, hash));
            set_bit(facts, second_bit(facts, hash));
        }
    }
}

/* Has the file every word of this text? */
static bool may_hold(const struct wb_facts *facts, struct wb_span text)
{
    size_t len;
    for (size_t i = 0; i < text.len; i += WB_MAX(len, (size_t)1)) {
        uint64_t hash = hash_word((struct wb_span){text.ptr + i, text.len - i}, &len);
        if (len > 0 &&
            !(has_bit(facts, first_bit(facts, hash)) && has_bit(facts, second_bit(facts, hash)))) {
            return false;
        }
    }
    return true;
}

static bool may_have_words(const struct wb_facts *facts, const struct wb_pattern *pattern)
{
    for (size_t i = 0; i < pattern->n_required; i++) {
        if (pattern->required_is_word[i] && !may_hold(facts, pattern->required[i])) {
            return false;
        }
    }
    return true;
}

/* --- kinds --- */

static uint64_t kind_bit(TSSymbol kind)
{
    return (uint64_t)1 << kind % 64;
}

static size_t kind_word(TSSymbol kind)
{
    return kind % WB_FACTS_KINDS / 64;
}

void wb_facts_add_kinds(struct wb_facts *facts, const struct wb_flat_tree *tree)
{
    memset(facts->kinds, 0, sizeof(facts->kinds));
    for (uint32_t i = 0; i < tree->count; i++) {
        facts->kinds[kind_word(tree->nodes[i].kind)] |= kind_bit(tree->nodes[i].kind);
    }
    facts->has_kinds = true;
}

/* A node with a name is matched by one of its kind only; tokens may be passed over. */
static bool may_have_rung(const struct wb_facts *facts, const struct wb_pattern_rung *rung)
{
    for (uint32_t i = 0; i < rung->count; i++) {
        const struct wb_pattern_node *node = &rung->nodes[i];
        bool is_kind = node->what != WB_PATTERN_ONE && node->what != WB_PATTERN_MANY;
        if (is_kind && node->is_named &&
            (facts->kinds[kind_word(node->kind)] & kind_bit(node->kind)) == 0) {
            return false;
        }
    }
    return true;
}

static bool may_have_kinds(const struct wb_facts *facts, const struct wb_pattern *pattern)
{
    for (size_t i = 0; i < pattern->n_rungs; i++) {
        if (may_have_rung(facts, &pattern->rungs[i])) {
            return true;
        }
    }
    return false;
}

/* --- both --- */

bool wb_facts_rule_out(const struct wb_facts *facts, const struct wb_pattern *pattern)
{
    return (facts->words != NULL && !may_have_words(facts, pattern)) ||
           (facts->has_kinds && !may_have_kinds(facts, pattern));
}

size_t wb_facts_bytes(const struct wb_facts *facts)
{
    return facts->words != NULL ? facts->n_word_bits / 8 : 0;
}

void wb_facts_done(struct wb_facts *facts)
{
    free(facts->words);
    facts->words = NULL;
}
