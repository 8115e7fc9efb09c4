/* config: finds, checks and merges the configuration files. What a server's or a check's row may
 * hold is checked by the folder that reads it. */
#include "run/config.h"

#include <assert.h>
#include <stdlib.h>

#include "run/nearest.h"
#include "run/table.h"
#include "run/tool.h"
#include "run/trust.h"
#include "sys/file.h"
#include "sys/path.h"

enum key_kind { KEY_INT, KEY_TIER, KEY_STRING, KEY_STRINGS, KEY_ROWS, KEY_RULES };

/* Every key, so that a typing mistake is told. docs/man/werkbank-config.5 explains them. */
static const struct key {
    const char *dotted;
    enum key_kind kind;
    int64_t min, max;
    bool needs_trust; /* names commands, or permissions */
} keys[] = {
    {"allow", KEY_TIER, 0, 0, true},
    {"cap", KEY_TIER, 0, 0, true},
    {"rules", KEY_RULES, 0, 0, false}, /* needs trust where one of them allows */
    {"conversations.keep_days", KEY_INT, 0, 100000, true},
    {"servers", KEY_ROWS, 0, 0, true},
    {"languages", KEY_ROWS, 0, 0, true},
    {"checks", KEY_ROWS, 0, 0, true},
    {"adapters", KEY_ROWS, 0, 0, true},
    {"ask.timeout_s", KEY_INT, 1, 24 * 3600, false},
    {"ast.cache_mb", KEY_INT, 0, 1024 * 1024, false},
    {"lsp.idle_stop_s", KEY_INT, 1, 7 * 24 * 3600, false},
    {"lsp.start_timeout_s", KEY_INT, 1, 3600, false},
    {"lsp.request_timeout_s", KEY_INT, 1, 3600, false},
    {"debug.wait_s", KEY_INT, 1, 3600, false},
    {"debug.answer_s", KEY_INT, 1, 600, false},
    {"debug.lifetime_s", KEY_INT, 1, 1800, false},
    {"eval.python", KEY_STRING, 0, 0, true},
    {"eval.node", KEY_STRING, 0, 0, true},
    {"eval.secret_names", KEY_STRINGS, 0, 0, true},
    {"eval.start_timeout_s", KEY_INT, 1, 3600, false},
    {"eval.inactivity_s", KEY_INT, 0, 24 * 3600, false},
    {"eval.limit_s", KEY_INT, 0, 7 * 24 * 3600, false},
    {"eval.memory_mb", KEY_INT, 0, 1 << 24, false},
    {"capsule.exec_prefix", KEY_STRINGS, 0, 0, true},
    {"capsule.probe", KEY_STRINGS, 0, 0, true},
    {"capsule.workspace", KEY_STRING, 0, 0, true},
};

struct wb_config {
    struct wb_arena arena;
    const struct wb_json *root;
    bool trusted;
    const char *distrust;
    struct wb_rule_file rule_files[3]; /* the user's, the project's, --config */
    size_t n_rule_files;
};

static const struct key *find_key(const char *dotted)
{
    for (size_t i = 0; i < WB_COUNT(keys); i++) {
        if (wb_str_equal(keys[i].dotted, dotted)) {
            return &keys[i];
        }
    }
    return NULL;
}

/* "lsp" of "lsp.idle_stop_s". */
static bool is_group(const char *dotted)
{
    size_t len = strlen(dotted);
    for (size_t i = 0; i < WB_COUNT(keys); i++) {
        if (wb_str_starts(keys[i].dotted, dotted) && keys[i].dotted[len] == '.') {
            return true;
        }
    }
    return false;
}

static int unknown_key(const char *dotted, struct wb_error *err)
{
    const char *names[WB_COUNT(keys)];
    for (size_t i = 0; i < WB_COUNT(keys); i++) {
        names[i] = keys[i].dotted;
    }
    const char *near = wb_nearest(wb_span(dotted), names, WB_COUNT(keys));
    return wb_error_set(err, WB_ERROR_INVALID, "unknown key `%.64s`%s%s%s", dotted,
                        near != NULL ? "; did you mean `" : "; see werkbank-config(5)",
                        near != NULL ? near : "", near != NULL ? "`?" : "");
}

