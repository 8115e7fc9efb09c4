/* A grammar's library for the tests: JSON's under another name. */
const void *tree_sitter_json(void);
const void *tree_sitter_own(void);

const void *tree_sitter_own(void)
{
    return tree_sitter_json();
}
