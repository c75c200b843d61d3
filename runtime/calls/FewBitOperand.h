// A product whose second operand is given in few bits: its attribute "unpack", and an operand more.
#pragma once
#include "runtime/calls/Call.h"
#include "runtime/format/FewBits.h"

namespace kedge::rt::cpu {

/// The weight that the codes stand for. Inputs of the call: codes in place of the weight, scales behind all others.
struct FewBitOperand {
  FewBitFormat format = FewBitFormat::NF4;
  TensorDesc whole;  ///< a matrix, of the type that its values are rounded to
  int64_t block = 0; ///< of 4 bits: elements in a row that share a scale; a power of two
  size_t scales = 0; ///< which input of the call has them
  int axis = 0;      ///< of int8: whose slices have a scale each
};

std::optional<FewBitOperand> readFewBitOperand(const LibraryCall &call);
/// The product of the weight itself.
LibraryCall withWholeOperand(LibraryCall call, const FewBitOperand &operand);

} // namespace kedge::rt::cpu
