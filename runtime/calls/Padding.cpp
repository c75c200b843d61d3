#include "runtime/calls/Padding.h"
#include <algorithm>

namespace kedge::rt::calls {
namespace {

/// Place in [0, size) that padded place i stands for, -1 for the constant.
int64_t sourceIndex(const std::string &mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size)
    return i;
  if (mode == "constant" || size == 0)
    return -1;
  if (mode == "edge")
    return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == "wrap")
    return ((i % size) + size) % size;
  int64_t period = std::max<int64_t>(1, 2 * (size - 1)), folded = ((i % period) + period) % period;
  return folded < size ? folded : period - folded;
}

} // namespace

Padding readPadding(const LibraryCall &call, const TensorDesc &inner, const TensorDesc &padded) {
  size_t rank = inner.shape.size();
  Shape all(rank), begins(rank), ends(rank), pads = intsAttr(call, "pads", {});
  for (size_t i = 0; i < rank; ++i)
    all[i] = static_cast<int64_t>(i);
  Shape axes = intsAttr(call, "axes", all);
  if (pads.size() != 2 * axes.size())
    failCall(call, "pads has {} entries, expected {}", pads.size(), 2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = normalAxis(call, axes[i], rank);
    begins[axis] = pads[i], ends[axis] = pads[i + axes.size()];
  }
  Shape expected;
  for (size_t d = 0; d < rank; ++d)
    expected.push_back(inner.shape[d] + begins[d] + ends[d]);
  expectShape(call, padded, expected, "the padded tensor");
  std::string mode = stringAttr(call, "mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    failCall(call, "mode '{}', expected constant, reflect, edge or wrap", mode);
  return {mode, begins};
}

std::vector<Shape> sourceTables(const LibraryCall &call, const Padding &padding, const Shape &inner,
                                const Shape &padded) {
  std::vector<Shape> tables;
  for (size_t d = 0; d < inner.size(); ++d) {
    Shape table;
    for (int64_t i = 0; i < padded[d]; ++i)
      table.push_back(sourceIndex(padding.mode, i - padding.begins[d], inner[d]));
    if (padding.mode != "constant" && inner[d] == 0 && padded[d] > 0)
      failCall(call, "mode {} cannot pad an empty dimension", padding.mode);
    tables.push_back(std::move(table));
  }
  return tables;
}

} // namespace kedge::rt::calls
