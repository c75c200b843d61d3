#include "runtime/calls/CopyPlans.h"
#include <algorithm>

namespace kedge::rt::calls {
namespace {

using Plans = std::vector<CopyPlan>;

/// Output dimension d runs over `sizes[d]` and steps `srcStrides[d]` in the input.
Plans gatherDims(const Shape &sizes, const Shape &srcStrides) {
  Shape dst = rowMajorStrides(sizes);
  CopyPlan plan;
  for (size_t d = 0; d < sizes.size(); ++d)
    plan.dims.push_back({sizes[d], srcStrides[d], dst[d]});
  return {plan};
}

void expectOneToOne(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
}

Plans planTranspose(const LibraryCall &call) {
  expectOneToOne(call);
  const Shape &in = call.inputs[0].shape;
  Shape reversed;
  for (size_t i = in.size(); i-- > 0;)
    reversed.push_back(static_cast<int64_t>(i));
  Shape perm = intsAttr(call, "perm", reversed), strides = rowMajorStrides(in), sizes, srcStrides;
  if (perm.size() != in.size())
    failCall(call, "perm has {} entries, expected {}", perm.size(), in.size());
  for (int64_t axis : perm) {
    axis = normalAxis(call, axis, in.size());
    sizes.push_back(in[axis]);
    srcStrides.push_back(strides[axis]);
  }
  expectShape(call, call.outputs[0], sizes, "the result");
  return gatherDims(sizes, srcStrides);
}

/// The input's dimensions, with ones in front to the output's rank.
Shape alignedShape(const LibraryCall &call) {
  Shape shape = call.inputs[0].shape;
  size_t rank = call.outputs[0].shape.size();
  if (shape.size() > rank)
    failCall(call, "the result has a lower rank than the operand");
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

Plans planExpand(const LibraryCall &call) {
  expectOneToOne(call);
  Shape in = alignedShape(call), strides = rowMajorStrides(in);
  const Shape &out = call.outputs[0].shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] != out[d] && in[d] != 1)
      failCall(call, "dimension {} of size {} does not expand to {}", d, in[d], out[d]);
    if (in[d] != out[d])
      strides[d] = 0;
  }
  return gatherDims(out, strides);
}

Plans planTile(const LibraryCall &call) {
  expectOneToOne(call);
  Shape in = alignedShape(call), strides = rowMajorStrides(in), sizes, srcStrides;
  const Shape &out = call.outputs[0].shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] ? out[d] % in[d] != 0 : out[d] != 0)
      failCall(call, "dimension {} of size {} does not tile to {}", d, in[d], out[d]);
    sizes.insert(sizes.end(), {in[d] ? out[d] / in[d] : 0, in[d]});
    srcStrides.insert(srcStrides.end(), {0, strides[d]});
  }
  return gatherDims(sizes, srcStrides);
}

/// Sizes of the block dimensions between depth [N, C b b, H, W] and space [N, C, H b, W b].
struct Blocks {
  int64_t n, c, h, w, b;
  bool columnRow; ///< CRD: depth lies as [C, b, b], else DCR: [b, b, C]
};

Blocks readBlocks(const LibraryCall &call, const TensorDesc &depth, const TensorDesc &space) {
  expectOneToOne(call);
  int64_t b = intAttr(call, "blocksize", 0);
  std::string mode = stringAttr(call, "mode", "DCR");
  if (b < 1 || depth.shape.size() != 4 || (mode != "DCR" && mode != "CRD"))
    failCall(call, "expected rank 4, a positive blocksize and mode DCR or CRD");
  const Shape &d = depth.shape;
  expectShape(call, space, {d[0], d[1] / (b * b), d[2] * b, d[3] * b}, "the tensor in space");
  return {d[0], d[1] / (b * b), d[2], d[3], b, mode == "CRD"};
}

Plans planDepthToSpace(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  Blocks k = readBlocks(call, call.inputs[0], call.outputs[0]);
  int64_t plane = k.h * k.w, depth = k.c * k.b * k.b * plane;
  int64_t channel = k.columnRow ? k.b * k.b * plane : plane;
  int64_t blockRow = k.columnRow ? k.b * plane : k.b * k.c * plane,
          blockColumn = k.columnRow ? plane : k.c * plane;
  return gatherDims({k.n, k.c, k.h, k.b, k.w, k.b}, {depth, channel, k.w, blockRow, 1, blockColumn});
}

Plans planSpaceToDepth(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  Blocks k = readBlocks(call, call.outputs[0], call.inputs[0]);
  int64_t row = k.w * k.b, image = k.h * k.b * row;
  if (k.columnRow)
    return gatherDims({k.n, k.c, k.b, k.b, k.h, k.w}, {k.c * image, image, row, 1, k.b * row, k.b});
  return gatherDims({k.n, k.b, k.b, k.c, k.h, k.w}, {k.c * image, row, 1, image, k.b * row, k.b});
}

