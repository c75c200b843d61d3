// Words of this room's options.
#pragma once
#include "kedge/Support/WordParser.h"

namespace kedge::lower {

/// What computes convolutions on a GPU where cuDNN could.
enum class Convolutions { Auto, Cudnn, Generated };

} // namespace kedge::lower

template <> struct kedge::Words<kedge::lower::Convolutions> {
  using enum lower::Convolutions;
  static constexpr Word<lower::Convolutions> list[] = {
      {Auto, "auto", "cuDNN for f32 and f64, kernels of the program for 16 bits"},
      {Cudnn, "cudnn", "cuDNN for 16 bits, too"},
      {Generated, "generated", "kernels of the program"}};
};
