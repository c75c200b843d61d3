// Images from columns, grids from matrices, crops around the centre, regions of images.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// What a node's list says of each of `count` dimensions.
Dims listOf(NodeContext &node, const char *name, size_t count, int64_t otherwise) {
  auto given = node.node.attrInts(name, std::vector<int64_t>(count, otherwise));
  if (given.size() != count)
    node.fail("{} has {} entries, expected {}", name, given.size(), count);
  return Dims(given.begin(), given.end());
}

/// A transposed convolution whose weights put each column to its place of the block.
void importCol2Im(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value x = node.require(0);
  auto image = node.constantInts(1, "image_shape"), block = node.constantInts(2, "block_shape");
  if (!image || !block || image->size() != block->size() || rankOf(x) != 3)
    node.fail("expected columns of rank 3, and an image and a block of as many dimensions");
  size_t rank = image->size();
  if (rank > 3)
    node.unsupported(fmt::format("images of {} dimensions", rank));
  Dims strides = listOf(node, "strides", rank, 1), dilations = listOf(node, "dilations", rank, 1);
  Dims pads = listOf(node, "pads", 2 * rank, 0), padding, apart = {shapeOf(x)[0], shapeOf(x)[1]};
  int64_t places = elementCount(*block), blocks = 1;
  if (places == 0 || shapeOf(x)[1] % places != 0)
    node.fail("{} columns are no multiple of a block of {}", shapeOf(x)[1], places);
  for (size_t d = 0; d < rank; ++d) {
    int64_t reach = dilations[d] * ((*block)[d] - 1) + 1;
    int64_t count = ((*image)[d] + pads[d] + pads[rank + d] - reach) / strides[d] + 1;
    apart.push_back(count);
    blocks *= count;
    padding.push_back((*image)[d] + pads[d] + pads[rank + d] - ((count - 1) * strides[d] + reach));
  }
  if (blocks != shapeOf(x)[2])
    node.fail("{} blocks are given, expected {} for this image", shapeOf(x)[2], blocks);
  int64_t columns = shapeOf(x)[1];
  std::vector<double> values(columns * places);
  for (int64_t k = 0; k < columns; ++k)
    values[k * places + k % places] = 1;
  Dims shape = {columns, 1};
  llvm::append_range(shape, *block);
  Value w = constantNumbers(node, elementOf(x), shape, values);
  node.setResult(0, onnx::ConvTransposeOp::create(b, node.loc, reshape(b, node.loc, x, apart), w, Value(),
                                                  strides, pads, dilations, padding, columns / places));
}

/// theta times the homogeneous coordinates of every point, x first.
void importAffineGrid(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value theta = node.require(0);
  auto size = node.constantInts(1, "size");
  if (!size || (size->size() != 4 && size->size() != 5) || rankOf(theta) != 3)
    node.fail("expected theta of rank 3 and a size of 4 or 5 entries");
  Dims spatial(size->begin() + 2, size->end());
  int64_t rank = spatial.size(), points = elementCount(spatial);
  bool corners = node.node.attrBool("align_corners", false);
  std::vector<double> values;
  for (int64_t point = 0; point < points; ++point) {
    int64_t rest = point;
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      double at = static_cast<double>(rest % spatial[dim]), extent = static_cast<double>(spatial[dim]);
      values.push_back(corners ? (extent > 1 ? -1 + 2 * at / (extent - 1) : -1) : (2 * at + 1) / extent - 1);
      rest /= spatial[dim];
    }
    values.push_back(1);
  }
  Value places = constantNumbers(node, elementOf(theta), {points, rank + 1}, values);
  Value grid = onnx::MatMulOp::create(b, node.loc, places, theta, false, true);
  Dims shape = {shapeOf(theta)[0]};
  llvm::append_range(shape, spatial);
  shape.push_back(rank);
  node.setResult(0, reshape(b, node.loc, grid, shape));
}

