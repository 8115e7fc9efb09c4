# wb_flags: what every object of ours is compiled with. Third-party code does not use it.
add_library(wb_flags INTERFACE)
target_compile_features(wb_flags INTERFACE c_std_17)
target_compile_definitions(wb_flags INTERFACE _GNU_SOURCE)
target_include_directories(wb_flags INTERFACE ${PROJECT_SOURCE_DIR}/src
                                              ${PROJECT_SOURCE_DIR}/include)
target_compile_options(
    wb_flags
    INTERFACE -Wall
              -Wextra
              -Wshadow
              -Wstrict-prototypes
              -Wmissing-prototypes
              -Wwrite-strings
              -Wformat=2
              -Wvla
              -Wundef
              -Wimplicit-fallthrough
              -fno-common
              -fvisibility=hidden
              "SHELL:-include ${PROJECT_SOURCE_DIR}/src/base/banned.h")
if(WB_WERROR)
    target_compile_options(wb_flags INTERFACE -Werror)
endif()
