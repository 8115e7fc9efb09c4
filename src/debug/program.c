/* program: see program.h. Of an ELF file only the section names are read (System V ABI, "Object
 * Files"): they tell debug information and Go's own tables. */
#include "debug/program.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "sys/file.h"

#define NAMES_BYTES_MAX (16 * WB_MIB) /* of all section names */

static void read_name(const char *name, struct wb_program *ret)
{
    if (wb_str_equal(name, ".debug_info") || wb_str_equal(name, ".zdebug_info") ||
        wb_str_equal(name, ".gnu_debuglink")) {
        ret->has_debug_info = true;
    } else if (wb_str_equal(name, ".gopclntab") || wb_str_equal(name, ".note.go.buildid")) {
        ret->is_go = true;
    }
}

/* A file that is being rebuilt may shrink under us: no mapping. */
static void *read_at(struct wb_arena *arena, int fd, uint64_t offset, uint64_t bytes)
{
    if (offset > INT64_MAX || bytes == 0 || bytes > NAMES_BYTES_MAX) {
        return NULL;
    }
    void *buffer = wb_arena_alloc(arena, bytes + 1); /* a NUL behind */
    return pread(fd, buffer, bytes, (off_t)offset) == (ssize_t)bytes ? buffer : NULL;
}

/* A file that is not ours to read claims nothing: it may have all. */
static void read_sections(struct wb_arena *arena, int fd, const Elf64_Ehdr *head,
                          struct wb_program *ret)
{
    const Elf64_Shdr *sections = NULL;
    const char *names = NULL;
    if (head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_shentsize == sizeof(*sections) &&
        head->e_shstrndx < head->e_shnum) {
        sections = read_at(arena, fd, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*sections));
    }
    if (sections != NULL) {
        const Elf64_Shdr *strings = &sections[head->e_shstrndx];
        names = read_at(arena, fd, strings->sh_offset, strings->sh_size);
        for (size_t i = 0; names != NULL && i < head->e_shnum; i++) {
            if (sections[i].sh_name < strings->sh_size) {
                read_name(names + sections[i].sh_name, ret);
            }
        }
    }
    ret->has_debug_info = ret->has_debug_info || names == NULL;
}

static void read_file(const char *path, struct wb_program *ret)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const Elf64_Ehdr *head = fd >= 0 ? read_at(&arena, fd, 0, sizeof(*head)) : NULL;
    if (head != NULL && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0) {
        ret->is_binary = true;
        read_sections(&arena, fd, head, ret);
    }
    if (fd >= 0) {
        close(fd);
    }
}

int wb_program_look(const char *path, struct wb_program *ret, struct wb_error *err)
{
    *ret = (struct wb_program){0};
    switch (wb_file_kind(path, NULL)) {
    case WB_FILE_MISSING:
        return wb_error_set(err, WB_ERROR_NOT_FOUND,
                            "there is no program %s; build it first, or name the file that the "
                            "build makes",
                            path);
    case WB_FILE_OTHER:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is neither a file nor a folder", path);
    case WB_FILE_FOLDER:
        ret->is_folder = true;
        return 0;
    case WB_FILE_REGULAR:
        break;
    }
    read_file(path, ret);
    if (ret->is_binary && access(path, X_OK) != 0) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is a binary that may not be executed (an object file or a "
                            "library?); name the executable, or chmod +x it",
                            path);
    }
    return 0;
}
