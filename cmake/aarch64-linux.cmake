# Toolchain: 64-bit Arm Linux by Debian's cross compiler (package g++-aarch64-linux-gnu).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# The libraries of headers alone (fmt, JSON, CLI11) are the same on all machines, and are where the cross compiler does not look.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
