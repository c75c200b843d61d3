include(KedgeMusl)
# The runtime for machines that Kedge does not run on (kedge compile --cpu aarch64-linux), where a cross compiler is installed: the
# target kedge-runtime-aarch64, which is not part of `all`. What is built is installed.
find_program(KEDGE_AARCH64_COMPILER aarch64-linux-gnu-g++)
option(KEDGE_AARCH64 "Build the runtime for 64-bit Arm, if aarch64-linux-gnu-g++ is installed" ON)
if(NOT KEDGE_AARCH64 OR NOT KEDGE_AARCH64_COMPILER OR KEDGE_SANITIZE OR KEDGE_THREAD_SANITIZER)
  return()
endif()
include(ExternalProject)
set(KEDGE_AARCH64_RUNTIME ${PROJECT_BINARY_DIR}/runtime/aarch64-linux)
ExternalProject_Add(kedge-runtime-aarch64
  SOURCE_DIR ${PROJECT_SOURCE_DIR}
  BINARY_DIR ${KEDGE_AARCH64_RUNTIME}
  CMAKE_ARGS -DKEDGE_RUNTIME_ONLY=ON -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/aarch64-linux.cmake
             -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DCMAKE_UNITY_BUILD=ON
             -DLLVM_PACKAGE_VERSION=${LLVM_PACKAGE_VERSION} -DKEDGE_CUDA_INCLUDE_DIR=${KEDGE_CUDA_INCLUDE_DIR}
  BUILD_ALWAYS ON
  EXCLUDE_FROM_ALL ON
  USES_TERMINAL_BUILD ON # shows how far it is
  INSTALL_COMMAND "")
# Kernels whose unit tests check-kedge-all runs under an emulator (test/golden/machines/aarch64-kernels.test), where googletest's sources are.
if(EXISTS /usr/src/googletest/googletest)
  ExternalProject_Add_Step(kedge-runtime-aarch64 units DEPENDEES build EXCLUDE_FROM_MAIN ON ALWAYS ON USES_TERMINAL ON
    COMMAND ${CMAKE_COMMAND} --build ${KEDGE_AARCH64_RUNTIME} --target kedge-unit-kernels)
  ExternalProject_Add_StepTargets(kedge-runtime-aarch64 units)
  add_dependencies(kedge-tests-all kedge-runtime-aarch64-units)
endif()
add_dependencies(kedge-tests-all kedge-runtime-aarch64)
install(DIRECTORY ${KEDGE_AARCH64_RUNTIME}/ OPTIONAL DESTINATION lib/kedge/aarch64-linux FILES_MATCHING PATTERN "*.a"
        PATTERN CMakeFiles EXCLUDE)
