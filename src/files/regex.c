/* regex: PCRE2 with its just-in-time compiler, over lines.
 *
 * A match must lie within one line. Where no part of the pattern can match a line end, the whole
 * text is searched at once, which is several times faster; otherwise (negated sets, \s, look-around)
 * line by line, since a match across lines could hide one within. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "files/regex.h"

#include <pcre2.h>
#include <stdlib.h>

#include "base/text.h"

/* Steps of one match; about a second's work at the worst. */
#define MATCH_STEPS_MAX 20000000
#define JIT_STACK_BYTES_MAX (8 * 1024 * 1024)

struct wb_regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool whole; /* may search over line ends */
};

/* Is the escape at `at` (behind the backslash) one that matches no line end? */
static bool is_safe_escape(unsigned char c)
{
    return c != '\0' &&
           (strchr("bBdwSt", c) != NULL ||
            (c < 0x80 && c > ' ' &&
             !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))));
}

/* Moves behind the set at *at; false: it could match a line end. */
static bool skip_safe_set(struct wb_span p, size_t *at)
{
    size_t i = *at + 1;
    if (i < p.len && p.ptr[i] == '^') {
        return false;
    }
    for (bool first = true; i < p.len && (first || p.ptr[i] != ']'); first = false) {
        unsigned char c = (unsigned char)p.ptr[i];
        bool escaped = c == '\\' && i + 1 < p.len;
        if (c < ' ' || c == '[' || (escaped && !is_safe_escape((unsigned char)p.ptr[i + 1]))) {
            return false; /* control characters may begin a range over the line feed */
        }
        if (escaped && p.ptr[i + 1] == 't') {
            return false;
        }
        i += escaped ? 2 : 1;
    }
    *at = i + 1;
    return true;
}

static bool is_within_lines(struct wb_span p)
{
    bool quantified = false; /* a "+" now would be possessive, and keep what it took */
    for (size_t i = 0; i < p.len;) {
        unsigned char c = (unsigned char)p.ptr[i];
        unsigned char next = i + 1 < p.len ? (unsigned char)p.ptr[i + 1] : '\0';
        bool is_quantifier = c == '*' || c == '+' || c == '?' || c == '}';
        if (c < ' ' || (c == '+' && quantified) || (c == '\\' && !is_safe_escape(next)) ||
            (c == '(' && next == '*') ||
            (c == '(' && next == '?' && (i + 2 >= p.len || p.ptr[i + 2] != ':'))) {
            return false;
        }
        if (c == '[') {
            if (!skip_safe_set(p, &i)) {
                return false;
            }
        } else {
            i += c == '\\' ? 2 : c == '(' && next == '?' ? 3 : 1;
        }
        quantified = is_quantifier;
    }
    return true;
}

struct wb_regex *wb_regex_new(struct wb_span pattern, struct wb_error *err)
{
    int number;
    PCRE2_SIZE offset;
    const uint32_t options =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &number, &offset, context);
    pcre2_compile_context_free(context);
    if (code == NULL) {
        char message[256];
        pcre2_get_error_message(number, (PCRE2_UCHAR *)message, sizeof(message));
        wb_error_set(err, WB_ERROR_INVALID,
                     "The pattern is no valid regular expression: %s, at offset %zu. Put a \\ in "
                     "front of characters that are meant as they are",
                     message, (size_t)offset);
        return NULL;
    }
    struct wb_regex *regex = wb_alloc(sizeof(*regex));
    regex->code = code;
    regex->whole = is_within_lines(pattern);
    regex->match = pcre2_match_data_create_from_pattern(code, NULL);
    regex->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(regex->context, MATCH_STEPS_MAX);
    if (pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0) {
        regex->stack = pcre2_jit_stack_create(32 * 1024, JIT_STACK_BYTES_MAX, NULL);
        pcre2_jit_stack_assign(regex->context, NULL, regex->stack);
    }
    return regex;
}

void wb_regex_free(struct wb_regex *regex)
{
    if (regex == NULL) {
        return;
    }
    pcre2_jit_stack_free(regex->stack);
    pcre2_match_context_free(regex->context);
    pcre2_match_data_free(regex->match);
    pcre2_code_free(regex->code);
    free(regex);
}

/* 1: *ret_at is where it begins. */
static int match_text(struct wb_regex *regex, struct wb_span text, size_t *ret_at)
{
    int n = pcre2_match(regex->code, (PCRE2_SPTR)text.ptr, text.len, 0, 0, regex->match,
                        regex->context);
    if (n == PCRE2_ERROR_NOMATCH) {
        return 0;
    }
    if (n < 0) {
        return -1;
    }
    *ret_at = pcre2_get_ovector_pointer(regex->match)[0];
    return 1;
}

static int next_by_line(struct wb_regex *regex, struct wb_span *rest, struct wb_span *ret_line,
                        size_t *ret_skipped)
{
    size_t at;
    *ret_skipped = 0;
    while (wb_span_next_line(rest, ret_line)) {
        int matched = match_text(regex, *ret_line, &at);
        if (matched != 0) {
            return matched;
        }
        ++*ret_skipped;
    }
    return 0;
}

static int next_in_whole(struct wb_regex *regex, struct wb_span *rest, struct wb_span *ret_line,
                         size_t *ret_skipped)
{
    size_t at;
    int matched = match_text(regex, *rest, &at);
    *ret_skipped = 0;
    /* An empty match behind the last line end is in no line. */
    while (matched == 1 && wb_span_next_line(rest, ret_line)) {
        size_t taken = (size_t)(rest->ptr - ret_line->ptr);
        if (at < taken) {
            return 1;
        }
        at -= taken;
        ++*ret_skipped;
    }
    return matched < 0 ? -1 : 0;
}

int wb_regex_next_line(struct wb_regex *regex, struct wb_span *rest, struct wb_span *ret_line,
                       size_t *ret_skipped)
{
    struct wb_span again = *rest;
    if (rest->len == 0) {
        return 0;
    }
    if (regex->whole) {
        int found = next_in_whole(regex, rest, ret_line, ret_skipped);
        if (found >= 0) {
            return found;
        }
        *rest = again; /* the bound on steps may do for each line */
    }
    return next_by_line(regex, rest, ret_line, ret_skipped);
}
