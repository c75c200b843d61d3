# MLIR's headers take half of the time of the files that see them: they are parsed once.
# What builds, checks and prints graphs of some thousand ops needs no more: files compile up to a fifth faster than at
# -O2, and a model takes no longer. The solver, the runtime and what is generated are optimized further.
set(KEDGE_GRAPH_OPTIMIZATION $<$<CONFIG:Release>:-O1>)

option(KEDGE_PRECOMPILED_HEADERS "Parse MLIR's headers once" ON)
if(KEDGE_PRECOMPILED_HEADERS)
  if(NOT EXISTS ${PROJECT_BINARY_DIR}/precompiled.cpp)
    file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  endif()
  add_library(kedge_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_include_directories(kedge_precompiled SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(kedge_precompiled PUBLIC ${KEDGE_LLVM_DEFINITIONS})
  target_compile_options(kedge_precompiled PRIVATE ${KEDGE_GRAPH_OPTIMIZATION})
  target_precompile_headers(kedge_precompiled PRIVATE
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
    <mlir/IR/OpImplementation.h> <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>)
endif()

# kedge_reuse_headers(NAME FROM): the target's files start from FROM's precompiled headers, whose flags they take.
function(kedge_reuse_headers name from)
  target_compile_options(${name} PRIVATE ${KEDGE_GRAPH_OPTIMIZATION})
  if(KEDGE_PRECOMPILED_HEADERS)
    # As libraries are compiled; CMake would give an executable -fPIE.
    get_target_property(type ${name} TYPE)
    if(type STREQUAL EXECUTABLE)
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()

# kedge_sees_mlir(NAME): the target's files work on graphs.
function(kedge_sees_mlir name)
  kedge_reuse_headers(${name} kedge_precompiled)
endfunction()

# kedge_mlir_library(NAME [DEPENDS generated-headers...] [LINK libs...])
# One static library of all .cpp files below the current folder; sees MLIR.
function(kedge_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp */*.cpp)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/include)
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC ${KEDGE_LLVM_DEFINITIONS})
  add_dependencies(${name} kedge-generated-headers ${ARG_DEPENDS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  kedge_sees_mlir(${name})
  set_property(GLOBAL APPEND PROPERTY KEDGE_LIBRARIES ${name})
endfunction()

# kedge_library(NAME [GRAPHS] [LINK libs...]): a static library that knows no MLIR. GRAPHS: its work is a model's graph.
function(kedge_library name)
  cmake_parse_arguments(ARG "GRAPHS" "" "LINK;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp */*.cpp)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_GRAPHS)
    target_compile_options(${name} PRIVATE ${KEDGE_GRAPH_OPTIMIZATION})
  endif()
  set_property(GLOBAL APPEND PROPERTY KEDGE_LIBRARIES ${name})
endfunction()

# kedge_pass_library(PHASE [SOURCES ...] [LINK libs...]): passes/PHASE with its Passes.td -> library kedge_passes_<phase>.
# Passes.h in the folder includes the generated declarations (passes/PHASE/Passes.h.inc).
function(kedge_pass_library phase)
  cmake_parse_arguments(ARG "" "" "LINK;SOURCES" ${ARGN})
  string(TOLOWER ${phase} lower)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/Passes.h.inc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${MLIR_TABLEGEN_EXE} -gen-pass-decls -name ${phase} -I ${MLIR_INCLUDE_DIRS} -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/include
            ${CMAKE_CURRENT_SOURCE_DIR}/Passes.td -o ${out} --write-if-changed -d ${out}.d
    DEPFILE ${out}.d
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/Passes.td COMMENT "tablegen passes/${phase}")
  add_custom_target(kedge-td-passes-${lower} DEPENDS ${out})
  kedge_mlir_library(kedge_passes_${lower} DEPENDS kedge-td-passes-${lower} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY KEDGE_PASS_LIBRARIES kedge_passes_${lower})
endfunction()
