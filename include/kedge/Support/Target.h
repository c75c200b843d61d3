// What a program is compiled for.
#pragma once
#include "kedge/Support/WordParser.h"

namespace kedge {

enum class TargetKind { Cpu, Cuda };

} // namespace kedge

template <> struct kedge::Words<kedge::TargetKind> {
  using enum TargetKind;
  static constexpr Word<TargetKind> list[] = {{Cpu, "cpu", "kernels for the processor"},
                                              {Cuda, "cuda", "kernels for an NVIDIA GPU"}};
};
