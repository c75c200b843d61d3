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

// libstdc++'s strings bring its random_device along, which calls this function of glibc 2.36. With one of its
// own a program runs on the systems before, too; nothing calls it.
extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() {
  return static_cast<uint32_t>(kedge::rt::randomBits());
}