static int check_rows(const struct key *key, const struct wb_json *value, struct wb_error *err)
{
    if (wb_json_type(value) != WB_JSON_ARRAY) {
        return wb_error_set(err, WB_ERROR_INVALID, "`%s` must be an array of objects", key->dotted);
    }
    for (struct wb_json_iter it = wb_json_iter(value); wb_json_next(&it);) {
        if (wb_json_str(wb_json_get(it.value, "id")) == NULL) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "`%s[%zu]` must be an object with an `id` of type string",
                                key->dotted, it.index);
        }
    }
    return 0;
}

static int check_strings(const struct key *key, const struct wb_json *value, struct wb_error *err)
{
    bool is_good = wb_json_type(value) == WB_JSON_ARRAY;
    for (struct wb_json_iter it = wb_json_iter(value); is_good && wb_json_next(&it);) {
        is_good = wb_json_str(it.value) != NULL;
    }
    return is_good ? 0
                   : wb_error_set(err, WB_ERROR_INVALID, "`%s` must be an array of strings",
                                  key->dotted);
}

static int check_value(const struct key *key, const struct wb_json *value, struct wb_error *err)
{
    int64_t number;
    enum wb_tier tier;
    switch (key->kind) {
    case KEY_INT:
        if (!wb_json_int(value, &number) || number < key->min || number > key->max) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "`%s` must be an integer between %lld and %lld", key->dotted,
                                (long long)key->min, (long long)key->max);
        }
        return 0;
    case KEY_TIER:
        if (!wb_tier_parse(wb_json_str_or(value, ""), &tier)) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "`%s` must be \"read\", \"write\" or \"exec\"", key->dotted);
        }
        return 0;
    case KEY_STRING:
        if (wb_json_str(value) == NULL) {
            return wb_error_set(err, WB_ERROR_INVALID, "`%s` must be a string", key->dotted);
        }
        return 0;
    case KEY_STRINGS:
        return check_strings(key, value, err);
    case KEY_ROWS:
    case KEY_RULES:
        return check_rows(key, value, err);
    }
    return 0;
}

static bool needs_trust(const struct key *key, const struct wb_json *value)
{
    bool allows = false;
    for (struct wb_json_iter it = wb_json_iter(value);
         key->kind == KEY_RULES && wb_json_next(&it);) {
        allows |= wb_str_equal(wb_json_str_or(wb_json_get(it.value, "action"), ""), "allow");
    }
    return key->needs_trust || allows;
}

