# WB_SANITIZE: comma-separated sanitizers for the whole build, third parties included.
# Without them an optimised build is hardened instead.
set(WB_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined or thread")

if(WB_SANITIZE)
    add_compile_options(-fsanitize=${WB_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${WB_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
                        -fstack-clash-protection)
    add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:--as-needed)
endif()

# Packed relocations: the tables of a position-independent program cost its start nothing.
include(CheckLinkerFlag)
check_linker_flag(C LINKER:-z,pack-relative-relocs WB_HAVE_PACKED_RELOCATIONS)
if(WB_HAVE_PACKED_RELOCATIONS)
    add_link_options($<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY>>:LINKER:-z,pack-relative-relocs>)
endif()
