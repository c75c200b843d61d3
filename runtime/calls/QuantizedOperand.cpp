#include "runtime/calls/QuantizedOperand.h"
#include "runtime/format/QuantisedTensor.h"
#include <bit>
#include <fmt/ranges.h>
#include <iterator>

namespace kedge::rt::calls {
namespace {

QuantizedFormat formatNamed(const LibraryCall &call, const std::string &name) {
  for (size_t k = 0; k < std::size(kQuantizedNames); ++k)
    if (name == kQuantizedNames[k])
      return static_cast<QuantizedFormat>(k);
  failCall(call, "'unpack' has the format '{}', expected one of {}", name, fmt::join(kQuantizedNames, ", "));
}

/// Codes of a file.
void readBlocked(const LibraryCall &call, const nlohmann::json &found, QuantizedOperand &operand) {
  BlockedMatrix &blocked = operand.blocked;
  blocked.format = operand.format;
  blocked.axis = operand.axis;
  blocked.block = operand.block;
  blocked.zero = found.value("zero", 0);
  blocked.zeroPitch = found.value("zero_pitch", int64_t(0));
  const Shape &shape = operand.whole.shape;
  if (shape.size() != 2 || product(shape) == 0 || blocked.block < 1 ||
      shape[blocked.axis ? 1 : 0] % blocked.block != 0)
    failCall(call, "'unpack' describes no matrix of whole blocks");
  blocked.rows = shape[0];
  blocked.columns = shape[1];
  if (blocked.zeroPitch > 0)
    operand.zeroPoints = call.inputs.size() - 2;
  const int64_t bits = bitsOf(operand.format), scales = product(shape) / blocked.block,
                rows = blocked.axis ? blocked.rows : blocked.rows / blocked.block;
  if (call.inputs[1].type != DType::U8 || product(call.inputs[1].shape) != (product(shape) * bits + 7) / 8 ||
      call.inputs.back().type != DType::F32 || product(call.inputs.back().shape) != scales ||
      (operand.zeroPoints &&
       product(call.inputs[*operand.zeroPoints].shape) != (rows * blocked.zeroPitch * bits + 7) / 8))
    failCall(call, "codes, scales and zero points are not those of the matrix that 'unpack' describes");
}

} // namespace

std::optional<QuantizedOperand> readQuantizedOperand(const LibraryCall &call) {
  const auto found = call.attrs.find("unpack");
  if (found == call.attrs.end())
    return std::nullopt;
  expectCounts(call, 3, 5, 1, 1);
  QuantizedOperand operand;
  operand.format = formatNamed(call, found->value("format", ""));
  operand.whole = {parseDType(found->value("type", "f32")), found->value("shape", Shape())};
  operand.block = found->value("block", int64_t(1));
  operand.axis = found->value("axis", 0);
  operand.scales = call.inputs.size() - 1;
  if (isOfOnnx(operand.format)) {
    readBlocked(call, *found, operand);
    return operand;
  }
  const int64_t elements = product(operand.whole.shape);
  if (operand.whole.shape.size() != 2 || elements == 0 ||
      !std::has_single_bit(static_cast<uint64_t>(operand.block)))
    failCall(call, "'unpack' describes no matrix in blocks of a power of two");
  const bool inFour = operand.format != QuantizedFormat::Int8;
  const int64_t scales =
      inFour ? (elements + operand.block - 1) / operand.block : operand.whole.shape[operand.axis ? 1 : 0];
  const DType codes = inFour ? DType::U8 : DType::I8;
  if (call.inputs[1].type != codes ||
      product(call.inputs[1].shape) != (inFour ? (elements + 1) / 2 : elements) ||
      call.inputs.back().type != DType::F32 || product(call.inputs.back().shape) != scales)
    failCall(call, "codes and scales are not those of the matrix that 'unpack' describes");
  return operand;
}

LibraryCall withWholeOperand(LibraryCall call, const QuantizedOperand &operand) {
  call.attrs.erase("unpack");
  call.inputs[1] = operand.whole;
  call.inputs.resize(call.inputs.size() - (operand.zeroPoints ? 2 : 1));
  return call;
}

} // namespace kedge::rt::calls
