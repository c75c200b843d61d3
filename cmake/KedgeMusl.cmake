# The runtime for programs that hold musl (kedge compile --libc musl), where the compiler zig is given: Debian has no C++ library for
# musl, and zig brings both. KEDGE_ZIG is its path, as `python3 -c 'import ziglang; print(ziglang.__path__[0] + "/zig")'` prints it.
if(NOT KEDGE_ZIG OR KEDGE_SANITIZE OR KEDGE_THREAD_SANITIZER)
  return()
endif()
include(ExternalProject)
foreach(processor x86_64 aarch64)
  set(folder ${PROJECT_BINARY_DIR}/runtime/${processor}-linux-musl)
  ExternalProject_Add(kedge-runtime-${processor}-musl
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${folder}
    CMAKE_ARGS -DKEDGE_RUNTIME_ONLY=ON -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/linux-musl.cmake
               -DKEDGE_ZIG=${KEDGE_ZIG} -DKEDGE_MUSL_PROCESSOR=${processor} -DCMAKE_BUILD_TYPE=Release
               -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DCMAKE_UNITY_BUILD=ON -DLLVM_PACKAGE_VERSION=${LLVM_PACKAGE_VERSION}
    BUILD_ALWAYS ON
    USES_TERMINAL_BUILD ON # shows how far it is
    INSTALL_COMMAND "")
  install(DIRECTORY ${folder}/ DESTINATION lib/kedge/${processor}-linux-musl FILES_MATCHING PATTERN "*.a" PATTERN CMakeFiles EXCLUDE)
endforeach()
