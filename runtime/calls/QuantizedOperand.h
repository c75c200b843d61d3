// A product whose second operand is a weight in few bits. Marked by the attribute "unpack" and an additional
// operand.
#pragma once
#include "runtime/calls/Call.h"
#include "runtime/format/QuantizedFormats.h"

namespace kedge::rt::calls {

/// The weight that the codes represent. In the call, codes stand at the weight's position, and scales are the
/// last input, behind zero points.
struct QuantizedOperand {
  QuantizedFormat format = QuantizedFormat::NF4;
  TensorDesc whole;  ///< the type of the matrix with its values unpacked and rounded
  int64_t block = 0; ///< 4 bits: elements in a row that share a scale; a power of two
  size_t scales = 0; ///< position of the scales among the inputs
  int axis = 0;      ///< int8: each slice along this axis has a scale; codes of a file: blocks lie along it
  std::optional<size_t> zeroPoints; ///< codes of a file: their position among the inputs
  BlockedMatrix blocked;            ///< codes of a file, without their places
};

std::optional<QuantizedOperand> readQuantizedOperand(const LibraryCall &call);
/// The same product with the unpacked weight as operand.
LibraryCall withWholeOperand(LibraryCall call, const QuantizedOperand &operand);

} // namespace kedge::rt::calls
