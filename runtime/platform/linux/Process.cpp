#include "runtime/platform/Process.h"
#include <cstdio>
#include <cstdlib>
#include <sys/random.h>

namespace kedge::rt::platform {

void keepLoaded() {} // -z nodelete

std::string programFile() { return "/proc/self/exe"; }

std::string bootName() {
  char text[64] = "";
  if (std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (!std::fgets(text, sizeof(text), file))
      text[0] = 0;
    std::fclose(file);
  }
  return text;
}

bool fillRandom(uint64_t &bits) {
  return getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits);
}

} // namespace kedge::rt::platform

// libstdc++'s strings bring its random_device along, which calls this function of glibc 2.36, as LLVM does in
// the tools. With one of their own, programs and tools run with glibc 2.35, too.
extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() {
  uint64_t bits = 0;
  if (!kedge::rt::platform::fillRandom(bits))
    std::abort();
  return static_cast<uint32_t>(bits);
}
