/* walk_program FOLDER...: the walk of each folder, for check_ignore.py: every path with a NUL
 * behind it, and an empty one after each folder. */
#include <stdio.h>

#include "sys/walk.h"

static bool print_entry(void *ctx, const struct wb_walk_entry *entry)
{
    (void)ctx;
    fwrite(entry->relative, 1, strlen(entry->relative) + 1, stdout);
    return true;
}

int main(int argc, char **argv)
{
    const struct wb_walk_options options = {.hidden = true, .folders = true};
    for (int i = 1; i < argc; i++) {
        struct wb_error err = {0};
        if (wb_walk(argv[i], argv[i], &options, print_entry, NULL, NULL, &err) != 0) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        fputc('\0', stdout);
    }
    return 0;
}
