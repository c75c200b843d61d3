# The runtime for machines whose C++ library the compiler zig brings, where it is given: programs that hold musl (kedge compile --libc
# musl, --cpu aarch64-android) and those for macOS. KEDGE_ZIG is its path, as
# `python3 -c 'import ziglang; print(ziglang.__path__[0] + "/zig")'` prints it.
if(NOT KEDGE_ZIG OR KEDGE_SANITIZE OR KEDGE_THREAD_SANITIZER)
  return()
endif()
include(ExternalProject)

# kedge_zig_machine(NAME FOLDER TARGET OPTIONS...): the target kedge-runtime-NAME, in runtime/FOLDER, for TARGET as zig names it.
function(kedge_zig_machine name folder target)
  set(runtime ${PROJECT_BINARY_DIR}/runtime/${folder})
  ExternalProject_Add(kedge-runtime-${name}
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${runtime}
    CMAKE_ARGS -DKEDGE_RUNTIME_ONLY=ON -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/zig.cmake
               -DKEDGE_ZIG=${KEDGE_ZIG} -DKEDGE_ZIG_TARGET=${target} -DCMAKE_BUILD_TYPE=Release
               -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DCMAKE_UNITY_BUILD=ON -DLLVM_PACKAGE_VERSION=${LLVM_PACKAGE_VERSION}
    BUILD_ALWAYS ON
    USES_TERMINAL_BUILD ON # shows how far it is
    INSTALL_COMMAND ""
    ${ARGN})
  install(DIRECTORY ${runtime}/ OPTIONAL DESTINATION lib/kedge/${folder} FILES_MATCHING PATTERN "*.a" PATTERN "*.tbd"
          REGEX "/(CMakeFiles|bin|googletest|headers|lib|runtime|test)$" EXCLUDE) # what the build needs alone
endfunction()

foreach(processor x86_64 aarch64)
  kedge_zig_machine(${processor}-musl ${processor}-linux-musl ${processor}-linux-musl)
  # macOS 11 is the first for Apple's own processors.
  kedge_zig_machine(${processor}-macos ${processor}-macos ${processor}-macos.11.0 EXCLUDE_FROM_ALL ON)
  add_dependencies(kedge-tests-all kedge-runtime-${processor}-macos)
endforeach()
