# Toolchain: the compiler zig, which brings the C and C++ libraries of other machines: x86-64 or 64-bit Arm Linux with musl, macOS. Takes
# KEDGE_ZIG (its path) and KEDGE_ZIG_TARGET (x86_64-linux-musl, aarch64-macos.11.0).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KEDGE_ZIG KEDGE_ZIG_TARGET)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${KEDGE_ZIG_TARGET})
if(KEDGE_ZIG_TARGET MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "zig has its own") # or CMake would look for Xcode's
  set(CMAKE_INSTALL_NAME_TOOL true) # for installed libraries, which there are none of
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
foreach(language C CXX)
  # The machine's processor says nothing about another.
  set(CMAKE_${language}_FLAGS_INIT "-target ${KEDGE_ZIG_TARGET}")
  set(CMAKE_${language}_ARCHIVE_CREATE "${KEDGE_ZIG} ar qc <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "${KEDGE_ZIG} ar q <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "${KEDGE_ZIG} ranlib <TARGET>")
endforeach()
set(CMAKE_C_COMPILER ${KEDGE_ZIG} cc)
set(CMAKE_CXX_COMPILER ${KEDGE_ZIG} c++)
# Libraries of headers alone are the same on all machines; the other headers beside them are glibc's.
set(headers ${CMAKE_BINARY_DIR}/headers)
foreach(library fmt nlohmann CLI)
  if(EXISTS /usr/include/${library} AND NOT EXISTS ${headers}/${library})
    file(MAKE_DIRECTORY ${headers})
    file(CREATE_LINK /usr/include/${library} ${headers}/${library} SYMBOLIC)
  endif()
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${headers}")
