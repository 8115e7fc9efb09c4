/* A grammar's library for the tests, of a tree-sitter that is too old. */
#include <stdint.h>

struct language {
    uint32_t abi_version;
};

const struct language *tree_sitter_old(void);

const struct language *tree_sitter_old(void)
{
    static const struct language language = {9};
    return &language;
}
