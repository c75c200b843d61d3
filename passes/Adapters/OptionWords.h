// Words of this room's options.
#pragma once
#include "kedge/Support/WordParser.h"

namespace kedge::adapters {

/// Of B A, with alpha.
enum class Scaling { Standard, RankStabilized };
/// Values of A at the start; the latter two split the weight.
enum class FirstValues { Kaiming, Gaussian, Pissa, Olora };
/// What one scale of a fake-quantised weight is for.
enum class Granularity { Tensor, Channel, Block };
/// What the inputs of such weights are rounded to.
enum class Activations { UInt8, Int8, None };
/// How a deployed model has integers.
enum class IntegerForm { Pairs, MatMulNBits };
/// What becomes of BatchNormalization behind a convolution whose weight is rounded.
enum class NormFolding { Folded, Apart };

} // namespace kedge::adapters

template <> struct kedge::Words<kedge::adapters::Scaling> {
  using enum adapters::Scaling;
  static constexpr Word<adapters::Scaling> list[] = {{Standard, "standard", "alpha / rank"},
                                                     {RankStabilized, "rslora", "alpha / sqrt(rank)"}};
};

template <> struct kedge::Words<kedge::adapters::FirstValues> {
  using enum adapters::FirstValues;
  static constexpr Word<adapters::FirstValues> list[] = {
      {Kaiming, "kaiming", "uniform, by the size of the input"},
      {Gaussian, "gaussian", "of deviation 1 / rank"},
      {Pissa, "pissa", "A and B are the weight's largest singular values, the weight is the rest"},
      {Olora, "olora", "the same with the first columns of its QR decomposition"}};
};

template <> struct kedge::Words<kedge::adapters::Granularity> {
  using enum adapters::Granularity;
  static constexpr Word<adapters::Granularity> list[] = {
      {Tensor, "tensor", "one for a weight"},
      {Channel, "channel", "one for each output"},
      {Block, "block", "one for each block along the inputs"}};
};

template <> struct kedge::Words<kedge::adapters::Activations> {
  using enum adapters::Activations;
  static constexpr Word<adapters::Activations> list[] = {{UInt8, "uint8", "0 to 255, with a zero point"},
                                                         {Int8, "int8", "-128 to 127, 0 is 0"},
                                                         {None, "none", "they stay as they are"}};
};

template <> struct kedge::Words<kedge::adapters::NormFolding> {
  using enum adapters::NormFolding;
  static constexpr Word<adapters::NormFolding> list[] = {
      {Folded, "folded", "multiplied into the weight before that is rounded"},
      {Apart, "apart", "a node of its own in the deployed model"}};
};

template <> struct kedge::Words<kedge::adapters::IntegerForm> {
  using enum adapters::IntegerForm;
  static constexpr Word<adapters::IntegerForm> list[] = {
      {Pairs, "qdq", "QuantizeLinear and DequantizeLinear"},
      {MatMulNBits, "matmulnbits", "com.microsoft.MatMulNBits, where weights are int4 in blocks"}};
};
