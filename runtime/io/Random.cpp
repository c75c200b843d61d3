#include "runtime/io/Random.h"
#include "runtime/io/Error.h"
#include <cerrno>
#include <cstring>
#include <sys/random.h>

uint64_t kedge::rt::randomBits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    fail("the system gave no random number: {}", std::strerror(errno));
  return bits;
}

// libstdc++'s strings bring its random_device along, which calls this function of glibc 2.36, as LLVM does in
// the tools. With one of their own, programs and tools run with glibc 2.35, too.
extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() {
  return static_cast<uint32_t>(kedge::rt::randomBits());
}
