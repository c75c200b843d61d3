#include "runtime/cpu/isa/Level.h"
#include "runtime/cpu/isa/Isa.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstdlib>

namespace kedge::rt::cpu {
namespace {

struct Level {
  const char *name;
  Isa isa;
};
/// From below.
constexpr Level kLevels[] = {
    {"aarch64-linux", Isa::Base}, {"x86-64-v3", Isa::Avx2}, {"x86-64-v4", Isa::Avx512}};

/// Why the machine counts as less than it may be.
std::string limitText() {
  const char *limit = std::getenv("KEDGE_CPU_ISA");
  return limit && *limit ? std::string(" (KEDGE_CPU_ISA is ") + limit + ")" : "";
}

} // namespace

std::string takeLevel(const std::vector<std::string> &features) {
  const Isa machine = machineIsa();
  const Level *best = nullptr;
  std::string lowest;
  for (const Level &level : kLevels) {
    if (std::find(features.begin(), features.end(), level.name) == features.end())
      continue;
    if (lowest.empty())
      lowest = level.name;
    if (machine >= level.isa)
      best = &level;
  }
  if (lowest.empty())
    return "";
  if (!best)
    fail("this program was compiled for processors of level {} and above, and this machine is below that{}: "
         "compile it on this "
         "machine with --cpu native",
         lowest, limitText());
  forceIsa(best->isa);
  return best->name;
}

} // namespace kedge::rt::cpu
