# Everything comes from Debian packages; scripts/setup.sh installs them.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(KEDGE_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})

find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)

# Open MPI's header, for programs of several ranks; they open the library themselves.
find_path(KEDGE_MPI_INCLUDE_DIR NAMES mpi.h
          HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include /usr/lib/x86_64-linux-gnu/openmpi/include)
if(NOT KEDGE_MPI_INCLUDE_DIR)
  message(FATAL_ERROR "mpi.h is missing: apt install libopenmpi-dev (scripts/setup.sh does)")
endif()

# CUDA is detected, never required: its headers build the runtime of --target cuda, its ptxas is looked for when
# programs are compiled.
find_path(KEDGE_CUDA_INCLUDE_DIR NAMES cublasLt.h
          HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include)
foreach(header cuda.h cudnn.h)
  if(KEDGE_CUDA_INCLUDE_DIR AND NOT EXISTS ${KEDGE_CUDA_INCLUDE_DIR}/${header})
    message(STATUS "--target cuda is left out: ${KEDGE_CUDA_INCLUDE_DIR} has no ${header}")
    set(KEDGE_CUDA_INCLUDE_DIR "" CACHE PATH "Headers of CUDA and cuDNN; empty: no --target cuda" FORCE)
  endif()
endforeach()
if(NOT KEDGE_CUDA_INCLUDE_DIR)
  set(KEDGE_CUDA_INCLUDE_DIR "" CACHE PATH "Headers of CUDA and cuDNN; empty: no --target cuda" FORCE)
endif()
