# cmake --install, and the Debian package that cpack makes of it. kedge finds what programs are linked with in ../lib/kedge of
# the folder that it lies in, so that an installation may be moved as a whole.
include(GNUInstallDirs)
set(KEDGE_RUNTIME_ARCHIVES kedge_runtime kedge_runtime_main kedge_runtime_library)
if(TARGET kedge_runtime_main_cuda)
  list(APPEND KEDGE_RUNTIME_ARCHIVES kedge_runtime_cuda kedge_runtime_main_cuda)
endif()
set(KEDGE_INSTALLED_TOOLS kedge kedge-opt kedge-translate kedge-bench)
if(TARGET kedge-lsp-server)
  list(APPEND KEDGE_INSTALLED_TOOLS kedge-lsp-server)
endif()
# Not in the Debian package, which depends on LLVM's.
install(FILES ${PROJECT_BINARY_DIR}/kedge-all/libkedge-compiler.so.0 OPTIONAL RENAME libkedge-tools.so DESTINATION lib COMPONENT tools)
set_target_properties(${KEDGE_INSTALLED_TOOLS} kedge-compiler PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${KEDGE_INSTALLED_TOOLS} kedge-compiler RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION lib NAMELINK_COMPONENT dev)
install(TARGETS ${KEDGE_RUNTIME_ARCHIVES} ARCHIVE DESTINATION lib/kedge)

# What others build on: headers, the dialects' .td and what TableGen makes of them, and the package for CMake.
install(DIRECTORY include/kedge DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/kedge DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN *.h.inc)
include(CMakePackageConfigHelpers)
set(KEDGE_MLIR_VERSION ${LLVM_VERSION_MAJOR}.${LLVM_VERSION_MINOR})
configure_package_config_file(cmake/KedgeConfig.cmake.in ${PROJECT_BINARY_DIR}/KedgeConfig.cmake
  INSTALL_DESTINATION lib/cmake/Kedge)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KedgeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/KedgeConfig.cmake ${PROJECT_BINARY_DIR}/KedgeConfigVersion.cmake DESTINATION lib/cmake/Kedge
  COMPONENT dev)
configure_file(cmake/kedge-compiler.pc.in ${PROJECT_BINARY_DIR}/kedge-compiler.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kedge-compiler.pc DESTINATION lib/pkgconfig COMPONENT dev)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kedge)
install(DIRECTORY ${KEDGE_REFERENCE_DIR} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kedge/docs FILES_MATCHING PATTERN *.md)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kedge PATTERN __pycache__ EXCLUDE)

# Manual pages and completions: what the tools say of their own flags.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(KEDGE_MANUAL ${PROJECT_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${KEDGE_MANUAL}/man1/kedge.1
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/make/make_manual.py ${PROJECT_BINARY_DIR}/bin ${KEDGE_MANUAL}
            "Kedge ${PROJECT_VERSION}"
    DEPENDS kedge kedge-bench kedge-translate ${PROJECT_SOURCE_DIR}/scripts/make/make_manual.py
    COMMENT "manual pages and completions")
  add_custom_target(kedge-manual ALL DEPENDS ${KEDGE_MANUAL}/man1/kedge.1)
  add_dependencies(kedge-tests kedge-manual)
  install(DIRECTORY ${KEDGE_MANUAL}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(DIRECTORY ${KEDGE_MANUAL}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(DIRECTORY ${KEDGE_MANUAL}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(DIRECTORY ${KEDGE_MANUAL}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# Declarations of kedge/session.h in other languages.
if(Python3_FOUND)
  set(KEDGE_BINDINGS ${PROJECT_BINARY_DIR}/bindings)
  add_custom_command(OUTPUT ${KEDGE_BINDINGS}/kedge_session.rs
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/make/make_bindings.py ${PROJECT_SOURCE_DIR}/include/kedge/session.h
            ${KEDGE_BINDINGS}
    DEPENDS include/kedge/session.h scripts/make/make_bindings.py
    COMMENT "kedge/session.h for Rust, Java, C# and Swift")
  add_custom_target(kedge-bindings ALL DEPENDS ${KEDGE_BINDINGS}/kedge_session.rs)
  install(DIRECTORY ${KEDGE_BINDINGS}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kedge/bindings COMPONENT dev)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kedge)
set(CPACK_PACKAGE_CONTACT "Kedge developers") # no person and no address: the project has neither
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiles ONNX models into native training programs")
set(CPACK_PACKAGE_DESCRIPTION "Kedge turns an ONNX model into a program that trains it: ONNX in, trained ONNX out, without
Python or a framework at run time. The program's memory is planned when it is compiled.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# What the tools are linked with dpkg-shlibdeps finds; g++ links programs. Programs open MPI when they are several ranks.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, pkg-config")
# kedge has the tools, kedge-dev what others build on.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified dev)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME kedge)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME kedge-dev)
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers, dialects and the CMake package of Kedge, for programs that learn, compile models or add passes")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "kedge (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "cmake, libmlir-22-dev, llvm-22-dev, mlir-22-tools, pkg-config")
include(CPack)
