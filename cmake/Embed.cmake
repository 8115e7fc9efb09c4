# wb_embed(target file symbol): puts a file's bytes into the target as
#     extern const char symbol[];          NUL-terminated
#     extern const size_t symbol_len;      without the NUL
# The assembler reads the file, so that size costs no compile time.
function(wb_embed target file symbol)
    get_filename_component(path ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.embed.c)
    set(content [[
/* Generated from @file@. */
#include <stddef.h>

__asm__(".pushsection .rodata, \"a\", %progbits\n"
        ".globl @symbol@\n"
        ".hidden @symbol@\n"
        ".type @symbol@, %object\n"
        "@symbol@:\n"
        ".incbin \"@path@\"\n"
        "@symbol@_end:\n"
        ".byte 0\n"
        ".size @symbol@, . - @symbol@\n"
        ".balign 8\n"
        ".globl @symbol@_len\n"
        ".hidden @symbol@_len\n"
        ".type @symbol@_len, %object\n"
        "@symbol@_len:\n"
        ".dc.a @symbol@_end - @symbol@\n"
        ".size @symbol@_len, . - @symbol@_len\n"
        ".popsection\n");

extern const size_t @symbol@_len;
]])
    file(CONFIGURE OUTPUT ${source} CONTENT "${content}" @ONLY)
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${path})
    target_sources(${target} PRIVATE ${source})
endfunction()
