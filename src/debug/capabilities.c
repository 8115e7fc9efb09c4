/* capabilities: what an adapter says that it can do: of the initialize response, and of `capabilities`
 * events, which some send after it. */
#include <stdlib.h>

#include "debug/dap.h"

static const struct {
    const char *key;
    size_t offset;
} flags[] = {
    {"supportsConfigurationDoneRequest", offsetof(struct wb_dap_capabilities, configuration_done)},
    {"supportsFunctionBreakpoints", offsetof(struct wb_dap_capabilities, function_breakpoints)},
    {"supportsConditionalBreakpoints",
     offsetof(struct wb_dap_capabilities, conditional_breakpoints)},
    {"supportsLogPoints", offsetof(struct wb_dap_capabilities, log_points)},
    {"supportsSetVariable", offsetof(struct wb_dap_capabilities, set_variable)},
    {"supportsExceptionInfoRequest", offsetof(struct wb_dap_capabilities, exception_info)},
    {"supportTerminateDebuggee", offsetof(struct wb_dap_capabilities, terminate_debuggee)},
};

static void free_filters(struct wb_dap_capabilities *capabilities)
{
    for (size_t i = 0; i < capabilities->n_filters; i++) {
        free(capabilities->filters[i].id);
        free(capabilities->filters[i].label);
    }
    free(capabilities->filters);
    capabilities->filters = NULL;
    capabilities->n_filters = 0;
}

static void read_filters(struct wb_dap_capabilities *capabilities, const struct wb_json *list)
{
    free_filters(capabilities);
    capabilities->filters = wb_alloc_array(wb_json_count(list) + 1, sizeof(*capabilities->filters));
    for (struct wb_json_iter it = wb_json_iter(list); wb_json_next(&it);) {
        const char *id = wb_json_str(wb_json_get(it.value, "filter"));
        if (id != NULL) {
            capabilities->filters[capabilities->n_filters++] = (struct wb_dap_filter){
                .id = wb_strdup(id),
                .label = wb_strdup(wb_json_str_or(wb_json_get(it.value, "label"), id)),
                .is_default = wb_json_bool(wb_json_get(it.value, "default"), false),
            };
        }
    }
}

void wb_dap_capabilities_merge(struct wb_dap_capabilities *capabilities, const struct wb_json *body)
{
    for (size_t i = 0; i < WB_COUNT(flags); i++) {
        const struct wb_json *value = wb_json_get(body, flags[i].key);
        if (value != NULL) {
            *(bool *)((char *)capabilities + flags[i].offset) = wb_json_bool(value, false);
        }
    }
    const struct wb_json *filters = wb_json_get(body, "exceptionBreakpointFilters");
    if (filters != NULL) {
        read_filters(capabilities, filters);
    }
}

void wb_dap_capabilities_done(struct wb_dap_capabilities *capabilities)
{
    free_filters(capabilities);
}
