// What operators with weights in few bits have in common.
#pragma once
#include "lib/Model/Microsoft/Parts.h"

namespace kedge::model {

/// Unsigned codes of so many bits; nullopt for those that do not fill bytes evenly.
std::optional<ElementType> codesOf(int64_t bits);

/// Input k, which is an initializer.
const Tensor &constant(const Parts &, size_t k);

/// Bytes of a file as what they hold.
std::string retyped(Parts &, const Tensor &bytes, ElementType, const std::vector<int64_t> &dims);

/// Rows of codes in blocks, with a scale each.
struct CodeBlocks {
  ElementType type;
  int64_t bits, rows, blocks, size; ///< blocks of a row
};

/// Packed zero points, a whole number of bytes a row, and what DequantizeLinear is told of them.
struct ZeroPoints {
  std::string value;
  Parts::Attributes attributes;
};

/// Those of input k; where there is none, the middle of the codes.
ZeroPoints zeroPoints(Parts &, size_t k, const CodeBlocks &);

std::string dequantized(Parts &, const std::string &codes, const std::string &scales, ZeroPoints,
                        int64_t axis, int64_t block);

} // namespace kedge::model
