# Run at build time: cmake -DTEMPLATE= -DOUTPUT= -DSOURCE= -DVERSION= -DLLVM_VERSION= -P WriteVersion.cmake
# The commit is read here, not when CMake configures, and the file is written only when it changes: a commit compiles
# this one file again. A source tree without .git (a release's archive) has no commit to tell.
set(KEDGE_COMMIT "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(KEDGE_COMMIT "commit ${commit}, ")
  endif()
endif()
set(KEDGE_VERSION_TEXT "kedge ${VERSION} (${KEDGE_COMMIT}LLVM ${LLVM_VERSION})")
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