/* *ret_needs_trust: the first key that needs it, if any. */
static int check_object(struct wb_arena *arena, const char *prefix, const struct wb_json *object,
                        const char **ret_needs_trust, struct wb_error *err)
{
    for (struct wb_json_iter it = wb_json_iter(object); wb_json_next(&it);) {
        const char *dotted = wb_arena_printf(arena, "%s%s", prefix, it.key);
        const struct key *key = find_key(dotted);
        if (key != NULL && strchr(it.key, '.') != NULL) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "`%s`: the dot stands for nesting; write {\"%.*s\": {\"%s\": ...}}",
                                dotted, (int)strcspn(dotted, "."), dotted, strchr(dotted, '.') + 1);
        }
        if (key != NULL) {
            if (check_value(key, it.value, err) != 0) {
                return -1;
            }
            if (*ret_needs_trust == NULL && needs_trust(key, it.value)) {
                *ret_needs_trust = key->dotted;
            }
        } else if (!is_group(dotted)) {
            return unknown_key(dotted, err);
        } else if (wb_json_type(it.value) != WB_JSON_OBJECT) {
            return wb_error_set(err, WB_ERROR_INVALID, "`%s` must be an object", dotted);
        } else if (check_object(arena, wb_arena_printf(arena, "%s.", dotted), it.value,
                                ret_needs_trust, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static const struct wb_json *parse_file(struct wb_arena *arena, struct wb_span content,
                                        const char **ret_needs_trust, struct wb_error *err)
{
    const struct wb_json *root = wb_json_parse(arena, content, err);
    *ret_needs_trust = NULL;
    if (root == NULL) {
        return NULL;
    }
    if (wb_json_type(root) != WB_JSON_OBJECT) {
        wb_error_set(err, WB_ERROR_INVALID, "it must hold one JSON object");
        return NULL;
    }
    return check_object(arena, "", root, ret_needs_trust, err) == 0 ? root : NULL;
}

static const struct wb_json *find_row(const struct wb_json *rows, const struct wb_json *like)
{
    const struct wb_json *id = wb_json_get(like, "id");
    for (struct wb_json_iter it = wb_json_iter(rows); wb_json_next(&it);) {
        if (id != NULL && wb_json_equal(wb_json_get(it.value, "id"), id)) {
            return it.value;
        }
    }
    return NULL;
}

static bool is_rows(const struct wb_json *value)
{
    return wb_json_get(wb_json_at(value, 0), "id") != NULL;
}

static void put_merged(struct wb_json_writer *w, const struct wb_json *below,
                       const struct wb_json *above);

static void put_merged_rows(struct wb_json_writer *w, const struct wb_json *below,
                            const struct wb_json *above)
{
    wb_json_begin_array(w);
    for (struct wb_json_iter it = wb_json_iter(below); wb_json_next(&it);) {
        put_merged(w, it.value, find_row(above, it.value));
    }
    for (struct wb_json_iter it = wb_json_iter(above); wb_json_next(&it);) {
        if (find_row(below, it.value) == NULL) {
            wb_json_put_value(w, it.value);
        }
    }
    wb_json_end_array(w);
}

static void put_merged_objects(struct wb_json_writer *w, const struct wb_json *below,
                               const struct wb_json *above)
{
    wb_json_begin_object(w);
    for (struct wb_json_iter it = wb_json_iter(below); wb_json_next(&it);) {
        wb_json_key(w, it.key);
        put_merged(w, it.value, wb_json_get(above, it.key));
    }
    for (struct wb_json_iter it = wb_json_iter(above); wb_json_next(&it);) {
        if (wb_json_get(below, it.key) == NULL) {
            wb_json_key(w, it.key);
            wb_json_put_value(w, it.value);
        }
    }
    wb_json_end_object(w);
}

static void put_merged(struct wb_json_writer *w, const struct wb_json *below,
                       const struct wb_json *above)
{
    if (wb_json_type(below) == WB_JSON_OBJECT && wb_json_type(above) == WB_JSON_OBJECT) {
        put_merged_objects(w, below, above);
    } else if (is_rows(below) && is_rows(above)) {
        put_merged_rows(w, below, above);
    } else {
        wb_json_put_value(w, above != NULL ? above : below);
    }
}

/* Lays `above` over the root. */
static void merge(struct wb_config *config, const struct wb_json *above)
{
    WB_AUTO(wb_text_done) struct wb_text merged = {0};
    struct wb_json_writer w;
    if (config->root == NULL) {
        config->root = above;
        return;
    }
    wb_json_writer_init(&w, &merged);
    put_merged(&w, config->root, above);
    config->root = wb_json_parse(&config->arena, wb_text_span(&merged), NULL);
    assert(config->root != NULL);
}

static void add_rules(struct wb_config *config, const char *path, const struct wb_json *rows,
                      bool may_allow, const char *mistake)
{
    assert(config->n_rule_files < WB_COUNT(config->rule_files));
    if (rows != NULL || mistake != NULL) {
        config->rule_files[config->n_rule_files++] =
            (struct wb_rule_file){path, rows, may_allow, mistake};
    }
}

static int load_own_file(struct wb_config *config, const char *path, bool may_be_missing,
                         struct wb_error *err)
{
    struct wb_span content;
    struct wb_error read_err;
    const char *needs_trust;
    if (wb_file_read(&config->arena, path, WB_CONFIG_BYTES_MAX, &content, NULL, &read_err) != 0) {
        if (may_be_missing && read_err.code == WB_ERROR_NOT_FOUND) {
            return 0;
        }
        return wb_error_set(err, read_err.code, "%s", read_err.message);
    }
    const struct wb_json *root = parse_file(&config->arena, content, &needs_trust, err);
    if (root == NULL) {
        return wb_error_context(err, "%s", path);
    }
    merge(config, root);
    add_rules(config, path, wb_json_get(root, "rules"), true, NULL);
    return 0;
}

/* Guard rules hold where they narrow, whatever else is wrong with the file. */
static void keep_project_rules(struct wb_config *config, const char *path, struct wb_span content,
                               bool is_believed)
{
    struct wb_error err;
    const struct wb_json *root = wb_json_parse(&config->arena, content, &err);
    if (root != NULL) {
        add_rules(config, path, wb_json_get(root, "rules"), is_believed, NULL);
    } else if (wb_span_find(content, WB_SPAN("\"rules\""), 0) != SIZE_MAX) {
        add_rules(config, path, NULL, false, wb_arena_strdup(&config->arena, err.message));
    }
}

static void judge_project_file(struct wb_config *config, const char *path, struct wb_span content,
                               enum wb_trust trust)
{
    struct wb_error err;
    const char *needs_trust;
    const struct wb_json *root = parse_file(&config->arena, content, &needs_trust, &err);
    bool is_believed = root != NULL && (needs_trust == NULL || config->trusted);
    keep_project_rules(config, path, content, is_believed);
    if (root == NULL) {
        config->distrust = wb_arena_printf(&config->arena, "%s is ignored: %s", path, err.message);
    } else if (!is_believed) {
        config->distrust = wb_arena_printf(
            &config->arena,
            "%s is ignored: it sets `%s` and %s; read it, then run `werkbank trust`", path,
            needs_trust,
            trust == WB_TRUST_CHANGED ? "has changed since it was trusted" : "is not trusted");
    } else {
        merge(config, root);
    }
}

/* Reads the project file if there is one: ptr NULL otherwise. */
static int read_project_file(struct wb_arena *arena, const char *workspace, char **ret_path,
                             struct wb_span *ret_content, struct wb_error *err)
{
    struct wb_error read_err;
    *ret_path = wb_path_join(arena, workspace, WB_CONFIG_PROJECT_FILE);
    *ret_content = (struct wb_span){0};
    if (wb_file_read(arena, *ret_path, WB_CONFIG_BYTES_MAX, ret_content, NULL, &read_err) != 0 &&
        read_err.code != WB_ERROR_NOT_FOUND) {
        return wb_error_set(err, read_err.code, "%s", read_err.message);
    }
    return 0;
}

static void load_project_file(struct wb_config *config, const struct wb_config_options *options)
{
    struct wb_error err;
    struct wb_span content;
    char *path;
    if (read_project_file(&config->arena, options->workspace, &path, &content, &err) != 0) {
        config->trusted = options->trust;
        config->distrust = wb_arena_printf(&config->arena, "%s is ignored: %s", path, err.message);
        add_rules(config, path, NULL, false, config->distrust);
        return;
    }
    enum wb_trust trust = wb_trust_look_up(options->workspace, content);
    config->trusted = options->trust || trust == WB_TRUST_GIVEN;
    if (content.ptr != NULL) {
        judge_project_file(config, path, content, trust);
    }
}

struct wb_config *wb_config_load(const struct wb_config_options *options, struct wb_error *err)
{
    struct wb_config *config = wb_alloc(sizeof(*config));
    wb_arena_init(&config->arena);
    const char *user_file = wb_path_config_file(&config->arena);
    if (load_own_file(config, user_file, true, err) != 0) {
        wb_config_free(config);
        return NULL;
    }
    load_project_file(config, options);
    if (options->config_file != NULL && load_own_file(config, options->config_file, false, err)) {
        wb_config_free(config);
        return NULL;
    }
    return config;
}

void wb_config_free(struct wb_config *config)
{
    if (config != NULL) {
        wb_arena_done(&config->arena);
        free(config);
    }
}

const struct wb_json *wb_config_root(const struct wb_config *config)
{
    return config->root;
}

const struct wb_rule_file *wb_config_rules(const struct wb_config *config, size_t *ret_n)
{
    *ret_n = config->n_rule_files;
    return config->rule_files;
}

int64_t wb_config_int(const struct wb_config *config, const char *dotted, int64_t otherwise)
{
    assert(find_key(dotted) != NULL);
    return wb_json_int_or(wb_json_path(config->root, dotted), otherwise);
}

const char *wb_config_str(const struct wb_config *config, const char *dotted, const char *otherwise)
{
    assert(find_key(dotted) != NULL);
    return wb_json_str_or(wb_json_path(config->root, dotted), otherwise);
}

const char **wb_config_strings(const struct wb_config *config, struct wb_arena *arena,
                               const char *dotted)
{
    assert(find_key(dotted) != NULL);
    const struct wb_json *array = wb_json_path(config->root, dotted);
    return array != NULL ? wb_table_strings(arena, array) : NULL;
}

bool wb_config_trusted(const struct wb_config *config)
{
    return config->trusted;
}

const char *wb_config_distrust(const struct wb_config *config)
{
    return config->distrust;
}

int wb_config_trust(const char *workspace, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_span content;
    char *path;
    wb_arena_init(&arena);
    if (read_project_file(&arena, workspace, &path, &content, err) != 0) {
        return -1;
    }
    return wb_trust_record(workspace, content, err);
}

int wb_config_distrust_workspace(const char *workspace, struct wb_error *err)
{
    return wb_trust_remove(workspace, err);
}
