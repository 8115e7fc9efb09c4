# Install rules, the pkg-config file and the Debian package.
install(TARGETS werkbank werkbank-guard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS werkbank_static werkbank_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The pkg-config file finds the rest from where it lies, so that any --prefix holds.
file(RELATIVE_PATH WB_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/werkbank.pc.in ${PROJECT_BINARY_DIR}/werkbank.pc
               @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/werkbank.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_BINARY_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/werkbank.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/werkbank-config.5
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME werkbank)
set(CPACK_PACKAGE_CONTACT "Werkbank contributors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Packed relocations need it; the shlibs list does not say so.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clangd, git")
include(CPack)
