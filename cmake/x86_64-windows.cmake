# Toolchain: 64-bit Windows by Debian's cross compiler (package g++-mingw-w64-x86-64), with threads of C++.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
# The libraries of headers alone (fmt, JSON, CLI11) are the same on all machines; the other headers beside them are Linux's.
set(headers ${CMAKE_BINARY_DIR}/headers)
foreach(library fmt nlohmann CLI)
  if(EXISTS /usr/include/${library} AND NOT EXISTS ${headers}/${library})
    file(MAKE_DIRECTORY ${headers})
    file(CREATE_LINK /usr/include/${library} ${headers}/${library} SYMBOLIC)
  endif()
endforeach()
# Windows 10. GCC aligns no stack beyond 16 bytes there, and moves whole vectors as if it did (GCC bug 54412): the assembler makes
# these moves ones for any address.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${headers} -D_WIN32_WINNT=0x0A00 -Wa,-muse-unaligned-vector-move")
