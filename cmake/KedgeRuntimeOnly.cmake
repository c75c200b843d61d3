# KEDGE_RUNTIME_ONLY: the archives that programs are linked with, for a machine that the compiler does not run on. Without MLIR
# and tests; with the runtime for GPUs where CUDA's headers are given.
find_package(Threads REQUIRED)
foreach(headers nlohmann_json::nlohmann_json CLI11::CLI11 fmt::fmt)
  add_library(${headers} INTERFACE IMPORTED)
endforeach()
# Open MPI's types have the same sizes on all 64-bit Linux machines, and programs open the library by name.
find_path(KEDGE_MPI_INCLUDE_DIR NAMES mpi.h HINTS /usr/lib/x86_64-linux-gnu/openmpi/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(KEDGE_PRECOMPILED_HEADERS OFF)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
include(KedgeTargets)
add_subdirectory(runtime)