/// What a region's cells take of the lines of an image along one axis: [regions, cells, lines]. Samples of a
/// cell lie evenly in it; each takes from the two lines around it, and nothing from beyond the edge.
Value cellWeights(NodeContext &node, Value start, Value extent, int64_t cells, int64_t samples,
                  int64_t lines) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Type element = elementOf(start);
  std::vector<double> inCell, line;
  for (int64_t k = 0; k < cells * samples; ++k)
    inCell.push_back((static_cast<double>(k) + 0.5) / static_cast<double>(cells * samples));
  for (int64_t k = 0; k < lines; ++k)
    line.push_back(static_cast<double>(k));
  auto number = [&](double value) { return scalarLike(b, node.loc, start, value); };
  int64_t regions = shapeOf(start)[0];
  auto column = [&](Value v) { return reshape(b, node.loc, v, {regions, 1, 1, 1}); };
  Value part = constantNumbers(node, element, {cells, samples, 1}, inCell);
  Value at = math.add(column(start), math.mul(column(extent), part));
  Value inside = onnx::AndOp::create(
      b, node.loc, onnx::GreaterOrEqualOp::create(b, node.loc, at, number(-1)).getResult(),
      onnx::LessOrEqualOp::create(b, node.loc, at, number(static_cast<double>(lines))).getResult());
  at = onnx::ClipOp::create(b, node.loc, at, number(0), number(static_cast<double>(lines - 1)));
  Value distance =
      onnx::AbsOp::create(b, node.loc, math.sub(at, constantNumbers(node, element, {lines}, line)));
  Value weights = onnx::ReluOp::create(b, node.loc, math.sub(number(1), distance));
  weights = onnx::WhereOp::create(b, node.loc, inside, weights, number(0));
  return onnx::ReduceMeanOp::create(b, node.loc, weights, ArrayRef<int64_t>{2}, false);
}

/// Each region's image between two products, of its cells' weights along both axes.
void importRoiAlign(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value x = node.require(0), rois = node.require(1);
  int64_t samples = node.node.attrInt("sampling_ratio", 0);
  if (node.node.attrString("mode", "avg") != "avg" || samples <= 0)
    node.unsupported("RoiAlign of maxima, or with as many samples as a region is large (sampling_ratio 0)");
  bool shifted = node.opset() >= 16 &&
                 node.node.attrString("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  auto edge = [&](int64_t k) {
    Value v = reshape(b, node.loc, sliceAxis(b, node.loc, rois, 1, k, k + 1), {shapeOf(rois)[0]});
    v = math.scale(v, node.node.attrFloat("spatial_scale", 1));
    return shifted ? math.sub(v, scalarLike(b, node.loc, v, 0.5)) : v;
  };
  auto weights = [&](int64_t first, const char *cells, int64_t lines) {
    Value start = edge(first), extent = math.sub(edge(first + 2), start);
    if (!shifted) // no region is smaller than a place
      extent = onnx::MaxOp::create(b, node.loc, extent, scalarLike(b, node.loc, extent, 1));
    Value found = cellWeights(node, start, extent, node.node.attrInt(cells, 1), samples, lines);
    return reshape(b, node.loc, found, {shapeOf(found)[0], 1, shapeOf(found)[1], lines});
  };
  Value images =
      onnx::GatherOp::create(b, node.loc, x, node.require(2), b.getI64IntegerAttr(0), IntegerAttr());
  Value rows =
      onnx::MatMulOp::create(b, node.loc, weights(1, "output_height", shapeOf(x)[2]), images, false, false);
  node.setResult(
      0, onnx::MatMulOp::create(b, node.loc, rows, weights(0, "output_width", shapeOf(x)[3]), false, true));
}

void importCenterCropPad(NodeContext &node) {
  Value x = node.require(0);
  auto shape = node.constantInts(1, "shape");
  Dims axes = firstDims(rankOf(x)), pads(2 * rankOf(x), 0);
  if (auto given = node.node.attrIntsIf("axes"))
    axes.assign(given->begin(), given->end());
  if (!shape || shape->size() != axes.size())
    node.fail("the shape should have {} entries, one an axis", axes.size());
  for (auto [given, wanted] : llvm::zip(axes, *shape)) {
    int64_t axis = axisOf(node, given, rankOf(x)), missing = wanted - shapeOf(x)[axis];
    pads[axis] = missing / 2;
    pads[rankOf(x) + axis] = missing - missing / 2;
  }
  node.setResult(0, padConstant(node.builder, node.loc, x, Value(), pads));
}
} // namespace

void kedge::importer::registerGeometryImporters(NodeImporters &importers) {
  importers.add("Col2Im", importCol2Im);
  importers.add("AffineGrid", importAffineGrid);
  importers.add("CenterCropPad", importCenterCropPad);
  importers.add("RoiAlign", importRoiAlign);
}
