# KEDGE_RUNTIME_ONLY: the archives that programs are linked with, for a machine that the compiler does not run on. Without MLIR;
# with the runtime for GPUs where CUDA's headers are given.
find_package(Threads REQUIRED)
foreach(headers nlohmann_json::nlohmann_json CLI11::CLI11 fmt::fmt)
  add_library(${headers} INTERFACE IMPORTED)
endforeach()
# Open MPI's types have the same sizes on all 64-bit Linux machines, and programs open the library by name. Windows and macOS have no ranks.
if(NOT WIN32 AND NOT APPLE)
  find_path(KEDGE_MPI_INCLUDE_DIR NAMES mpi.h HINTS /usr/lib/x86_64-linux-gnu/openmpi/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
endif()
set(KEDGE_PRECOMPILED_HEADERS OFF)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
include(KedgeTargets)
add_subdirectory(runtime)
if(APPLE AND KEDGE_ZIG)
  set(pieces ${PROJECT_BINARY_DIR}/link)
  add_custom_command(OUTPUT ${pieces}/libSystem.tbd
    COMMAND ${CMAKE_COMMAND} -DZIG=${KEDGE_ZIG} -DTARGET=${KEDGE_ZIG_TARGET} -DFOLDER=${pieces}
            -P ${PROJECT_SOURCE_DIR}/cmake/ZigLinkPieces.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/ZigLinkPieces.cmake ${KEDGE_ZIG} COMMENT "what programs for macOS are linked with")
  add_custom_target(kedge_link_pieces ALL DEPENDS ${pieces}/libSystem.tbd)
endif()

# The unit tests of the runtime and its kernels, for an emulator: target kedge-units. Debian's googletest has the sources.
find_path(KEDGE_GTEST_SOURCES NAMES googletest/src/gtest-all.cc HINTS /usr/src/googletest NO_CMAKE_FIND_ROOT_PATH)
if(KEDGE_GTEST_SOURCES)
  set(KEDGE_SHARED_DIR ${PROJECT_SOURCE_DIR}/../shared CACHE PATH "Golden models and traces")
  set(CMAKE_UNITY_BUILD OFF)
  add_subdirectory(${KEDGE_GTEST_SOURCES}/googletest googletest EXCLUDE_FROM_ALL)
  include(KedgeTesting)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_subdirectory(test/unit/kernels EXCLUDE_FROM_ALL)
  add_subdirectory(test/unit/runtime EXCLUDE_FROM_ALL)
  add_custom_target(kedge-units DEPENDS kedge-unit-kernels kedge-unit-runtime)
endif()
