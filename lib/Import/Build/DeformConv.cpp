// DeformConv: each place of the window reads the image at a point of its own, between places; then one
// product with the weights.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/WindowShape.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include "lib/Import/Build/NeuralNetworkWindow.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Sizes of the node. A point is a place of the result; taps are the places of the window.
struct Deformed {
  Dims image, kernel, places;
  int64_t batch, channels, outputs, group, offsetGroup, taps, points;
  int64_t rank() const { return image.size(); }
};

/// What stands in a node's list for dimension `dim`, tap by point: where the window's tap lies without an
/// offset.
Value regularPlaces(NodeContext &node, Type element, const Deformed &sizes, const ImportedWindow &window,
                    int64_t dim) {
  std::vector<double> values;
  int64_t tapStride = elementCount(ArrayRef(sizes.kernel).drop_front(dim + 1));
  int64_t pointStride = elementCount(ArrayRef(sizes.places).drop_front(dim + 1));
  for (int64_t tap = 0; tap < sizes.taps; ++tap)
    for (int64_t point = 0; point < sizes.points; ++point)
      values.push_back(static_cast<double>(point / pointStride % sizes.places[dim] * window.strides[dim] -
                                           window.pads[dim] +
                                           tap / tapStride % sizes.kernel[dim] * window.dilations[dim]));
  return constantNumbers(node, element, {sizes.taps, sizes.points}, values);
}

/// Along one dimension, the lower (0) or upper (1) neighbour of where a tap reads: its place and its share.
struct Neighbour {
  Value place, share;
};

Neighbour neighbour(NodeContext &node, Value at, bool upper, int64_t size) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value low = onnx::FloorOp::create(b, node.loc, at), part = math.sub(at, low);
  auto number = [&](double value) { return scalarLike(b, node.loc, at, value); };
  Value place = upper ? math.add(low, number(1)) : low;
  Value share = upper ? part : math.sub(number(1), part);
  Value last = number(static_cast<double>(size - 1));
  Value inside = onnx::AndOp::create(
      b, node.loc, onnx::GreaterOrEqualOp::create(b, node.loc, place, number(0)).getResult(),
      onnx::LessOrEqualOp::create(b, node.loc, place, last).getResult());
  return {castTo(node, onnx::ClipOp::create(b, node.loc, place, number(0), last), b.getI64Type()),
          onnx::WhereOp::create(b, node.loc, inside, share, number(0))};
}

Value wholeNumbers(NodeContext &node, ArrayRef<int64_t> shape, ArrayRef<int64_t> values) {
  return reshape(node.builder, node.loc, node.constantInts1d(values), shape);
}

/// What the taps read, weighted: [batch, offset group, tap, point, channel of the group]. `at` has the places
/// they read, [batch, offset group, tap, point], a dimension each.
Value readTaps(NodeContext &node, Value x, const Deformed &sizes, ArrayRef<Value> at, Value mask) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  int64_t images = sizes.batch * sizes.offsetGroup, area = elementCount(sizes.image),
          width = sizes.channels / sizes.offsetGroup;
  Value rows = transpose(b, node.loc, reshape(b, node.loc, x, {images, width, area}), {0, 2, 1});
  rows = reshape(b, node.loc, rows, {images * area, width});
  Dims firsts;
  for (int64_t k = 0; k < images; ++k)
    firsts.push_back(k * area);
  Value first = wholeNumbers(node, {sizes.batch, sizes.offsetGroup, 1, 1}, firsts), total;
  for (int64_t corner = 0; corner < 1 << sizes.rank(); ++corner) {
    Value row = first, share = mask;
    for (int64_t dim = 0; dim < sizes.rank(); ++dim) {
      Neighbour next = neighbour(node, at[dim], corner >> dim & 1, sizes.image[dim]);
      Value step = wholeNumbers(node, {}, {elementCount(ArrayRef(sizes.image).drop_front(dim + 1))});
      row = math.add(row, math.mul(next.place, step));
      share = share ? math.mul(share, next.share) : next.share;
    }
    Dims shape(shapeOf(share));
    shape.push_back(1);
    Value read = onnx::GatherOp::create(b, node.loc, rows, row, b.getI64IntegerAttr(0), IntegerAttr());
    read = math.mul(read, reshape(b, node.loc, share, shape));
    total = total ? math.add(total, read) : read;
  }
  return total;
}

