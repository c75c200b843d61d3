// Gathers and scatters.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Lint/Lint.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// The padding row that a torch embedding names.
static IntegerAttr paddingIndex(NodeContext &node) {
  auto row = lint::paddingIndex(node.node);
  return row ? node.builder.getI64IntegerAttr(*row) : IntegerAttr();
}

/// Positions counted from 0 that reach beyond a table show at run time at the earliest, when nobody looks for
/// them here.
static void checkConstantIndices(NodeContext &node, int64_t axis, int64_t size) {
  auto indices = node.maybeConstantInts(1);
  if (!indices)
    return;
  for (auto [at, index] : llvm::enumerate(*indices))
    if (index < -size || index >= size)
      node.fail("its constant indices reach beyond dimension {} of '{}': expected less than {}, found {} at "
                "position {}; "
                "a shape given by --shape may be longer than this table",
                axis, node.node.input(0), size, index, at);
}

/// An embedding with scale_grad_by_freq: the gradient of a row is divided by how often the batch looks the
/// row up.
static Value scaledByFrequency(NodeContext &node, Value rows, Value indices, int64_t count) {
  OpBuilder &b = node.builder;
  Type element = elementOf(rows);
  Value places = reshape(b, node.loc, indices, {elementCount(shapeOf(indices))});
  Value ones = splat(b, node.loc, RankedTensorType::get(shapeOf(places), element), 1);
  Value none = splat(b, node.loc, RankedTensorType::get({count}, element), 0);
  Value counts = onnx::ScatterElementsOp::create(b, node.loc, none, places, ones, 0, "add");
  Value times = onnx::GatherOp::create(b, node.loc, counts, indices, b.getI64IntegerAttr(0), IntegerAttr());
  Dims shape(shapeOf(times));
  shape.push_back(1);
  Value along = onnx::DivOp::create(b, node.loc, rows, reshape(b, node.loc, times, shape));
  return train::StraightThroughOp::create(b, node.loc, rows, along);
}

/// Rows of packed codes, unpacked; null where a row is no whole number of bytes.
static Value unpackedRows(NodeContext &node, train::UnpackOp table, Value indices) {
  auto type = cast<RankedTensorType>(table.getResult().getType());
  const int64_t rows = type.getDimSize(0), bits = table.getBits(),
                codes = rows == 0 ? 0 : type.getNumElements() / rows;
  if (codes == 0 || codes * bits % 8 != 0)
    return {};
  OpBuilder &b = node.builder;
  Value bytes = reshape(b, node.loc, table.getCodes(), {rows, codes * bits / 8});
  Value chosen = onnx::GatherOp::create(b, node.loc, bytes, indices, b.getI64IntegerAttr(0), IntegerAttr());
  Dims shape(shapeOf(indices));
  llvm::append_range(shape, type.getShape().drop_front());
  return train::UnpackOp::create(b, node.loc, reshape(b, node.loc, chosen, {elementCount(shapeOf(chosen))}),
                                 b.getI64IntegerAttr(bits), TypeAttr::get(type.clone(shape)));
}

static void importGather(NodeContext &node) {
  Value data = node.require(0), indices = node.require(1);
  int64_t axis = axisOf(node, node.node.attrInt("axis", 0), rankOf(data)), size = shapeOf(data)[axis];
  // A place known at compile time is a slice.
  if (auto at = elementCount(shapeOf(indices)) == 1 ? node.maybeConstantInts(1) : std::nullopt) {
    int64_t place = (*at)[0] < 0 ? (*at)[0] + size : (*at)[0];
    if (place < 0 || place >= size)
      node.fail("index {} is out of range for dimension {} of size {}", (*at)[0], axis, size);
    Value slice = sliceAxis(node.builder, node.loc, data, axis, place, place + 1);
    Dims shape(shapeOf(data).take_front(axis));
    shape.append(rankOf(indices), 1);
    llvm::append_range(shape, shapeOf(data).drop_front(axis + 1));
    return node.setResult(0, reshape(node.builder, node.loc, slice, shape));
  }
  checkConstantIndices(node, axis, size);
  if (auto unpack = data.getDefiningOp<train::UnpackOp>(); unpack && axis == 0)
    if (Value rows = unpackedRows(node, unpack, indices))
      return node.setResult(0, ImportedValue{rows, std::nullopt, node.imported(0).narrow});
  Value rows = onnx::GatherOp::create(node.builder, node.loc, data, indices,
                                      node.builder.getI64IntegerAttr(axis), paddingIndex(node));
  const bool scales = axis == 0 && rankOf(data) == 2 && lint::pyTorchGradient(node.node).scalesByFrequency;
  node.setResult(0, scales ? scaledByFrequency(node, rows, indices, size) : rows);
}

static void importGatherElements(NodeContext &node) {
  Value data = node.require(0);
  int64_t axis = axisOf(node, node.node.attrInt("axis", 0), rankOf(data));
  node.setResult(0, onnx::GatherElementsOp::create(node.builder, node.loc, data, node.require(1), axis));
}

