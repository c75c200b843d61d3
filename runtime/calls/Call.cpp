#include "runtime/calls/Call.h"
#include <fmt/ranges.h>

namespace kedge::rt::calls {
namespace {

std::string describe(const std::vector<TensorDesc> &tensors) {
  std::string text;
  for (const TensorDesc &tensor : tensors)
    text += fmt::format("{}{}[{}]", text.empty() ? "" : ", ", dtypeName(tensor.type),
                        fmt::join(tensor.shape, ","));
  return "(" + text + ")";
}

template <typename T> T read(const LibraryCall &call, const char *name, const T &missing) {
  auto found = call.attrs.find(name);
  if (found == call.attrs.end() || found->is_null())
    return missing;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception &) {
    failCall(call, "attribute '{}' is {}, another kind of value is expected", name, found->dump());
  }
}

int position(const LibraryCall &call, const char *list, size_t k, size_t present) {
  auto found = call.attrs.find(list);
  if (found == call.attrs.end() || found->is_null())
    return k < present ? static_cast<int>(k) : -1;
  if (k >= found->size() || !(*found)[k].get<bool>())
    return -1;
  int before = 0;
  for (size_t i = 0; i < k; ++i)
    before += (*found)[i].get<bool>();
  return before < static_cast<int>(present) ? before : -1;
}

} // namespace

std::string describe(const LibraryCall &call) {
  return fmt::format("{}{} -> {}", call.name, describe(call.inputs), describe(call.outputs));
}

bool hasAttr(const LibraryCall &call, const char *name) {
  auto found = call.attrs.find(name);
  return found != call.attrs.end() && !found->is_null();
}

int64_t intAttr(const LibraryCall &call, const char *name, int64_t missing) {
  if (auto found = call.attrs.find(name); found != call.attrs.end() && found->is_boolean())
    return found->get<bool>();
  return read<int64_t>(call, name, missing);
}

bool boolAttr(const LibraryCall &call, const char *name, bool missing) {
  return intAttr(call, name, missing) != 0;
}

double floatAttr(const LibraryCall &call, const char *name, double missing) {
  return read<double>(call, name, missing);
}

std::string stringAttr(const LibraryCall &call, const char *name, const std::string &missing) {
  return read<std::string>(call, name, missing);
}

Shape intsAttr(const LibraryCall &call, const char *name, const Shape &missing) {
  Shape values = read<Shape>(call, name, missing);
  return values.empty() ? missing : values;
}

std::vector<double> floatsAttr(const LibraryCall &call, const char *name,
                               const std::vector<double> &missing) {
  std::vector<double> values = read<std::vector<double>>(call, name, missing);
  return values.empty() ? missing : values;
}

std::vector<std::string> stringsAttr(const LibraryCall &call, const char *name) {
  return read<std::vector<std::string>>(call, name, {});
}

int inputIndex(const LibraryCall &call, size_t k) {
  return position(call, "operands", k, call.inputs.size());
}

int outputIndex(const LibraryCall &call, size_t k) {
  return position(call, "results", k, call.outputs.size());
}

const TensorDesc &input(const LibraryCall &call, size_t k) {
  int index = inputIndex(call, k);
  if (index < 0)
    failCall(call, "operand {} is missing", k);
  return call.inputs[index];
}

const TensorDesc &output(const LibraryCall &call, size_t k) {
  int index = outputIndex(call, k);
  if (index < 0)
    failCall(call, "result {} is missing", k);
  return call.outputs[index];
}

void expectCounts(const LibraryCall &call, size_t minInputs, size_t maxInputs, size_t minOutputs,
                  size_t maxOutputs) {
  if (call.inputs.size() < minInputs || call.inputs.size() > maxInputs)
    failCall(call, "{} inputs, expected {} to {}", call.inputs.size(), minInputs, maxInputs);
  if (call.outputs.size() < minOutputs || call.outputs.size() > maxOutputs)
    failCall(call, "{} outputs, expected {} to {}", call.outputs.size(), minOutputs, maxOutputs);
}

void expectShape(const LibraryCall &call, const TensorDesc &tensor, const Shape &expected, const char *what) {
  if (tensor.shape != expected)
    failCall(call, "{} has shape [{}], expected [{}]", what, fmt::join(tensor.shape, ","),
             fmt::join(expected, ","));
}

void expectSameType(const LibraryCall &call, const TensorDesc &a, const TensorDesc &b) {
  if (a.type != b.type)
    failCall(call, "element types {} and {} must be the same", dtypeName(a.type), dtypeName(b.type));
}

void expectIndexType(const LibraryCall &call, const TensorDesc &tensor) {
  if (tensor.type != DType::I32 && tensor.type != DType::I64)
    failCall(call, "indices are {}, expected i32 or i64", dtypeName(tensor.type));
}

int64_t normalAxis(const LibraryCall &call, int64_t axis, size_t rank) {
  int64_t normal = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (normal < 0 || normal >= static_cast<int64_t>(rank))
    failCall(call, "axis {} is outside rank {}", axis, rank);
  return normal;
}

int64_t product(const Shape &shape, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i)
    count *= shape[i];
  return count;
}

Shape rowMajorStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

AxisView viewAlong(const Shape &shape, int64_t axis) {
  return {product(shape, 0, axis), shape[axis], product(shape, axis + 1, shape.size())};
}

} // namespace kedge::rt::calls
