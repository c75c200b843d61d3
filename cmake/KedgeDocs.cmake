# kedge-docs: reference pages of dialects, interfaces and passes from TableGen, as Markdown in <build>/docs/reference, with an index.
# An installation has them beside the other documents.
set(KEDGE_REFERENCE_DIR ${PROJECT_BINARY_DIR}/docs/reference)
set(kedge_reference_pages "")

# kedge_reference_page(PAGE TD GENERATOR...): one page from one .td file of the source tree.
function(kedge_reference_page page td)
  set(out ${KEDGE_REFERENCE_DIR}/${page}.md)
  get_filename_component(folder ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${out}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/include -I ${MLIR_INCLUDE_DIRS}
            ${PROJECT_SOURCE_DIR}/${td} -o ${out} -d ${out}.d
    DEPFILE ${out}.d
    DEPENDS ${PROJECT_SOURCE_DIR}/${td} COMMENT "reference ${page}")
  set(kedge_reference_pages ${kedge_reference_pages} ${out} PARENT_SCOPE)
endfunction()

file(GLOB families CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include/kedge/Dialect/*/*Ops.td
     ${PROJECT_SOURCE_DIR}/include/kedge/Dialect/*/*/*Ops.td)
foreach(td ${families})
  get_filename_component(family ${td} NAME_WE)
  string(REGEX MATCH "^include/kedge/Dialect/([^/]+)" dialect ${td})
  kedge_reference_page(dialects/${CMAKE_MATCH_1}/${family} ${td} -gen-op-doc)
endforeach()
file(GLOB attributes CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include/kedge/Dialect/*/*Attrs.td)
foreach(td ${attributes})
  get_filename_component(family ${td} NAME_WE)
  string(REGEX MATCH "^include/kedge/Dialect/([^/]+)" dialect ${td})
  kedge_reference_page(dialects/${CMAKE_MATCH_1}/${family} ${td} -gen-attrdef-doc)
endforeach()
file(GLOB dialects CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include/kedge/Dialect/*/*Dialect.td)
foreach(td ${dialects})
  get_filename_component(dialect ${td} DIRECTORY)
  get_filename_component(dialect ${dialect} NAME)
  string(TOLOWER ${dialect} name)
  kedge_reference_page(dialects/${dialect} ${td} -gen-dialect-doc -dialect=${name})
endforeach()
file(GLOB interfaces CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include/kedge/Interfaces/*.td)
foreach(td ${interfaces})
  get_filename_component(interface ${td} NAME_WE)
  kedge_reference_page(interfaces/${interface} ${td} -gen-op-interface-docs)
endforeach()
file(GLOB phases CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/passes/*/Passes.td)
foreach(td ${phases})
  get_filename_component(phase ${td} DIRECTORY)
  get_filename_component(phase ${phase} NAME)
  kedge_reference_page(passes/${phase} ${td} -gen-pass-doc)
endforeach()

add_custom_command(OUTPUT ${KEDGE_REFERENCE_DIR}/README.md
  COMMAND ${CMAKE_COMMAND} -DREFERENCE=${KEDGE_REFERENCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/WriteReferenceIndex.cmake
  DEPENDS ${kedge_reference_pages} ${PROJECT_SOURCE_DIR}/cmake/WriteReferenceIndex.cmake COMMENT "reference, its index")
add_custom_target(kedge-docs ALL DEPENDS ${KEDGE_REFERENCE_DIR}/README.md)
