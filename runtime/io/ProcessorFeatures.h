// What an x86-64 processor has and the system saves, by the names of GCC's __builtin_cpu_supports.
#pragma once
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kedge::rt {

#if defined(__x86_64__)
struct CpuidWords {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

  CpuidWords(unsigned leaf, unsigned subleaf) {
    if (!__get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx))
      eax = ebx = ecx = edx = 0;
  }
};

/// Registers that the system saves: bits of XCR0 (Intel's manual, volume 1, section 13.3).
inline unsigned savedRegisters() {
  constexpr unsigned kUsesXsave = 1u << 27;
  if (!(CpuidWords(1, 0).ecx & kUsesXsave))
    return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// 1 or 0; -1: a name that is not in the list. Read from the processor, not asked of __builtin_cpu_supports,
/// which is always false in programs that zig links.
inline int processorHas(std::string_view name) {
  struct Feature {
    std::string_view name;
    unsigned leaf, subleaf;
    unsigned CpuidWords::*word;
    int bit;
    unsigned registers; ///< of XCR0
  };
  constexpr unsigned kYmm = 0x6, kZmm = 0xe6;
  static constexpr Feature kFeatures[] = {
      {"sse2", 1, 0, &CpuidWords::edx, 26, 0},         {"sse3", 1, 0, &CpuidWords::ecx, 0, 0},
      {"ssse3", 1, 0, &CpuidWords::ecx, 9, 0},         {"sse4.1", 1, 0, &CpuidWords::ecx, 19, 0},
      {"sse4.2", 1, 0, &CpuidWords::ecx, 20, 0},       {"popcnt", 1, 0, &CpuidWords::ecx, 23, 0},
      {"avx", 1, 0, &CpuidWords::ecx, 28, kYmm},       {"fma", 1, 0, &CpuidWords::ecx, 12, kYmm},
      {"f16c", 1, 0, &CpuidWords::ecx, 29, kYmm},      {"bmi", 7, 0, &CpuidWords::ebx, 3, 0},
      {"bmi2", 7, 0, &CpuidWords::ebx, 8, 0},          {"avx2", 7, 0, &CpuidWords::ebx, 5, kYmm},
      {"avx512f", 7, 0, &CpuidWords::ebx, 16, kZmm},   {"avx512dq", 7, 0, &CpuidWords::ebx, 17, kZmm},
      {"avx512cd", 7, 0, &CpuidWords::ebx, 28, kZmm},  {"avx512bw", 7, 0, &CpuidWords::ebx, 30, kZmm},
      {"avx512vl", 7, 0, &CpuidWords::ebx, 31, kZmm},  {"avx512vnni", 7, 0, &CpuidWords::ecx, 11, kZmm},
      {"avx512bf16", 7, 1, &CpuidWords::eax, 5, kZmm},
  };
  for (const Feature &feature : kFeatures)
    if (feature.name == name)
      return (CpuidWords(feature.leaf, feature.subleaf).*feature.word >> feature.bit & 1) &&
             (savedRegisters() & feature.registers) == feature.registers;
  return -1;
}
#else
inline int processorHas(std::string_view) { return -1; }
#endif

} // namespace kedge::rt
