# Toolchain: x86-64 or 64-bit Arm Linux with musl and libc++, which the compiler zig brings. Takes KEDGE_ZIG (its path) and
# KEDGE_MUSL_PROCESSOR (x86_64 or aarch64).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KEDGE_ZIG KEDGE_MUSL_PROCESSOR)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${KEDGE_MUSL_PROCESSOR})
foreach(language C CXX)
  # The machine's processor says nothing about another.
  set(CMAKE_${language}_FLAGS_INIT "-target ${KEDGE_MUSL_PROCESSOR}-linux-musl")
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
