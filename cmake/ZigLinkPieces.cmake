# What LLD links programs for macOS with besides the runtime, from the compiler zig: its libc++ and what compilers call, which it builds
# when it first links, and the list of what Apple's libSystem has. Takes ZIG, TARGET and FOLDER.
file(MAKE_DIRECTORY ${FOLDER})
set(probe ${FOLDER}/probe)
file(WRITE ${probe}.cpp "#include <string>\nint main(int count, char **words) { return static_cast<int>(std::string(words[0]).size()) - count; }\n")
execute_process(COMMAND ${ZIG} build-exe ${probe}.cpp -lc++ -target ${TARGET} -femit-bin=${probe} --verbose-link
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "zig links no program for ${TARGET}: ${said}")
endif()
foreach(name libc++.a libc++abi.a libcompiler_rt.a)
  string(REPLACE "+" "[+]" pattern ${name})
  if(NOT said MATCHES "([^ \n\"]+/${pattern})")
    message(FATAL_ERROR "zig links ${TARGET} without ${name}: ${said}")
  endif()
  file(COPY_FILE ${CMAKE_MATCH_1} ${FOLDER}/${name} ONLY_IF_DIFFERENT)
endforeach()
get_filename_component(home ${ZIG} DIRECTORY)
# LLD of LLVM 22 does not know the newest of Apple's processors, and takes no list with its name.
file(READ ${home}/lib/libc/darwin/libSystem.tbd functions)
string(REGEX REPLACE ",[ \n]*arm64e[.]x1-[a-z]+" "" functions "${functions}")
file(WRITE ${FOLDER}/libSystem.tbd "${functions}")
file(REMOVE ${probe} ${probe}.cpp)
