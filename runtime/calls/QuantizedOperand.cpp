#include "runtime/calls/QuantizedOperand.h"
#include <bit>

namespace kedge::rt::calls {
namespace {

QuantizedFormat formatNamed(const LibraryCall &call, const std::string &name) {
  if (name != "nf4" && name != "fp4" && name != "int8")
    failCall(call, "'unpack' has the format '{}', expected nf4, fp4 or int8", name);
  return name == "nf4" ? QuantizedFormat::NF4 : name == "fp4" ? QuantizedFormat::FP4 : QuantizedFormat::Int8;
}

} // namespace

std::optional<QuantizedOperand> readQuantizedOperand(const LibraryCall &call) {
  const auto found = call.attrs.find("unpack");
  if (found == call.attrs.end())
    return std::nullopt;
  expectCounts(call, 3, 4, 1, 1);
  QuantizedOperand operand;
  operand.format = formatNamed(call, found->value("format", ""));
  operand.whole = {parseDType(found->value("type", "f32")), found->value("shape", Shape())};
  operand.block = found->value("block", int64_t(1));
  operand.axis = found->value("axis", 0);
  operand.scales = call.inputs.size() - 1;
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
  call.inputs.pop_back();
  return call;
}

} // namespace kedge::rt::calls
