# Run at build time: cmake -DREFERENCE=FOLDER -P WriteReferenceIndex.cmake
# README.md of the folder of reference pages: each dialect, interface and pass with its summary and a link.
set(text "# Reference of dialects, interfaces and passes

Made of the `.td` files of this version by the target `kedge-docs`. [Building on Kedge](../extending/README.md) says how to use them.

## Dialects

| dialect | what is in it | ops and attributes |
|---|---|---|
")

# The first line in italics: MLIR's pages have summaries so.
function(summary_of page result)
  file(STRINGS ${page} lines REGEX "^_.*_$" LIMIT_COUNT 1)
  string(REGEX REPLACE "^_(.*)_$" "\\1" found "${lines}")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

file(GLOB pages ${REFERENCE}/dialects/*.md)
foreach(page ${pages})
  get_filename_component(dialect ${page} NAME_WE)
  summary_of(${page} summary)
  set(parts "")
  file(GLOB families ${REFERENCE}/dialects/${dialect}/*.md)
  foreach(family ${families})
    get_filename_component(name ${family} NAME_WE)
    string(APPEND parts " [${name}](dialects/${dialect}/${name}.md)")
  endforeach()
  string(APPEND text "| [${dialect}](dialects/${dialect}.md) | ${summary} |${parts} |\n")
endforeach()

string(APPEND text "\n## Interfaces of ops\n\n")
file(GLOB pages ${REFERENCE}/interfaces/*.md)
foreach(page ${pages})
  get_filename_component(name ${page} NAME_WE)
  string(APPEND text "- [${name}](interfaces/${name}.md)\n")
endforeach()

string(APPEND text "\n## Passes, by phase\n")
file(GLOB pages ${REFERENCE}/passes/*.md)
foreach(page ${pages})
  get_filename_component(phase ${page} NAME_WE)
  string(APPEND text "\n### [${phase}](passes/${phase}.md)\n\n| pass | what it does |\n|---|---|\n")
  file(STRINGS ${page} lines REGEX "^(### `-kedge-|_.*_$)")
  set(pass "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^### `-(kedge-[a-z0-9-]+)`")
      set(pass ${CMAKE_MATCH_1})
    elseif(pass)
      string(REGEX REPLACE "^_(.*)_$" "\\1" summary "${line}")
      string(REPLACE "|" "\\|" summary "${summary}")
      string(APPEND text "| [`--${pass}`](passes/${phase}.md#-${pass}) | ${summary} |\n")
      set(pass "")
    endif()
  endforeach()
endforeach()
file(WRITE ${REFERENCE}/README.md "${text}")
