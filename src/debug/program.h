/* program: what a launch target is: a source file, a folder, an executable; whose, and with debug
 * information or without. Reads the file itself. Any thread. */
#ifndef WB_DEBUG_PROGRAM_H
#define WB_DEBUG_PROGRAM_H

#include "base/arena.h"
#include "base/error.h"

struct wb_program {
    bool is_folder;
    bool is_binary;      /* ELF */
    bool is_go;          /* a Go binary */
    bool has_debug_info; /* DWARF, in the file itself */
};

/* Looks at an absolute path. The error says what it is instead of a program. */
WB_MUST_CHECK int wb_program_look(const char *path, struct wb_program *ret, struct wb_error *err);

#endif
