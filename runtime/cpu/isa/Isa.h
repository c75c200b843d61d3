// Chooses which compiled variant of the inner loops is used.
#pragma once
#include <optional>

namespace kedge::rt::cpu {

/// Each includes those before it. Avx512Bf16 and Amx differ from Avx512 only in products of bf16.
enum class Isa { Base, Avx2, Avx512, Avx512Bf16, Amx };

/// Whether the machine has this. Also asks the operating system for permission to use AMX registers.
bool machineHas(Isa isa);

/// The highest level that the machine has, or the one in KEDGE_CPU_ISA: base, avx2, avx512,
/// avx512bf16, amx. Any other value, or a level that the machine lacks, is an error.
Isa activeIsa();

/// The same without the effect of forceIsa.
Isa machineIsa();

/// For tests, and for programs compiled for a level: kernels use `isa` from here on. std::nullopt: the choice
/// of activeIsa.
void forceIsa(std::optional<Isa> isa);

/// The result of `make`, called once. Used only on machines with the instructions that `make` is compiled
/// for.
template <auto make> const auto &madeBy() {
  static const auto table = make();
  return table;
}

/// The result of one of three functions, by activeIsa. Processors of other families have the last alone.
template <auto avx512, auto avx2, auto base> const auto &madeForIsa() {
#if defined(__x86_64__)
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<avx512>() : isa == Isa::Avx2 ? madeBy<avx2>() : madeBy<base>();
#else
  return madeBy<base>();
#endif
}

} // namespace kedge::rt::cpu
