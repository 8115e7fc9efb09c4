/* args_rules: what one choice of the selecting argument needs, and that it gets nothing that it does
 * not take.
 *
 * Works on the JSON beside the decoded structure: "given" is not to be told from the latter. */
#include <assert.h>

#include "run/args_private.h"

/* " (the file to read)" */
const char *wb_args_doc_of(struct wb_arena *arena, const struct wb_arg *arg)
{
    struct wb_span doc = wb_span(arg->doc);
    if (doc.len == 0) {
        return "";
    }
    if (doc.ptr[doc.len - 1] == '.') {
        doc.len--;
    }
    return wb_arena_printf(arena, " (" WB_SPAN_FMT ")", WB_SPAN_ARG(doc));
}

/* Is the word among the words of the list, which spaces and bars divide? */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t here = strcspn(at, " |");
        if (here == len && memcmp(at, word, len) == 0) {
            return true;
        }
        at += here;
        at += strspn(at, " |");
    }
    return false;
}

static const struct wb_arg *find_arg(const struct wb_args *args, struct wb_span key)
{
    for (size_t i = 0; i < args->n; i++) {
        if (wb_span_is(key, args->table[i].key)) {
            return &args->table[i];
        }
    }
    assert(!"a rule names keys of its table");
    return NULL;
}

/* One need: "file", or "query|file" for one of the two. */
static int check_need(struct wb_args_decoder *d, const struct wb_args *args, const char *selector,
                      const struct wb_arg_rule *rule, struct wb_span need,
                      const struct wb_json *json)
{
    const struct wb_arg *first = NULL;
    char *names = NULL;
    while (need.len > 0) {
        size_t bar = wb_span_find(need, WB_SPAN("|"), 0);
        struct wb_span key = {need.ptr, WB_MIN(bar, need.len)};
        const struct wb_arg *arg = find_arg(args, key);
        if (!wb_json_is_null(wb_json_get(json, arg->key))) {
            return 0;
        }
        names = first == NULL ? wb_arena_printf(d->arena, "`%s`", arg->key)
                              : wb_arena_printf(d->arena, "%s or `%s`", names, arg->key);
        first = first == NULL ? arg : first;
        need.ptr += WB_MIN(key.len + 1, need.len);
        need.len -= WB_MIN(key.len + 1, need.len);
    }
    return wb_error_set(d->err, WB_ERROR_INVALID, "%s: %s `%s` needs %s%s", d->tool_name, selector,
                        rule->choice, names, first != NULL ? wb_args_doc_of(d->arena, first) : "");
}

static int check_taken(struct wb_args_decoder *d, const struct wb_args *args, const char *selector,
                       const struct wb_arg_rule *rule, const struct wb_json *json)
{
    for (struct wb_json_iter it = wb_json_iter(json); wb_json_next(&it);) {
        bool taken = wb_str_equal(it.key, selector) || has_word(rule->needs, it.key) ||
                     has_word(rule->takes, it.key) || find_arg(args, wb_span(it.key))->required;
        if (!taken && !wb_json_is_null(it.value)) {
            return wb_error_set(d->err, WB_ERROR_INVALID,
                                "%s: %s `%s` does not take `%s`; leave it out", d->tool_name,
                                selector, rule->choice, it.key);
        }
    }
    return 0;
}

int wb_args_check_rules(struct wb_args_decoder *d, const struct wb_args *args,
                        const struct wb_json *json, const char *base)
{
    const struct wb_arg *selector = args->table;
    while (selector->kind != WB_ARG_ENUM) {
        selector++;
    }
    int choice = *(const int *)(base + selector->offset);
    for (size_t i = 0; i < args->n_rules; i++) {
        const struct wb_arg_rule *rule = &args->rules[i];
        if (choice < 0 || !wb_str_equal(rule->choice, selector->choices[choice])) {
            continue;
        }
        for (const char *at = rule->needs; at != NULL && *at != '\0';) {
            struct wb_span need = {at, strcspn(at, " ")};
            if (check_need(d, args, selector->key, rule, need, json) != 0) {
                return -1;
            }
            at += need.len;
            at += strspn(at, " ");
        }
        return check_taken(d, args, selector->key, rule, json);
    }
    return 0;
}
