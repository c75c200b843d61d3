# Compiler flags that every target of the project shares.
if(KEDGE_ASSERTIONS)
  # libMLIR is an NDEBUG build: LLVM's own assertions stay off (their objects differ in layout),
  # only KEDGE_ASSERT (Support/Assert.h) comes alive.
  add_compile_definitions(KEDGE_ASSERTIONS)
endif()
add_compile_definitions(NDEBUG)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-strict-aliasing)
if(KEDGE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize=vptr)
  add_link_options(-fsanitize=address,undefined)
endif()
if(EXISTS /usr/lib/llvm-22/bin/ld.lld)
  add_link_options(-fuse-ld=lld -B/usr/lib/llvm-22/bin)
endif()
