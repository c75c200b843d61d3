// onnx.Transpose, Expand, Tile, DepthToSpace, SpaceToDepth, Concat, Split: one strided copy for each operand.
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/StridedCopy.h"

namespace kedge::rt::cpu {
namespace {

std::unique_ptr<LibraryKernel> oneCopy(StridedCopy copy) {
  return closure([copy = std::move(copy)](Inputs in, Outputs out, void *) { copy.run(in[0], out[0]); });
}

/// Output dimension d runs over `sizes[d]` and steps `srcStrides[d]` in the input.
std::unique_ptr<LibraryKernel> gatherDims(const LibraryCall &call, const Shape &sizes,
                                          const Shape &srcStrides, int threads) {
  Shape dst = rowMajorStrides(sizes);
  std::vector<CopyDim> dims;
  for (size_t d = 0; d < sizes.size(); ++d)
    dims.push_back({sizes[d], srcStrides[d], dst[d]});
  return oneCopy(StridedCopy(std::move(dims), 0, 0, call.outputs[0].type, threads));
}

void expectOneToOne(const LibraryCall &call) {
  expectCounts(call, 1, 1, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
}

std::unique_ptr<LibraryKernel> makeTranspose(const LibraryCall &call, int threads) {
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
  return gatherDims(call, sizes, srcStrides, threads);
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

std::unique_ptr<LibraryKernel> makeExpand(const LibraryCall &call, int threads) {
  expectOneToOne(call);
  Shape in = alignedShape(call), strides = rowMajorStrides(in);
  const Shape &out = call.outputs[0].shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] != out[d] && in[d] != 1)
      failCall(call, "dimension {} of size {} does not expand to {}", d, in[d], out[d]);
    if (in[d] != out[d])
      strides[d] = 0;
  }
  return gatherDims(call, out, strides, threads);
}

std::unique_ptr<LibraryKernel> makeTile(const LibraryCall &call, int threads) {
  expectOneToOne(call);
  Shape in = alignedShape(call), strides = rowMajorStrides(in), sizes, srcStrides;
  const Shape &out = call.outputs[0].shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] ? out[d] % in[d] != 0 : out[d] != 0)
      failCall(call, "dimension {} of size {} does not tile to {}", d, in[d], out[d]);
    sizes.insert(sizes.end(), {in[d] ? out[d] / in[d] : 0, in[d]});
    srcStrides.insert(srcStrides.end(), {0, strides[d]});
  }
  return gatherDims(call, sizes, srcStrides, threads);
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

std::unique_ptr<LibraryKernel> makeDepthToSpace(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  Blocks k = readBlocks(call, call.inputs[0], call.outputs[0]);
  int64_t plane = k.h * k.w, depth = k.c * k.b * k.b * plane;
  int64_t channel = k.columnRow ? k.b * k.b * plane : plane;
  int64_t blockRow = k.columnRow ? k.b * plane : k.b * k.c * plane,
          blockColumn = k.columnRow ? plane : k.c * plane;
  return gatherDims(call, {k.n, k.c, k.h, k.b, k.w, k.b}, {depth, channel, k.w, blockRow, 1, blockColumn},
                    threads);
}

std::unique_ptr<LibraryKernel> makeSpaceToDepth(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  Blocks k = readBlocks(call, call.outputs[0], call.inputs[0]);
  int64_t row = k.w * k.b, image = k.h * k.b * row;
  if (k.columnRow)
    return gatherDims(call, {k.n, k.c, k.b, k.b, k.h, k.w}, {k.c * image, image, row, 1, k.b * row, k.b},
                      threads);
  return gatherDims(call, {k.n, k.b, k.b, k.c, k.h, k.w}, {k.c * image, row, 1, image, k.b * row, k.b},
                    threads);
}

/// Copies between each of `parts` and its range of `whole` along the axis.
std::vector<StridedCopy> axisCopies(const LibraryCall &call, const TensorDesc &whole,
                                    const std::vector<TensorDesc> &parts, bool fromParts, int threads) {
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), whole.shape.size());
  AxisView view = viewAlong(whole.shape, axis);
  std::vector<StridedCopy> copies;
  int64_t position = 0;
  for (const TensorDesc &part : parts) {
    expectSameType(call, part, whole);
    Shape expected = whole.shape;
    expected[axis] = static_cast<size_t>(axis) < part.shape.size() ? part.shape[axis] : 0;
    expectShape(call, part, expected, "a part");
    int64_t run = expected[axis] * view.inner, partRow = run, wholeRow = view.size * view.inner;
    std::vector<CopyDim> dims = {{view.outer, fromParts ? partRow : wholeRow, fromParts ? wholeRow : partRow},
                                 {run, 1, 1}};
    int64_t offset = position * view.inner;
    copies.emplace_back(dims, fromParts ? 0 : offset, fromParts ? offset : 0, whole.type, threads);
    position += expected[axis];
  }
  if (position != view.size)
    failCall(call, "the parts have {} along axis {}, expected {}", position, axis, view.size);
  return copies;
}

std::unique_ptr<LibraryKernel> makeConcat(const LibraryCall &call, int threads) {
  expectCounts(call, 1, call.inputs.size(), 1, 1);
  return closure([copies = axisCopies(call, call.outputs[0], call.inputs, true, threads)](
                     Inputs in, Outputs out, void *) {
    for (size_t i = 0; i < copies.size(); ++i)
      copies[i].run(in[i], out[0]);
  });
}

std::unique_ptr<LibraryKernel> makeSplit(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, call.outputs.size());
  return closure([copies = axisCopies(call, call.inputs[0], call.outputs, false, threads)](
                     Inputs in, Outputs out, void *) {
    for (size_t i = 0; i < copies.size(); ++i)
      copies[i].run(in[0], out[i]);
  });
}

} // namespace

void registerMovement() {
  registerKernel("onnx.Transpose", makeTranspose);
  registerKernel("onnx.Expand", makeExpand);
  registerKernel("onnx.Tile", makeTile);
  registerKernel("onnx.DepthToSpace", makeDepthToSpace);
  registerKernel("onnx.SpaceToDepth", makeSpaceToDepth);
  registerKernel("onnx.Concat", makeConcat);
  registerKernel("onnx.Split", makeSplit);
}

} // namespace kedge::rt::cpu
