// Reads a LibraryCall: attributes with ONNX's defaults, optional operands, shapes. Errors name the op.
#pragma once
#include "runtime/calls/LibraryCall.h"
#include "runtime/io/Error.h"

namespace kedge::rt::calls {

using Shape = std::vector<int64_t>;

/// "onnx.Gather(f32[4,3], i64[2]) -> (f32[2,3])": the call as messages show it.
std::string describe(const LibraryCall &call);

template <typename... Args>
[[noreturn]] void failCall(const LibraryCall &call, fmt::format_string<Args...> format, Args &&...args) {
  fail("{}: {}", describe(call), fmt::format(format, std::forward<Args>(args)...));
}

bool hasAttr(const LibraryCall &call, const char *name);
/// The attribute, or `missing` if it is absent; an error
/// if it is of another kind. Booleans count as 0 and 1.
int64_t intAttr(const LibraryCall &call, const char *name, int64_t missing);
bool boolAttr(const LibraryCall &call, const char *name, bool missing);
double floatAttr(const LibraryCall &call, const char *name, double missing);
std::string stringAttr(const LibraryCall &call, const char *name, const std::string &missing);
Shape intsAttr(const LibraryCall &call, const char *name, const Shape &missing);
std::vector<double> floatsAttr(const LibraryCall &call, const char *name, const std::vector<double> &missing);
std::vector<std::string> stringsAttr(const LibraryCall &call, const char *name);

/// Position in call.inputs of the op's k-th operand, optional ones included; -1 if it is absent.
int inputIndex(const LibraryCall &call, size_t k);
/// The same for results ("results").
int outputIndex(const LibraryCall &call, size_t k);
const TensorDesc &input(const LibraryCall &call, size_t k);  ///< an error when absent
const TensorDesc &output(const LibraryCall &call, size_t k); ///< an error when absent

/// An error unless the numbers of inputs and outputs are within these bounds.
void expectCounts(const LibraryCall &call, size_t minInputs, size_t maxInputs, size_t minOutputs,
                  size_t maxOutputs);
void expectShape(const LibraryCall &call, const TensorDesc &tensor, const Shape &expected, const char *what);
void expectSameType(const LibraryCall &call, const TensorDesc &a, const TensorDesc &b);
/// i32 or i64.
void expectIndexType(const LibraryCall &call, const TensorDesc &tensor);
/// Checks that the axis is valid and returns it in [0, rank); negative axes count from the end.
int64_t normalAxis(const LibraryCall &call, int64_t axis, size_t rank);

int64_t product(const Shape &shape, size_t begin, size_t end);
inline int64_t product(const Shape &shape) { return product(shape, 0, shape.size()); }
/// The distance in elements between neighbours along each dimension of a contiguous tensor.
Shape rowMajorStrides(const Shape &shape);

/// A tensor seen as [outer, axis, inner].
struct AxisView {
  int64_t outer, size, inner;
};
AxisView viewAlong(const Shape &shape, int64_t axis);

/// The work of a kernel that reads only `bytes` of its inputs.
inline CallWork partialRead(double bytes) { return {CallWork::Kind::Vector, 0, 0, bytes, {}, 0}; }
/// The work of a kernel that handles `operations` elements one by one.
inline CallWork irregularWork(double operations, double specialFunctions = 0) {
  return {CallWork::Kind::Irregular, operations, specialFunctions, {}, {}, 0};
}

} // namespace kedge::rt::calls
