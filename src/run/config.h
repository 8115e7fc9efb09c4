/* config: JSON configuration: the user's file, then the project's (.werkbank.json in the workspace),
 * then --config. Later ones win, member by member; the rows of "servers", "languages", "checks"
 * and "adapters" are merged by their "id". "rules" are not merged: those of all files hold.
 *
 * Every key is in the table of config.c; an unknown key and a wrong type are told at load, with the
 * file. A broken user or --config file is an error; a broken project file is not believed.
 *
 * A project file that names commands or permissions is not believed until the operator trusts this
 * workspace with exactly this content (`werkbank trust`); a change asks again. Trust is kept in the
 * user's state folder, never in the project. Guard rules that deny or prompt hold without trust.
 * Immutable after load; any thread. */
#ifndef WB_RUN_CONFIG_H
#define WB_RUN_CONFIG_H

#include "run/rules.h"

#define WB_CONFIG_PROJECT_FILE ".werkbank.json"

struct wb_config;

struct wb_config_options {
    const char *workspace;   /* absolute real path */
    const char *config_file; /* --config; NULL: none */
    bool trust;              /* --trust: this workspace is trusted for this process */
};

struct wb_config *wb_config_load(const struct wb_config_options *options, struct wb_error *err);
void wb_config_free(struct wb_config *config);

/* The merged object, NULL when there is no configuration; members are documented in
 * werkbank-config(5). */
const struct wb_json *wb_config_root(const struct wb_config *config);
/* "lsp.idle_stop_s" along dots. The key must be in the table. */
int64_t wb_config_int(const struct wb_config *config, const char *dotted, int64_t otherwise);
const char *wb_config_str(const struct wb_config *config, const char *dotted,
                          const char *otherwise);
/* An array of strings, NULL-terminated, in the arena; NULL when it is not set. */
const char **wb_config_strings(const struct wb_config *config, struct wb_arena *arena,
                               const char *dotted);
/* The guard rules of each file that has any. */
const struct wb_rule_file *wb_config_rules(const struct wb_config *config, size_t *ret_n);
/* May code of the project's own run (build scripts), and is its configuration believed? */
bool wb_config_trusted(const struct wb_config *config);
/* A project file was there and was not believed: the sentence that says so. NULL otherwise. */
const char *wb_config_distrust(const struct wb_config *config);

/* `werkbank trust`: records workspace (absolute real path) and the content of its project file. */
WB_MUST_CHECK int wb_config_trust(const char *workspace, struct wb_error *err);
/* `werkbank trust --remove`. WB_ERROR_NOT_FOUND when it was not trusted. */
WB_MUST_CHECK int wb_config_distrust_workspace(const char *workspace, struct wb_error *err);

#endif
