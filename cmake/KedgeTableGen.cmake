# Headers generated from the .td files of include/kedge. One target, kedge-generated-headers, that every MLIR library waits
# for. Paths are relative to include/kedge.
set(KEDGE_PUBLIC ${PROJECT_SOURCE_DIR}/include/kedge)
add_custom_target(kedge-generated-headers)

# kedge_tablegen(TD_FILE suffix-and-generator pairs...): X.td -> X.h.inc, X.cpp.inc at the same path of the build tree.
function(kedge_tablegen td)
  get_filename_component(stem ${td} NAME_WE)
  get_filename_component(dir ${td} DIRECTORY)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(MLIR_TABLEGEN_FLAGS -I ${PROJECT_SOURCE_DIR}/include)
  set(out "${PROJECT_BINARY_DIR}/include/kedge/${dir}")
  file(MAKE_DIRECTORY ${out})
  string(REPLACE "/" "-" target "kedge-td-${dir}-${stem}")
  set(generated "")
  set(args ${ARGN})
  while(args)
    list(POP_FRONT args suffix)
    list(POP_FRONT args generator)
    set(file "${out}/${stem}${suffix}")
    string(REPLACE " " ";" generator "${generator}")
    add_custom_command(OUTPUT ${file}
      COMMAND ${MLIR_TABLEGEN_EXE} ${generator} -I ${PROJECT_SOURCE_DIR}/include -I ${MLIR_INCLUDE_DIRS}
              ${KEDGE_PUBLIC}/${td} -o ${file} --write-if-changed -d ${file}.d
      DEPFILE ${file}.d
      DEPENDS ${KEDGE_PUBLIC}/${td} COMMENT "tablegen ${dir}/${stem}${suffix}")
    list(APPEND generated ${file})
  endwhile()
  add_custom_target(${target} DEPENDS ${generated})
  add_dependencies(kedge-generated-headers ${target})
endfunction()

function(kedge_tablegen_interface td)
  kedge_tablegen(${td} .h.inc -gen-op-interface-decls .cpp.inc -gen-op-interface-defs)
endfunction()
function(kedge_tablegen_ops td)
  kedge_tablegen(${td} .h.inc -gen-op-decls .cpp.inc -gen-op-defs)
endfunction()

foreach(interface Differentiable Clusterable View Decomposable LibraryCall LinkedKernel Position Precision Sharding)
  kedge_tablegen_interface(Interfaces/${interface}OpInterface.td)
endforeach()

function(kedge_tablegen_dialect folder name)
  kedge_tablegen(Dialect/${folder}/${folder}Dialect.td
    .h.inc "-gen-dialect-decls -dialect=${name}" .cpp.inc "-gen-dialect-defs -dialect=${name}")
endfunction()

kedge_tablegen_dialect(Kedge kedge)
kedge_tablegen_dialect(ONNX onnx)
kedge_tablegen_dialect(Dist dist)
kedge_tablegen_dialect(Train train)
kedge_tablegen_dialect(Tune tune)
kedge_tablegen_dialect(Sched sched)
kedge_tablegen_dialect(Exec exec)
# One .td a family; its ops are listed by GET_OP_LIST in lib/Dialect/*/…Dialect.cpp.
file(GLOB families CONFIGURE_DEPENDS RELATIVE ${KEDGE_PUBLIC} ${KEDGE_PUBLIC}/Dialect/*/*Ops.td ${KEDGE_PUBLIC}/Dialect/*/*/*Ops.td)
foreach(family ${families})
  kedge_tablegen_ops(${family})
endforeach()
kedge_tablegen(Dialect/Train/TrainAttrs.td
  .h.inc "-gen-attrdef-decls -attrdefs-dialect=train" .cpp.inc "-gen-attrdef-defs -attrdefs-dialect=train"
  Enums.h.inc -gen-enum-decls Enums.cpp.inc -gen-enum-defs)
kedge_tablegen(Dialect/Tune/TuneAttrs.td
  .h.inc "-gen-attrdef-decls -attrdefs-dialect=tune" .cpp.inc "-gen-attrdef-defs -attrdefs-dialect=tune"
  Enums.h.inc -gen-enum-decls Enums.cpp.inc -gen-enum-defs)
kedge_tablegen(Dialect/Dist/DistAttrs.td
  .h.inc "-gen-attrdef-decls -attrdefs-dialect=dist" .cpp.inc "-gen-attrdef-defs -attrdefs-dialect=dist"
  Enums.h.inc -gen-enum-decls Enums.cpp.inc -gen-enum-defs)
foreach(words ONNX/Onnx Train/Train)
  kedge_tablegen(Dialect/${words}Enums.td .h.inc -gen-enum-decls .cpp.inc -gen-enum-defs)
endforeach()
kedge_tablegen(Dialect/Kedge/KedgeAttrs.td
  .h.inc "-gen-attrdef-decls -attrdefs-dialect=kedge" .cpp.inc "-gen-attrdef-defs -attrdefs-dialect=kedge"
  Enums.h.inc -gen-enum-decls Enums.cpp.inc -gen-enum-defs)
kedge_tablegen(Dialect/Exec/ExecAttrs.td
  .h.inc "-gen-attrdef-decls -attrdefs-dialect=exec" .cpp.inc "-gen-attrdef-defs -attrdefs-dialect=exec"
  Enums.h.inc -gen-enum-decls Enums.cpp.inc -gen-enum-defs)
kedge_tablegen_interface(Dialect/Exec/ExecInterfaces.td)
kedge_tablegen(Dialect/Sched/SchedAttrs.td
  .h.inc "-gen-attrdef-decls -attrdefs-dialect=sched" .cpp.inc "-gen-attrdef-defs -attrdefs-dialect=sched"
  Enums.h.inc -gen-enum-decls Enums.cpp.inc -gen-enum-defs)
