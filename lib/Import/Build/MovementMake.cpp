// Tensors made from little: ranges, splats, triangles, one-hot rows.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Support/AttrJson.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// Elements of the range: max(0, ceil((limit - start) / delta)), exactly for integers.
static int64_t rangeSize(NodeContext &node) {
  const char *names[] = {"start", "limit", "delta"};
  if (elementOf(node.require(0)).isInteger()) {
    int64_t v[3];
    for (size_t k = 0; k < 3; ++k)
      v[k] = node.constantInts(k, names[k]).value_or(Dims{0}).front();
    if (v[2] == 0)
      node.fail("delta is 0");
    return std::max<int64_t>(0,
                             v[2] > 0 ? (v[1] - v[0] + v[2] - 1) / v[2] : (v[0] - v[1] - v[2] - 1) / -v[2]);
  }
  double v[3];
  for (size_t k = 0; k < 3; ++k)
    v[k] = node.constantFloats(k, names[k]).value_or(SmallVector<double>{0}).front();
  if (v[2] == 0)
    node.fail("delta is 0");
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil((v[1] - v[0]) / v[2])));
}

/// torch's exporter writes arange(1.0, n) with an integer n.
static void checkOneType(NodeContext &node) {
  Type start = elementOf(node.require(0)), limit = elementOf(node.require(1)),
       delta = elementOf(node.require(2));
  if (start != limit || start != delta)
    node.fail("start, limit and delta have the types {}, {} and {}, expected one type: give arange() numbers "
              "of one type",
              dtypeName(start), dtypeName(limit), dtypeName(delta));
}

static void importRange(NodeContext &node) {
  checkOneType(node);
  int64_t size = rangeSize(node);
  Value start = reshape(node.builder, node.loc, node.require(0), {});
  Value delta = reshape(node.builder, node.loc, node.require(2), {});
  node.setResult(0, onnx::RangeOp::create(node.builder, node.loc, start, delta, size));
}

static void importConstantOfShape(NodeContext &node) {
  auto shape = node.constantInts(0, "shape");
  if (!shape)
    node.fail("the shape is missing");
  const model::Tensor *value = node.node.attrTensorIf("value");
  model::Tensor element = value ? *value : model::Tensor::makeFloats("", {1}, {0.0f});
  element.name.clear(); // no initializer, whatever it is called
  if (element.numElements() != 1)
    node.fail("the value has {} elements, expected one", element.numElements());
  if (llvm::is_contained(*shape, 0)) {
    auto none = RankedTensorType::get(*shape, node.elementType(element.dtype));
    return node.setResult(0, emptyConstant(node.builder, node.loc, none));
  }
  auto one = node.constantTensor(element).getDefiningOp<onnx::ConstantOp>();
  auto type = RankedTensorType::get(*shape, node.elementType(element.dtype));
  auto splat = cast<DenseElementsAttr>(one.getValue()).resizeSplat(type);
  node.setResult(0, onnx::ConstantOp::create(node.builder, node.loc, splat));
}

static void importEyeLike(NodeContext &node) {
  auto like = tensorType(node.require(0));
  if (like.getRank() != 2)
    node.fail("the operand has rank {}, expected 2", like.getRank());
  Type element = like.getElementType();
  if (node.node.has("dtype"))
    element = node.elementType(static_cast<model::ElementType>(node.node.attrInt("dtype")));
  node.setResult(0, onnx::EyeLikeOp::create(node.builder, node.loc, like.getShape(), element,
                                            node.node.attrInt("k", 0)));
}

static void importTrilu(NodeContext &node) {
  int64_t k = node.constantInts(1, "k").value_or(Dims{0}).front();
  node.setResult(0, onnx::TriluOp::create(node.builder, node.loc, node.require(0),
                                          node.node.attrBool("upper", true), k));
}

static void importOneHot(NodeContext &node) {
  Value indices = node.require(0), values = node.require(2);
  SmallVector<int64_t> depth;
  if (elementOf(node.require(1)).isInteger())
    depth = *node.constantInts(1, "depth");
  else
    depth.push_back(static_cast<int64_t>(node.constantFloats(1, "depth")->front()));
  if (depth.size() != 1 || depth[0] < 0 || shapeOf(values) != ArrayRef<int64_t>{2})
    node.fail("expected one depth of 0 or more, and two values");
  int64_t axis = axisOf(node, node.node.attrInt("axis", -1), rankOf(indices) + 1);
  Value off = reshape(node.builder, node.loc, sliceAxis(node.builder, node.loc, values, 0, 0, 1), {});
  Value on = reshape(node.builder, node.loc, sliceAxis(node.builder, node.loc, values, 0, 1, 2), {});
  node.setResult(0, onnx::OneHotOp::create(node.builder, node.loc, indices, off, on, depth[0], axis));
}

void kedge::importer::registerGeneratorImporters(NodeImporters &importers) {
  importers.add("Range", importRange);
  importers.add("ConstantOfShape", importConstantOfShape);
  importers.add("EyeLike", importEyeLike);
  importers.add("Trilu", importTrilu);
  importers.add("OneHot", importOneHot);
}