/// Copies between each of `parts` and its range of `whole` along the axis.
Plans axisCopies(const LibraryCall &call, const TensorDesc &whole, const std::vector<TensorDesc> &parts,
                 bool fromParts) {
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), whole.shape.size());
  AxisView view = viewAlong(whole.shape, axis);
  Plans plans;
  int64_t position = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const TensorDesc &part = parts[i];
    expectSameType(call, part, whole);
    Shape expected = whole.shape;
    expected[axis] = static_cast<size_t>(axis) < part.shape.size() ? part.shape[axis] : 0;
    expectShape(call, part, expected, "a part");
    int64_t partRow = expected[axis] * view.inner, wholeRow = view.size * view.inner,
            offset = position * view.inner;
    if (fromParts)
      plans.push_back({i, 0, {{view.outer, partRow, wholeRow}, {partRow, 1, 1}}, 0, offset});
    else
      plans.push_back({0, i, {{view.outer, wholeRow, partRow}, {partRow, 1, 1}}, offset, 0});
    position += expected[axis];
  }
  if (position != view.size)
    failCall(call, "the parts have {} along axis {}, expected {}", position, axis, view.size);
  return plans;
}

Plans planConcat(const LibraryCall &call) {
  expectCounts(call, 1, call.inputs.size(), 1, 1);
  return axisCopies(call, call.outputs[0], call.inputs, true);
}

Plans planSplit(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, call.outputs.size());
  return axisCopies(call, call.inputs[0], call.outputs, false);
}

Plans planSlice(const LibraryCall &call) {
  expectOneToOne(call);
  const TensorDesc &whole = call.inputs[0], &slice = call.outputs[0];
  Shape wholeStrides = rowMajorStrides(whole.shape), sliceStrides = rowMajorStrides(slice.shape);
  CopyPlan plan;
  std::vector<SliceRange> ranges = readRanges(call, whole, slice);
  for (size_t d = 0; d < ranges.size(); ++d) {
    plan.from += ranges[d].start * wholeStrides[d];
    plan.dims.push_back({ranges[d].size, ranges[d].step * wholeStrides[d], sliceStrides[d]});
  }
  return {plan};
}

/// ONNX's clamping: negative bounds count from the end, then are cut to the dimension.
SliceRange clampRange(int64_t start, int64_t end, int64_t step, int64_t size) {
  auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  if (step > 0) {
    start = clamp(start, 0, size), end = clamp(end, 0, size);
    return {start, step, std::max<int64_t>(0, (end - start + step - 1) / step)};
  }
  // INT64_MIN + size stays very negative: everything down to the front.
  start = clamp(start, 0, std::max<int64_t>(size - 1, 0)), end = clamp(end, -1, size - 1);
  return {start, step, size == 0 ? 0 : std::max<int64_t>(0, (start - end - step - 1) / -step)};
}

struct Planner {
  const char *name;
  Plans (*plan)(const LibraryCall &);
};
constexpr Planner kPlanners[] = {{"onnx.Transpose", planTranspose},
                                 {"onnx.Expand", planExpand},
                                 {"onnx.Tile", planTile},
                                 {"onnx.DepthToSpace", planDepthToSpace},
                                 {"onnx.SpaceToDepth", planSpaceToDepth},
                                 {"onnx.Concat", planConcat},
                                 {"onnx.Split", planSplit},
                                 {"onnx.Slice", planSlice}};

} // namespace

std::vector<SliceRange> readRanges(const LibraryCall &call, const TensorDesc &whole,
                                   const TensorDesc &slice) {
  Shape starts = intsAttr(call, "starts", {}), ends = intsAttr(call, "ends", {});
  Shape firstAxes(starts.size()), ones(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i)
    firstAxes[i] = static_cast<int64_t>(i);
  Shape axes = intsAttr(call, "axes", firstAxes), steps = intsAttr(call, "steps", ones);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    failCall(call, "starts, ends, axes and steps must have one length");
  std::vector<SliceRange> ranges;
  for (int64_t size : whole.shape)
    ranges.push_back({0, 1, size});
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = normalAxis(call, axes[i], whole.shape.size());
    if (steps[i] == 0)
      failCall(call, "a step of 0");
    ranges[axis] = clampRange(starts[i], ends[i], steps[i], whole.shape[axis]);
  }
  Shape expected;
  for (const SliceRange &range : ranges)
    expected.push_back(range.size);
  expectShape(call, slice, expected, "the slice");
  return ranges;
}

std::optional<std::vector<CopyPlan>> planCopies(const LibraryCall &call) {
  for (const Planner &planner : kPlanners)
    if (call.name == planner.name)
      return planner.plan(call);
  return std::nullopt;
}

std::vector<CopyDim> simplify(std::vector<CopyDim> dims) {
  std::erase_if(dims, [](const CopyDim &d) { return d.size == 1; });
  std::stable_sort(dims.begin(), dims.end(),
                   [](const CopyDim &a, const CopyDim &b) { return a.dst > b.dst; });
  std::vector<CopyDim> merged;
  for (const CopyDim &d : dims) {
    if (!merged.empty() && merged.back().src == d.src * d.size && merged.back().dst == d.dst * d.size)
      merged.back() = {merged.back().size * d.size, d.src, d.dst};
    else
      merged.push_back(d);
  }
  return merged;
}

} // namespace kedge::rt::calls
