/* args_print: the argument table as a JSON schema for models and as a table for people.
 *
 * The schema is what the strictest readers take: a flat object, no unions, no references. Rules
 * across arguments (action `hover` needs `symbol`) are told in words only; the decoder checks them. */
#include "run/args.h"

static void put_type(struct wb_json_writer *w, const char *type)
{
    wb_json_member_str(w, "type", type);
}

static void put_bounds(struct wb_json_writer *w, const struct wb_arg *arg, const char *min_key,
                       const char *max_key, bool zero_says_something)
{
    if (arg->min != 0 || zero_says_something) {
        wb_json_member_int(w, min_key, arg->min);
    }
    if (arg->max != 0) {
        wb_json_member_int(w, max_key, arg->max);
    }
}

static void put_object(struct wb_json_writer *w, const struct wb_arg *table, size_t n);

static void put_items(struct wb_json_writer *w, const struct wb_arg *arg)
{
    put_type(w, "array");
    put_bounds(w, arg, "minItems", "maxItems", false);
    wb_json_key(w, "items");
    if (arg->kind == WB_ARG_OBJECTS) {
        put_object(w, arg->items, arg->n_items);
    } else {
        wb_json_begin_object(w);
        put_type(w, arg->kind == WB_ARG_INTS ? "integer" : "string");
        wb_json_end_object(w);
    }
}

static void put_choices(struct wb_json_writer *w, const struct wb_arg *arg)
{
    put_type(w, "string");
    wb_json_key(w, "enum");
    wb_json_begin_array(w);
    for (size_t i = 0; arg->choices[i] != NULL; i++) {
        wb_json_put_str(w, arg->choices[i]);
    }
    wb_json_end_array(w);
}

/* An object whose keys are free and whose values are strings. */
static void put_strings_object(struct wb_json_writer *w)
{
    put_type(w, "object");
    wb_json_key(w, "additionalProperties");
    wb_json_begin_object(w);
    put_type(w, "string");
    wb_json_end_object(w);
}

static void put_property(struct wb_json_writer *w, const struct wb_arg *arg)
{
    wb_json_key(w, arg->key);
    wb_json_begin_object(w);
    switch (arg->kind) {
    case WB_ARG_STRING:
    case WB_ARG_PATH:
        put_type(w, "string"); /* our bounds are bytes, a schema's are characters */
        break;
    case WB_ARG_INT:
        put_type(w, "integer");
        put_bounds(w, arg, "minimum", "maximum", true);
        break;
    case WB_ARG_BOOL:
    case WB_ARG_MAYBE:
        put_type(w, "boolean");
        break;
    case WB_ARG_ENUM:
        put_choices(w, arg);
        break;
    case WB_ARG_STRINGS:
    case WB_ARG_INTS:
    case WB_ARG_OBJECTS:
        put_items(w, arg);
        break;
    case WB_ARG_OBJECT:
        put_strings_object(w);
        break;
    }
    if (arg->doc != NULL) {
        wb_json_member_str(w, "description", arg->doc);
    }
    wb_json_end_object(w);
}

static void put_object(struct wb_json_writer *w, const struct wb_arg *table, size_t n)
{
    wb_json_begin_object(w);
    put_type(w, "object");
    wb_json_key(w, "properties");
    wb_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        put_property(w, &table[i]);
    }
    wb_json_end_object(w);
    wb_json_key(w, "required");
    wb_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        if (table[i].required) {
            wb_json_put_str(w, table[i].key);
        }
    }
    wb_json_end_array(w);
    wb_json_member_bool(w, "additionalProperties", false);
    wb_json_end_object(w);
}

void wb_args_schema(struct wb_json_writer *w, const struct wb_args *args)
{
    put_object(w, args->table, args->n);
}

static const char *const kind_names[] = {
    [WB_ARG_STRING] = "text",          [WB_ARG_PATH] = "path",        [WB_ARG_INT] = "number",
    [WB_ARG_BOOL] = "true/false",      [WB_ARG_MAYBE] = "true/false", [WB_ARG_ENUM] = "choice",
    [WB_ARG_STRINGS] = "list of text", [WB_ARG_INTS] = "numbers",     [WB_ARG_OBJECTS] = "list",
    [WB_ARG_OBJECT] = "name=text",
};

static void print_arg(struct wb_text *out, const struct wb_arg *arg, int indent, int width)
{
    wb_text_printf(out, "%*s%-*s  %-12s  %s", indent, "", width, arg->key, kind_names[arg->kind],
                   arg->doc != NULL ? arg->doc : "");
    if (arg->required) {
        wb_text_add_str(out, " (required)");
    }
    wb_text_add_char(out, '\n');
    for (size_t i = 0; i < arg->n_items; i++) {
        print_arg(out, &arg->items[i], indent + 2, WB_MAX(width - 2, 1));
    }
}

/* "file line symbol" as "file, line, symbol"; "query|file" as "query or file". */
static void print_keys(struct wb_text *out, const char *keys, const char *before, const char *after)
{
    for (const char *at = keys; at != NULL && *at != '\0'; at++) {
        if (at == keys) {
            wb_text_add_str(out, before);
        }
        if (*at == ' ') {
            wb_text_add_str(out, ", ");
        } else if (*at == '|') {
            wb_text_add_str(out, " or ");
        } else {
            wb_text_add_char(out, *at);
        }
    }
    if (keys != NULL && *keys != '\0') {
        wb_text_add_str(out, after);
    }
}

static void print_rules(struct wb_text *out, const struct wb_args *args)
{
    int width = 0;
    for (size_t i = 0; i < args->n_rules; i++) {
        width = WB_MAX(width, (int)strlen(args->rules[i].choice));
    }
    for (size_t i = 0; i < args->n_rules; i++) {
        const struct wb_arg_rule *rule = &args->rules[i];
        wb_text_printf(out, "  %-*s ", width, rule->choice);
        print_keys(out, rule->needs, " ", "");
        print_keys(out, rule->takes, " [", "]");
        wb_text_add_char(out, '\n');
    }
}

/* The choices of an argument that has no rules to list them. */
static void print_choices(struct wb_text *out, const struct wb_arg *arg, int width)
{
    wb_text_printf(out, "  %*s  ", width, "");
    for (size_t i = 0; arg->choices[i] != NULL; i++) {
        wb_text_printf(out, "%s%s", i > 0 ? ", " : "one of: ", arg->choices[i]);
    }
    wb_text_add_char(out, '\n');
}

void wb_args_help(struct wb_text *out, const struct wb_args *args)
{
    int width = 0;
    bool rules_told = false;
    for (size_t i = 0; i < args->n; i++) {
        width = WB_MAX(width, (int)strlen(args->table[i].key));
    }
    for (size_t i = 0; i < args->n; i++) {
        const struct wb_arg *arg = &args->table[i];
        print_arg(out, arg, 2, width);
        if (arg->kind == WB_ARG_ENUM && (args->n_rules == 0 || rules_told)) {
            print_choices(out, arg, width);
        }
        rules_told = rules_told || arg->kind == WB_ARG_ENUM;
    }
    if (args->n_rules > 0) {
        wb_text_add_char(out, '\n');
        print_rules(out, args);
    }
}
