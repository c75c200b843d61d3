#include "runtime/calls/ConvShape.h"

namespace kedge::rt::calls {
namespace {

/// The last `rank` entries are given, the leading ones `missing`.
Space broadcast(const LibraryCall &call, const Shape &given, size_t rank, int64_t missing, const char *what) {
  if (given.size() != rank)
    failCall(call, "{} has {} entries, expected {}", what, given.size(), rank);
  Space space{missing, missing, missing};
  std::copy(given.begin(), given.end(), space.end() - static_cast<int64_t>(rank));
  return space;
}

/// With output_padding of a stride or more its small side has fewer places than its large one has room for.
bool isTransposed(const LibraryCall &call) {
  return call.name == "onnx.ConvTranspose" || call.name.starts_with("train.conv_transpose");
}

Shape spatial(const TensorDesc &tensor) { return {tensor.shape.begin() + 2, tensor.shape.end()}; }

} // namespace

ConvShape readConv(const LibraryCall &call, const TensorDesc &x, const TensorDesc &w, const TensorDesc &y) {
  size_t rank = x.shape.size() - 2;
  if (x.shape.size() < 3 || rank > 3 || w.shape.size() != rank + 2 || y.shape.size() != rank + 2)
    failCall(call, "expected operands of one rank from 3 to 5");
  ConvShape c{};
  c.batch = x.shape[0], c.channels = x.shape[1], c.filters = w.shape[0], c.groups = intAttr(call, "group", 1);
  c.in = broadcast(call, spatial(x), rank, 1, "X"), c.out = broadcast(call, spatial(y), rank, 1, "Y");
  c.kernel = broadcast(call, spatial(w), rank, 1, "W");
  c.stride = broadcast(call, intsAttr(call, "strides", Shape(rank, 1)), rank, 1, "strides");
  c.dilation = broadcast(call, intsAttr(call, "dilations", Shape(rank, 1)), rank, 1, "dilations");
  Shape pads = intsAttr(call, "pads", Shape(2 * rank, 0));
  if (pads.size() != 2 * rank)
    failCall(call, "pads has {} entries, expected {}", pads.size(), 2 * rank);
  c.pad = broadcast(call, {pads.begin(), pads.begin() + rank}, rank, 0, "pads");
  Space end = broadcast(call, {pads.begin() + rank, pads.end()}, rank, 0, "pads");
  if (c.groups < 1 || c.channels % c.groups || c.filters % c.groups || w.shape[1] * c.groups != c.channels ||
      y.shape[0] != c.batch || y.shape[1] != c.filters)
    failCall(call, "channels, filters and group {} do not fit each other", c.groups);
  for (int i = 0; i < 3; ++i) {
    int64_t room = c.in[i] + c.pad[i] + end[i] - ((c.kernel[i] - 1) * c.dilation[i] + 1);
    int64_t expected = room < 0 ? 0 : room / c.stride[i] + 1;
    if (c.out[i] != expected && !(isTransposed(call) && c.out[i] < expected))
      failCall(call, "a spatial size is {}, expected {} from its strides, pads and dilations", c.out[i],
               expected);
  }
  return c;
}

ConvRoles convRolesOf(const LibraryCall &call) {
  using Kind = ConvRoles::Kind;
  const int out = static_cast<int>(call.inputs.size());
  if (call.name == "onnx.Conv")
    return {Kind::Forward, 0, 1, out, true};
  if (call.name == "train.conv_grad_input")
    return {Kind::Data, out, 1, 0, false};
  if (call.name == "train.conv_grad_weight")
    return {Kind::Filter, 0, out, 1, false};
  if (call.name == "onnx.ConvTranspose")
    return {Kind::Data, out, 1, 0, true};
  if (call.name == "train.conv_transpose_grad_input")
    return {Kind::Forward, 0, 1, out, false};
  if (call.name == "train.conv_transpose_grad_weight")
    return {Kind::Filter, 1, out, 0, false};
  failCall(call, "is no convolution");
}

ConvShape readConv(const LibraryCall &call, const ConvRoles &roles) {
  expectCounts(call, 2, roles.bias ? 3 : 2, 1, 1);
  const auto operand = [&](int at) -> const TensorDesc & {
    const size_t index = static_cast<size_t>(at);
    return index < call.inputs.size() ? call.inputs[index] : call.outputs.at(index - call.inputs.size());
  };
  for (const TensorDesc &input : call.inputs)
    expectSameType(call, input, call.outputs[0]);
  return readConv(call, operand(roles.image), operand(roles.filter), operand(roles.result));
}

} // namespace kedge::rt::calls