/// The product with the weights, group by group, and the bias.
Value weighted(NodeContext &node, Value read, const Deformed &sizes) {
  OpBuilder &b = node.builder;
  int64_t columns = sizes.channels / sizes.group * sizes.taps, rows = sizes.outputs / sizes.group;
  read = transpose(b, node.loc, read, {0, 1, 4, 2, 3});
  read = reshape(b, node.loc, read, {sizes.batch, sizes.group, columns, sizes.points});
  Value w = reshape(b, node.loc, node.require(1), {sizes.group, rows, columns});
  Value y = onnx::MatMulOp::create(b, node.loc, w, read, false, false);
  Dims shape = {sizes.batch, sizes.outputs};
  llvm::append_range(shape, sizes.places);
  y = reshape(b, node.loc, y, shape);
  if (!node.has(3))
    return y;
  Dims bias(rankOf(y) - 1, 1);
  bias[0] = sizes.outputs;
  return onnx::AddOp::create(b, node.loc, y, reshape(b, node.loc, node.operand(3), bias));
}

void expectShape(NodeContext &node, size_t k, StringRef what, ArrayRef<int64_t> expected) {
  if (shapeOf(node.require(k)) != expected)
    node.fail("{} have the shape [{}], expected [{}]", what.str(), fmt::join(shapeOf(node.require(k)), " x "),
              fmt::join(expected, " x "));
}

Deformed sizesOf(NodeContext &node, const ImportedWindow &window) {
  ArrayRef<int64_t> x = shapeOf(node.require(0)), w = shapeOf(node.require(1));
  Deformed sizes{Dims(x.drop_front(2)),
                 window.kernel,
                 {},
                 x[0],
                 x[1],
                 w[0],
                 node.node.attrInt("group", 1),
                 node.node.attrInt("offset_group", 1),
                 elementCount(window.kernel),
                 0};
  if (sizes.group < 1 || sizes.offsetGroup < 1 || x[1] % sizes.group || x[1] % sizes.offsetGroup ||
      w[0] % sizes.group)
    node.fail("{} input and {} output channels do not divide into {} groups and {} of offsets", x[1], w[0],
              sizes.group, sizes.offsetGroup);
  auto places =
      windowPlaces(std::nullopt, sizes.image, {window.kernel, window.strides, window.pads, window.dilations});
  if (failed(places))
    node.fail("the window [{}] does not fit the image [{}]", fmt::join(window.kernel, " x "),
              fmt::join(sizes.image, " x "));
  sizes.places = *places;
  sizes.points = elementCount(sizes.places);
  Dims weights = {w[0], x[1] / sizes.group}, offsets = {x[0], sizes.offsetGroup * sizes.taps * sizes.rank()},
       mask = offsets;
  mask[1] = sizes.offsetGroup * sizes.taps;
  llvm::append_range(weights, window.kernel);
  llvm::append_range(offsets, sizes.places);
  llvm::append_range(mask, sizes.places);
  expectShape(node, 1, "the weights", weights);
  expectShape(node, 2, "the offsets", offsets);
  if (node.has(4))
    expectShape(node, 4, "the factors of the mask", mask);
  return sizes;
}

void importDeformConv(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value x = node.require(0), w = node.require(1);
  if (rankOf(x) < 3 || rankOf(x) > 5 || rankOf(w) != rankOf(x))
    node.fail("expected an image [N, C, spatial...] of one to three dimensions and weights of its rank, "
              "found [{}] and [{}]",
              fmt::join(shapeOf(x), " x "), fmt::join(shapeOf(w), " x "));
  ImportedWindow window = importWindow(node, x, shapeOf(w).drop_front(2));
  Deformed sizes = sizesOf(node, window);
  Dims apart = {sizes.batch, sizes.offsetGroup, sizes.taps, sizes.rank(), sizes.points}, together = apart;
  together.erase(together.begin() + 3);
  Value offsets = reshape(b, node.loc, node.require(2), apart);
  SmallVector<Value> at;
  for (int64_t dim = 0; dim < sizes.rank(); ++dim) {
    Value offset = reshape(b, node.loc, sliceAxis(b, node.loc, offsets, 3, dim, dim + 1), together);
    at.push_back(math.add(regularPlaces(node, elementOf(offset), sizes, window, dim), offset));
  }
  Value mask = node.has(4) ? reshape(b, node.loc, node.operand(4), together) : Value();
  node.setResult(0, weighted(node, readTaps(node, x, sizes, at, mask), sizes));
}
} // namespace

void kedge::importer::registerDeformConvImporter(NodeImporters &importers) {
  importers.add("DeformConv", importDeformConv);
}
