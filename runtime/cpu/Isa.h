// Which of the compiled variants of the inner loops run.
#pragma once
#include <optional>

namespace kedge::rt::cpu {

/// Each includes those before it; Avx512Bf16 and Amx differ from Avx512 in products of bf16 alone.
enum class Isa { Base, Avx2, Avx512, Avx512Bf16, Amx };

/// What the machine can run; the operating system's leave to use AMX's registers is asked for here.
bool machineHas(Isa isa);

/// The fastest that the machine has, or what KEDGE_CPU_ISA names: base, avx2, avx512, avx512bf16, amx. An error when
/// that is none of them or the machine lacks it.
Isa activeIsa();

/// The same, whatever forceIsa says.
Isa machineIsa();

/// For tests and programs of a level: all kernels that are made and run from here on use `isa`; std::nullopt: activeIsa's own choice.
void forceIsa(std::optional<Isa> isa);

/// What `make` returns, made once. Only asked for on a machine that has the instructions `make` is compiled for.
template <auto make> const auto &madeBy() {
  static const auto table = make();
  return table;
}

} // namespace kedge::rt::cpu
