/* tool: the names of the tiers. */
#include "run/tool.h"

static const char *const tier_names[] = {
    [WB_TIER_READ] = "read",
    [WB_TIER_WRITE] = "write",
    [WB_TIER_EXEC] = "exec",
};

const char *wb_tier_name(enum wb_tier tier)
{
    return tier_names[tier];
}

bool wb_tier_parse(const char *name, enum wb_tier *ret)
{
    for (size_t i = WB_TIER_READ; i < WB_COUNT(tier_names); i++) {
        if (wb_str_equal(name, tier_names[i])) {
            *ret = (enum wb_tier)i;
            return true;
        }
    }
    return false;
}
