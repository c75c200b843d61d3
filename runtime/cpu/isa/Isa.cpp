#include "runtime/cpu/isa/Isa.h"
#include "runtime/io/Error.h"
#include "runtime/io/ProcessorFeatures.h"
#include "runtime/platform/ArmFeatures.h"
#include "runtime/platform/Threads.h"
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kedge::rt::cpu {
namespace {

struct Features {
  bool avx2 = false, avx512 = false, avx512Bf16 = false, amx = false;
  bool slowDots = false; ///< vdpbf16ps is slower than the multiply-adds of widened elements
  bool neonDot = false, neonBf16 = false, sve = false, sve256 = false;
};

#if defined(__x86_64__)
Features readFeatures() {
  Features f;
  f.avx2 = processorHas("avx2") && processorHas("fma") && processorHas("f16c");
  f.avx512 = f.avx2 && processorHas("avx512f") && processorHas("avx512vl") && processorHas("avx512dq") &&
             processorHas("avx512bw");
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!f.avx512 || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
    return f;
  const bool tiles = (edx >> 22 & 1) && (edx >> 24 & 1); // amx-bf16, amx-tile
  const bool halves = edx >> 23 & 1;                     // avx512-fp16
  f.avx512Bf16 = __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 5 & 1);
  f.amx = f.avx512Bf16 && tiles && platform::mayUseTiles();
  // Measured on a processor with all three: half the rate of fp32 multiply-adds. Those that have AVX512_BF16
  // without AVX512_FP16 (Cooper Lake, Zen 4 and 5) run it at twice that rate by their producers' tables.
  f.slowDots = halves;
  return f;
}
#else
Features readFeatures() {
  const platform::ArmFeatures arm = platform::armFeatures();
  Features f;
  f.neonDot = arm.dot;
  f.neonBf16 = f.neonDot && arm.bf16;
  f.sve = arm.vectorBytes != 0;
  f.sve256 = f.neonBf16 && arm.vectorBytes == 32;
  return f;
}
#endif

const Features &features() {
  static const Features machine = readFeatures();
  return machine;
}

struct NamedIsa {
  Isa isa;
  const char *name;
};
/// Of this family of processors.
constexpr NamedIsa kNames[] = {{Isa::Base, "base"},
#if defined(__aarch64__)
                               {Isa::NeonDot, "neondot"},
                               {Isa::NeonBf16, "neonbf16"},
                               {Isa::Sve256, "sve256"}};
#else
                               {Isa::Avx2, "avx2"},
                               {Isa::Avx512, "avx512"},
                               {Isa::Avx512Bf16, "avx512bf16"},
                               {Isa::Amx, "amx"}};
#endif

const char *nameOf(Isa isa) {
  for (const NamedIsa &named : kNames)
    if (named.isa == isa)
      return named.name;
  return "an instruction set of another family of processors";
}

std::string allNames() {
  std::string all;
  for (const NamedIsa &named : kNames)
    all += (all.empty() ? "" : &named == std::end(kNames) - 1 ? " or " : ", ") + std::string(named.name);
  return all;
}

Isa best() {
  const Features &f = features();
  if (f.neonDot)
    return f.sve256 ? Isa::Sve256 : f.neonBf16 ? Isa::NeonBf16 : Isa::NeonDot;
  if (f.amx)
    return Isa::Amx;
  if (f.avx512Bf16 && !f.slowDots)
    return Isa::Avx512Bf16;
  return f.avx512 ? Isa::Avx512 : f.avx2 ? Isa::Avx2 : Isa::Base;
}

Isa chosen() {
  const char *name = std::getenv("KEDGE_CPU_ISA");
  if (!name || !*name)
    return best();
  for (const NamedIsa &named : kNames)
    if (std::string_view(name) == named.name) {
      if (!machineHas(named.isa))
        fail("KEDGE_CPU_ISA is {}, which this machine does not have", name);
      return named.isa;
    }
  fail("KEDGE_CPU_ISA is '{}', expected {}", name, allNames());
}

constexpr int kNone = -1;
std::atomic<int> forced{kNone};

} // namespace

bool machineHas(Isa isa) {
  const Features &f = features();
  switch (isa) {
  case Isa::Base:
    return true;
  case Isa::Avx2:
    return f.avx2;
  case Isa::Avx512:
    return f.avx512;
  case Isa::Avx512Bf16:
    return f.avx512Bf16;
  case Isa::Amx:
    return f.amx;
  case Isa::NeonDot:
    return f.neonDot;
  case Isa::NeonBf16:
    return f.neonBf16;
  case Isa::Sve256:
    return f.sve256;
  }
  return false;
}

bool machineHasSve() { return features().sve; }

Isa activeIsa() {
  int isa = forced.load(std::memory_order_relaxed);
  return isa != kNone ? static_cast<Isa>(isa) : machineIsa();
}

Isa machineIsa() {
  static const Isa own = chosen();
  return own;
}

void forceIsa(std::optional<Isa> isa) {
  if (isa && !machineHas(*isa))
    fail("{} was forced, which this machine does not have", nameOf(*isa));
  forced = isa ? static_cast<int>(*isa) : kNone;
}

} // namespace kedge::rt::cpu
