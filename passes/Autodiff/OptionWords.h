// Words of this room's options.
#pragma once
#include "lib/Support/Words.h"

namespace kedge::autodiff {

/// The type of an optimizer's moments.
enum class Moments { Fp32, Bf16, Int8 };

} // namespace kedge::autodiff

template <> struct kedge::Words<kedge::autodiff::Moments> {
  using enum autodiff::Moments;
  static constexpr Word<autodiff::Moments> list[] = {
      {Fp32, "fp32", "of the parameter's type"},
      {Bf16, "bf16", "rounded to 16 bits"},
      {Int8, "int8", "companded, in groups of 32 (train.companded)"}};
};
