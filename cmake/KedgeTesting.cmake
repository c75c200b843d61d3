# What tests without MLIR include is parsed once, like MLIR's headers (KedgeTargets.cmake).
if(KEDGE_PRECOMPILED_HEADERS)
  add_library(kedge_precompiled_tests OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(kedge_precompiled_tests PRIVATE GTest::gtest fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(kedge_precompiled_tests PRIVATE ${KEDGE_GRAPH_OPTIMIZATION})
  target_precompile_headers(kedge_precompiled_tests PRIVATE
    <gtest/gtest.h> <nlohmann/json.hpp> <fmt/format.h> <algorithm> <atomic> <chrono> <cmath> <filesystem> <fstream> <functional> <map>
    <random> <set> <sstream> <thread>)
endif()

# kedge_compile_alone(FILES...): tests whose helpers have names of other files' helpers are not compiled together with them.
function(kedge_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# kedge_test_code(NAME): the target's files are tests that see no MLIR.
function(kedge_test_code name)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/test)
  target_compile_definitions(${name} PRIVATE KEDGE_SHARED_DIR="${KEDGE_SHARED_DIR}")
  target_compile_options(${name} PRIVATE -Wno-missing-field-initializers)
  target_link_libraries(${name} PRIVATE GTest::gtest fmt::fmt)
  kedge_reuse_headers(${name} kedge_precompiled_tests)
endfunction()

# kedge_unit_test(NAME [MLIR] [SOURCES ...] [LINK libs...]): the .cpp files of the current folder as one GoogleTest binary that
# check-kedge runs. Every library of the project registers itself in KEDGE_LIBRARIES (KedgeTargets.cmake).
function(kedge_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  endif()
  if(NOT ARG_SOURCES)
    return()
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE -Wno-missing-field-initializers) # tests name what they set
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  if(ARG_MLIR)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/test)
    target_compile_definitions(${name} PRIVATE KEDGE_SHARED_DIR="${KEDGE_SHARED_DIR}")
    target_link_libraries(${name} PRIVATE GTest::gtest)
    kedge_sees_mlir(${name})
  else()
    kedge_test_code(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY KEDGE_UNIT_TESTS ${name})
endfunction()

# kedge_tool(NAME [MLIR] [LONG] [SOURCES ...] [LINK libs...]): an executable in <build>/bin that lit tests may call; LONG: those of the
# long tier alone (test/tiers.txt). A folder with a main.cpp and more is a tool of the compiler's library: the others are the objects
# NAME-objects, which the library links, and the executable is main.cpp, which starts it (tools/Launch.h).
function(kedge_tool name)
  cmake_parse_arguments(ARG "MLIR;LONG" "" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  endif()
  set(target ${name})
  list(LENGTH ARG_SOURCES count)
  if("main.cpp" IN_LIST ARG_SOURCES AND count GREATER 1)
    set(target ${name}-objects)
    list(REMOVE_ITEM ARG_SOURCES main.cpp)
    add_library(${target} OBJECT ${ARG_SOURCES})
    add_executable(${name} main.cpp)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  else()
    add_executable(${name} ${ARG_SOURCES})
  endif()
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
  if(ARG_MLIR)
    kedge_sees_mlir(${target})
  endif()
  if(ARG_LONG)
    set_property(GLOBAL APPEND PROPERTY KEDGE_LONG_TOOLS ${name})
  else()
    set_property(GLOBAL APPEND PROPERTY KEDGE_TOOLS ${name})
  endif()
endfunction()
