include(KedgeZig)
# The runtime for machines that Kedge does not run on (kedge compile --cpu aarch64-linux, x86_64-windows), each where a cross
# compiler is installed: the targets kedge-runtime-aarch64 and kedge-runtime-windows, which are not part of `all`. What is built
# is installed.
find_program(KEDGE_AARCH64_COMPILER aarch64-linux-gnu-g++)
find_program(KEDGE_WINDOWS_COMPILER x86_64-w64-mingw32-g++-posix)
option(KEDGE_AARCH64 "Build the runtime for 64-bit Arm, if aarch64-linux-gnu-g++ is installed" ON)
option(KEDGE_WINDOWS "Build the runtime for 64-bit Windows, if x86_64-w64-mingw32-g++-posix is installed" ON)
if(KEDGE_SANITIZE OR KEDGE_THREAD_SANITIZER)
  return()
endif()
include(ExternalProject)

# kedge_other_machine(NAME FOLDER ARGS...): the target kedge-runtime-NAME, in runtime/FOLDER, with the toolchain cmake/FOLDER.cmake.
function(kedge_other_machine name folder)
  set(runtime ${PROJECT_BINARY_DIR}/runtime/${folder})
  ExternalProject_Add(kedge-runtime-${name}
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${runtime}
    CMAKE_ARGS -DKEDGE_RUNTIME_ONLY=ON -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/${folder}.cmake
               -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DCMAKE_UNITY_BUILD=ON
               -DLLVM_PACKAGE_VERSION=${LLVM_PACKAGE_VERSION} ${ARGN}
    BUILD_ALWAYS ON
    EXCLUDE_FROM_ALL ON
    USES_TERMINAL_BUILD ON # shows how far it is
    INSTALL_COMMAND "")
  add_dependencies(kedge-tests-all kedge-runtime-${name})
  install(DIRECTORY ${runtime}/ OPTIONAL DESTINATION lib/kedge/${folder} FILES_MATCHING PATTERN "*.a"
          REGEX "/(CMakeFiles|bin|googletest|headers|lib|runtime|test)$" EXCLUDE) # what the build needs alone
endfunction()

if(KEDGE_WINDOWS AND KEDGE_WINDOWS_COMPILER)
  kedge_other_machine(windows x86_64-windows)
endif()
if(NOT KEDGE_AARCH64 OR NOT KEDGE_AARCH64_COMPILER)
  return()
endif()
kedge_other_machine(aarch64 aarch64-linux -DKEDGE_CUDA_INCLUDE_DIR=${KEDGE_CUDA_INCLUDE_DIR})
# Kernels whose unit tests check-kedge-all runs under an emulator (test/golden/machines/aarch64-kernels.test), where googletest's sources are.
if(EXISTS /usr/src/googletest/googletest)
  ExternalProject_Add_Step(kedge-runtime-aarch64 units DEPENDEES build EXCLUDE_FROM_MAIN ON ALWAYS ON USES_TERMINAL ON
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR}/runtime/aarch64-linux --target kedge-unit-kernels)
  ExternalProject_Add_StepTargets(kedge-runtime-aarch64 units)
  add_dependencies(kedge-tests-all kedge-runtime-aarch64-units)
endif()
