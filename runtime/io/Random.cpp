#include "runtime/io/Random.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Process.h"
#include <cerrno>
#include <cstring>

uint64_t kedge::rt::randomBits() {
  uint64_t bits = 0;
  if (!platform::fillRandom(bits))
    fail("the system gave no random number: {}", std::strerror(errno));
  return bits;
}
