// Words of options that no pass takes.
#pragma once
#include "lib/Support/Words.h"

namespace kedge::driver {

/// What computes convolutions on a GPU where cuDNN could.
enum class ConvolutionKernels { Cudnn, Generated };
/// The C library of a program.
enum class CLibrary { Shared, Static, Musl };

} // namespace kedge::driver

template <> struct kedge::Words<kedge::driver::ConvolutionKernels> {
  using enum driver::ConvolutionKernels;
  static constexpr Word<driver::ConvolutionKernels> list[] = {
      {Cudnn, "cudnn", "the library, at run time"}, {Generated, "generated", "kernels of the program"}};
};

template <> struct kedge::Words<kedge::driver::CLibrary> {
  using enum driver::CLibrary;
  static constexpr Word<driver::CLibrary> list[] = {
      {Shared, "shared", "the system's"}, {Static, "static", "linked in"}, {Musl, "musl", "musl, linked in"}};
};
