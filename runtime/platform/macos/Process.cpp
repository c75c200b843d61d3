#include "runtime/platform/Process.h"
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <sys/random.h>
#include <sys/sysctl.h>

namespace kedge::rt::platform {

/// Loaded once more, in a way that it stays.
void keepLoaded() {
  Dl_info place;
  if (dladdr(reinterpret_cast<const void *>(&keepLoaded), &place) != 0)
    dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

std::string programFile() {
  uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size); // says how long it is
  std::string path(size, '\0');
  if (_NSGetExecutablePath(path.data(), &size) != 0)
    return "";
  path.resize(path.find('\0')); // `size` counts a zero at the end, and more
  return path;
}

std::string bootName() {
  char text[64] = "";
  size_t size = sizeof text;
  return sysctlbyname("kern.bootsessionuuid", text, &size, nullptr, 0) == 0 ? text : "";
}

bool fillRandom(uint64_t &bits) { return getentropy(&bits, sizeof bits) == 0; }

} // namespace kedge::rt::platform
