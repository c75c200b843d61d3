# Toolchain: 64-bit Arm Linux by Debian's cross compiler (package g++-aarch64-linux-gnu).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# The libraries of headers alone (fmt, JSON, CLI11) are the same on all machines, and are where the cross compiler does not look.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
# Runs what is built for that machine, where it is installed (package qemu-user): with all instructions that it can emulate.
find_program(KEDGE_AARCH64_EMULATOR qemu-aarch64 NO_CMAKE_FIND_ROOT_PATH)
if(KEDGE_AARCH64_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${KEDGE_AARCH64_EMULATOR} -L /usr/aarch64-linux-gnu -cpu max,sve-default-vector-length=32)
endif()
