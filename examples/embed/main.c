/* Opens a run in a folder, lists its surface, and reads one file of it.
 *     embed FOLDER FILE */
#include <stdio.h>
#include <string.h>
#include <werkbank.h>

static void list_tools(const struct werkbank_run *run)
{
    static const char *const tiers[] = {"", "read", "write", "exec"};
    const struct werkbank_tool *tool = NULL;
    while ((tool = werkbank_run_next_tool(run, tool)) != NULL) {
        char *schema = werkbank_tool_schema(tool);
        printf("%-12s %-6s schema of %zu bytes\n", werkbank_tool_name(tool),
               tiers[werkbank_tool_tier(tool)], strlen(schema));
        werkbank_string_free(schema);
    }
}

static int read_file(struct werkbank_run *run, const char *file)
{
    char arguments[512];
    snprintf(arguments, sizeof(arguments), "{\"path\": \"%s\"}", file);
    struct werkbank_result *result = werkbank_run_call(run, "read", arguments, NULL);
    printf("\n%s\n", werkbank_result_text(result));
    int status = werkbank_result_is_error(result) ? 1 : 0;
    werkbank_result_free(result);
    return status;
}

int main(int argc, char **argv)
{
    char error[WERKBANK_ERROR_BYTES];
    struct werkbank_run_options options = {.size = sizeof(options), .cap = WERKBANK_READ};
    if (argc != 3) {
        fprintf(stderr, "usage: embed FOLDER FILE\n");
        return 2;
    }
    options.workspace = argv[1];
    struct werkbank_host *host = werkbank_host_open(NULL, error);
    struct werkbank_run *run = host != NULL ? werkbank_run_open(host, &options, error) : NULL;
    if (run == NULL) {
        fprintf(stderr, "embed: %s\n", error);
        werkbank_host_close(host);
        return 2;
    }
    werkbank_run_attach_language_servers(run);
    list_tools(run);
    int status = read_file(run, argv[2]);
    werkbank_run_close(run);
    werkbank_host_close(host);
    return status;
}