static void importGatherND(NodeContext &node) {
  node.setResult(0, onnx::GatherNDOp::create(node.builder, node.loc, node.require(0), node.require(1),
                                             node.node.attrInt("batch_dims", 0)));
}

static std::string reductionOf(NodeContext &node) {
  std::string reduction = node.node.attrString("reduction", "none");
  static const StringRef known[] = {"none", "add", "mul", "max", "min"};
  if (!llvm::is_contained(known, reduction))
    node.fail("reduction '{}' is none of none, add, mul, max, min", reduction);
  return reduction;
}

/// Whether all that is written is one number: then it does not matter which of equal places comes last.
static bool isOneNumber(Value updates) {
  DenseElementsAttr constant;
  if (matchPattern(updates, m_Constant(&constant)))
    return constant.isSplat();
  Operation *made = updates.getDefiningOp();
  return made && isa<onnx::ExpandOp>(made) && elementCount(shapeOf(made->getOperand(0))) == 1;
}

/// The standard leaves it open which of the updates of one place counts. `places` gives the number of the
/// place that an index tuple names, over constant indices.
static void checkPlaces(NodeContext &node, size_t count, llvm::function_ref<int64_t(size_t)> place) {
  if (node.node.attrString("reduction", "none") != "none" || isOneNumber(node.require(2)))
    return;
  llvm::DenseMap<int64_t, size_t> first;
  for (size_t k = 0; k < count; ++k)
    if (auto [found, isNew] = first.try_emplace(place(k), k); !isNew)
      node.fail("its constant indices repeat: updates {} and {} are for one place, and without a reduction "
                "the standard leaves open which of them counts. TorchScript writes "
                "index_put(accumulate=True) so: export with torch.onnx.export(..., dynamo=True), or write "
                "it as scatter_add or index_add",
                found->second, k);
}

/// Those that are known at compile time, where there are not too many to look at.
static std::optional<SmallVector<int64_t>> constantPlaces(NodeContext &node) {
  constexpr int64_t most = 1 << 22;
  return elementCount(shapeOf(node.require(1))) <= most ? node.maybeConstantInts(1) : std::nullopt;
}

static void checkElementPlaces(NodeContext &node, int64_t axis) {
  const auto indices = constantPlaces(node);
  if (!indices)
    return;
  const ArrayRef<int64_t> shape = shapeOf(node.require(1)), data = shapeOf(node.require(0));
  checkPlaces(node, indices->size(), [&](size_t k) {
    int64_t place = 0, rest = static_cast<int64_t>(k);
    SmallVector<int64_t> at(shape.size());
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      at[d] = rest % shape[d];
    at[axis] = (*indices)[k] < 0 ? (*indices)[k] + data[axis] : (*indices)[k];
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * data[d] + at[d];
    return place;
  });
}

static void checkTuplePlaces(NodeContext &node) {
  const auto indices = constantPlaces(node);
  const ArrayRef<int64_t> data = shapeOf(node.require(0)), shape = shapeOf(node.require(1));
  if (!indices || shape.empty() || shape.back() == 0)
    return;
  const auto length = static_cast<size_t>(shape.back());
  checkPlaces(node, indices->size() / length, [&](size_t k) {
    int64_t place = 0;
    for (size_t d = 0; d < length; ++d) {
      const int64_t at = (*indices)[k * length + d];
      place = place * data[d] + (at < 0 ? at + data[d] : at);
    }
    return place;
  });
}

static void importScatterElements(NodeContext &node) {
  Value data = node.require(0);
  int64_t axis = axisOf(node, node.node.attrInt("axis", 0), rankOf(data));
  checkElementPlaces(node, axis);
  node.setResult(0, onnx::ScatterElementsOp::create(node.builder, node.loc, data, node.require(1),
                                                    node.require(2), axis, reductionOf(node)));
}

static void importScatterND(NodeContext &node) {
  checkTuplePlaces(node);
  node.setResult(0, onnx::ScatterNDOp::create(node.builder, node.loc, node.require(0), node.require(1),
                                              node.require(2), reductionOf(node)));
}

static void importReverseSequence(NodeContext &node) {
  Value input = node.require(0);
  int64_t batch = axisOf(node, node.node.attrInt("batch_axis", 1), rankOf(input));
  int64_t time = axisOf(node, node.node.attrInt("time_axis", 0), rankOf(input));
  node.setResult(
      0, onnx::ReverseSequenceOp::create(node.builder, node.loc, input, node.require(1), batch, time));
}

void kedge::importer::registerGatherImporters(NodeImporters &importers) {
  importers.add("Gather", importGather);
  importers.add("GatherElements", importGatherElements);
  importers.add("GatherND", importGatherND);
  importers.add("Scatter", importScatterElements);
  importers.add("ScatterElements", importScatterElements);
  importers.add("ScatterND", importScatterND);
  importers.add("ReverseSequence", importReverseSequence);
}
