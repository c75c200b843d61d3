// Chooses which compiled variant of the inner loops is used.
#pragma once
#include <optional>

namespace kedge::rt::cpu {

/// Base is what every processor of a family has. Of each family, x86-64 and 64-bit Arm, each includes those
/// before it. Avx512Bf16 and Amx differ from Avx512 only in products of bf16; NeonDot differs from Base only
/// in products of 8-bit integers, NeonBf16 in those of bf16, too. Sve256: vectors of 256 bits.
enum class Isa { Base, NeonDot, NeonBf16, Sve256, Avx2, Avx512, Avx512Bf16, Amx };

/// Whether the machine has this. Also asks the operating system for permission to use AMX registers.
bool machineHas(Isa isa);

/// Whether it is a 64-bit Arm processor with SVE, of vectors of any length.
bool machineHasSve();

/// The highest level that the machine has, or the one in KEDGE_CPU_ISA: base, and avx2, avx512, avx512bf16,
/// amx or neondot, neonbf16, sve256. Any other value, or a level that the machine lacks, is an error.
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

/// The result of one of the functions, by activeIsa. KEDGE_MADE_FOR_ISA(gemmTile, F32): of those that
/// EachIsa.h names, as gemmTileAvx2F32.
#if defined(__x86_64__)
template <auto avx512, auto avx2, auto base> const auto &madeForIsa() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<avx512>() : isa == Isa::Avx2 ? madeBy<avx2>() : madeBy<base>();
}
#define KEDGE_MADE_FOR_ISA(name, type) madeForIsa<name##Avx512##type, name##Avx2##type, name##Base##type>()
#elif defined(__aarch64__)
template <auto sve256, auto base> const auto &madeForIsa() {
  return activeIsa() == Isa::Sve256 ? madeBy<sve256>() : madeBy<base>();
}
#define KEDGE_MADE_FOR_ISA(name, type) madeForIsa<name##Sve256##type, name##Base##type>()
#else
#define KEDGE_MADE_FOR_ISA(name, type) madeBy<name##Base##type>()
#endif

} // namespace kedge::rt::cpu
