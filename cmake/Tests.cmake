# wb_unit_test(name [SOURCES file...] USES folder... [THREADS])
#     tests/unit/<folder>/test_<name>.c, a cmocka program; the test unit.<folder>.<name>.
#     THREADS: the ThreadSanitizer build runs it too (ctest -L threads).
# wb_e2e_test(name [TIMEOUT seconds] [SERIAL])
#     tests/e2e/test_<name>.py, a pytest file against the real binary; the test e2e.<name>.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

function(wb_unit_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "" "SOURCES;USES")
    if(NOT arg_SOURCES)
        set(arg_SOURCES test_${name}.c)
    endif()
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    set(target unit_${folder}_${name})
    add_executable(${target} ${arg_SOURCES})
    list(TRANSFORM arg_USES PREPEND wb_)
    target_link_libraries(${target} PRIVATE wb_flags ${arg_USES} PkgConfig::CMOCKA)
    add_test(NAME unit.${folder}.${name} COMMAND ${target})
    set_tests_properties(unit.${folder}.${name} PROPERTIES
        TIMEOUT 300
        ENVIRONMENT WERKBANK_GUARD=$<TARGET_FILE:werkbank-guard>)
    add_dependencies(${target} werkbank-guard)
    if(arg_THREADS)
        set_tests_properties(unit.${folder}.${name} PROPERTIES LABELS threads)
    endif()
endfunction()

# Where tools/setup put the servers and the test interpreter.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup prefix OUTPUT_VARIABLE wb_tools_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(WB_TOOLS_DIR ${wb_tools_dir} CACHE PATH "The prefix of tools/setup")
set(WB_PYTHON ${WB_TOOLS_DIR}/pip/tests/bin/python)

function(wb_e2e_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300)
    endif()
    add_test(NAME e2e.${name}
             COMMAND ${WB_PYTHON} -m pytest -q -p no:cacheprovider
                     ${CMAKE_CURRENT_SOURCE_DIR}/test_${name}.py)
    set_tests_properties(e2e.${name} PROPERTIES
        TIMEOUT ${arg_TIMEOUT}
        ENVIRONMENT "WERKBANK=$<TARGET_FILE:werkbank>;WERKBANK_GUARD=$<TARGET_FILE:werkbank-guard>;WERKBANK_SOURCE=${PROJECT_SOURCE_DIR};WERKBANK_BUILD=${PROJECT_BINARY_DIR};WERKBANK_TOOLS=${WB_TOOLS_DIR};PYTHONDONTWRITEBYTECODE=1"
        ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${WB_TOOLS_DIR}/bin")
    if(arg_SERIAL)
        set_tests_properties(e2e.${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()
