#include "runtime/cpu/isa/Level.h"
#include "runtime/cpu/isa/Isa.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstdlib>

namespace kedge::rt::cpu {
namespace {

struct Level {
  const char *name;
  bool (*isHere)();
  Isa most; ///< that kernels use
};
/// From below. On Arm products of bf16 use what the machine has; the bits of all else are those of the level.
constexpr Level kLevels[] = {
    {"aarch64-android", [] { return true; }, Isa::NeonBf16},
    {"aarch64-linux", [] { return true; }, Isa::NeonBf16},
    {"aarch64-macos", [] { return true; }, Isa::NeonBf16},
    {"aarch64-linux+sve", [] { return machineHasSve(); }, Isa::NeonBf16},
    {"aarch64-linux+sve256", [] { return machineIsa() == Isa::Sve256; }, Isa::Sve256},
    {"x86-64-v3", [] { return machineIsa() >= Isa::Avx2; }, Isa::Avx2},
    {"x86-64-v4", [] { return machineIsa() >= Isa::Avx512; }, Isa::Avx512},
    {"x86_64-macos", [] { return machineIsa() >= Isa::Avx2; }, Isa::Avx2},
    {"x86_64-windows+v3", [] { return machineIsa() >= Isa::Avx2; }, Isa::Avx2},
    {"x86_64-windows+v4", [] { return machineIsa() >= Isa::Avx512; }, Isa::Avx512}};

/// Why the machine counts as less than it may be.
std::string limitText() {
  const char *limit = std::getenv("KEDGE_CPU_ISA");
  return limit && *limit ? std::string(" (KEDGE_CPU_ISA is ") + limit + ")" : "";
}

} // namespace

std::string takeLevel(const std::vector<std::string> &features) {
  const Level *best = nullptr;
  std::string lowest;
  for (const Level &level : kLevels) {
    if (std::find(features.begin(), features.end(), level.name) == features.end())
      continue;
    if (lowest.empty())
      lowest = level.name;
    if (level.isHere())
      best = &level;
  }
  if (lowest.empty())
    return "";
  if (!best)
    fail("this program was compiled for processors of level {} and above, and this machine is below that{}: "
         "compile it on this "
         "machine with --cpu native",
         lowest, limitText());
  forceIsa(std::min(machineIsa(), best->most));
  return best->name;
}

} // namespace kedge::rt::cpu
