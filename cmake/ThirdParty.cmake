# The libraries that the program links. docs/dependencies.md says why each.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)

# NOTICE: the licences of what becomes part of our binaries.
set(wb_notice "Werkbank's binaries contain the following.\n")

# yyjson: the system's where there is one, else the pinned archive that tools/fetch-deps gets.
pkg_check_modules(YYJSON IMPORTED_TARGET yyjson>=0.10)
if(YYJSON_FOUND)
    add_library(wb_yyjson INTERFACE)
    target_link_libraries(wb_yyjson INTERFACE PkgConfig::YYJSON)
else()
    execute_process(
        COMMAND ${PROJECT_SOURCE_DIR}/tools/fetch-deps
        OUTPUT_VARIABLE wb_deps_dir
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    add_library(wb_yyjson STATIC ${wb_deps_dir}/yyjson/yyjson.c)
    target_include_directories(wb_yyjson SYSTEM PUBLIC ${wb_deps_dir}/yyjson)
    target_compile_options(wb_yyjson PRIVATE -w -O2)
    set_property(GLOBAL APPEND PROPERTY WB_FOLDERS wb_yyjson)

    file(READ ${wb_deps_dir}/yyjson/yyjson.h head LIMIT 4096)
    string(FIND "${head}" "*/" end)
    math(EXPR end "${end} + 2")
    string(SUBSTRING "${head}" 0 ${end} head)
    string(APPEND wb_notice "\nyyjson\n\n${head}\n")
endif()
# The parsers of structural search: one object a grammar, compiled once a machine.
execute_process(
    COMMAND ${PROJECT_SOURCE_DIR}/tools/build-grammars
    OUTPUT_VARIABLE wb_grammars_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(GLOB wb_grammar_patches third_party/npm/grammars/patches/*)
set_property(
    DIRECTORY
    APPEND
    PROPERTY CMAKE_CONFIGURE_DEPENDS tools/build-grammars third_party/npm/grammars/sources
             third_party/npm/grammars/package-lock.json ${wb_grammar_patches})
file(GLOB wb_grammar_objects ${wb_grammars_dir}/*.o)
add_library(wb_grammars INTERFACE)
target_include_directories(wb_grammars SYSTEM INTERFACE ${wb_grammars_dir}/include)
target_link_libraries(wb_grammars INTERFACE ${wb_grammar_objects})
file(READ ${wb_grammars_dir}/NOTICE wb_grammars_notice)
string(APPEND wb_notice "${wb_grammars_notice}")

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/NOTICE CONTENT "${wb_notice}" @ONLY)
