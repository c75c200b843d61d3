# Everything comes from Debian packages; scripts/setup.sh installs them.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(KEDGE_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})

find_package(Protobuf REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark QUIET)

# CUDA is detected, never required.
find_program(KEDGE_NVCC nvcc)
if(KEDGE_NVCC)
  set(KEDGE_HAVE_CUDA ON)
else()
  set(KEDGE_HAVE_CUDA OFF)
endif()
