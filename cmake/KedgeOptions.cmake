# Compiler flags that every target of the project shares.
if(KEDGE_ASSERTIONS)
  # libMLIR is an NDEBUG build: LLVM's own assertions stay off (their objects differ in layout),
  # only KEDGE_ASSERT (Support/Assert.h) comes alive.
  add_compile_definitions(KEDGE_ASSERTIONS)
endif()
add_compile_definitions(NDEBUG)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-strict-aliasing)
if(KEDGE_SANITIZE)
  # A check before each access doubles the time to compile; the address sanitizer sees null and wild pointers by itself.
  set(KEDGE_COSTLY_CHECKS vptr,null,alignment,object-size,pointer-overflow,nonnull-attribute,returns-nonnull-attribute)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=${KEDGE_COSTLY_CHECKS} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(KEDGE_THREAD_SANITIZER)
  if(KEDGE_SANITIZE)
    message(FATAL_ERROR "KEDGE_SANITIZE and KEDGE_THREAD_SANITIZER exclude each other: choose one build for each")
  endif()
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(EXISTS /usr/lib/llvm-22/bin/ld.lld)
  add_link_options(-fuse-ld=lld -B/usr/lib/llvm-22/bin)
endif()
