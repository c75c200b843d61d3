// Random numbers of the model. A `seed` attribute is not read: a run's numbers follow from its own --seed.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include "lib/Import/NodeConstants.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Shape and element type: of attributes, or like operand 0.
RankedTensorType drawnType(NodeContext &node, bool like) {
  auto element = static_cast<model::ElementType>(node.node.attrInt("dtype", 0));
  Type given = element == model::ElementType::Undefined ? Type() : node.elementType(element);
  if (!given)
    given = like ? elementOf(node.require(0)) : Type(node.builder.getF32Type());
  if (!isa<FloatType>(given))
    node.unsupported("random numbers of an integer type");
  if (like)
    return RankedTensorType::get(shapeOf(node.require(0)), given);
  return RankedTensorType::get(node.node.attrInts("shape"), given);
}

void drawNormal(NodeContext &node, bool like) {
  RankedTensorType type = drawnType(node, like);
  OpBuilder &b = node.builder;
  node.setResult(0, onnx::RandomNormalOp::create(b, node.loc, type.getShape(), type.getElementType(),
                                                 APFloat(node.node.attrFloat("mean", 0)),
                                                 APFloat(node.node.attrFloat("scale", 1)), node.node.id));
}

Value uniform(NodeContext &node, RankedTensorType type, float low, float high) {
  return onnx::RandomUniformOp::create(node.builder, node.loc, type.getShape(), type.getElementType(),
                                       APFloat(low), APFloat(high), node.node.id);
}

void drawUniform(NodeContext &node, bool like) {
  node.setResult(
      0, uniform(node, drawnType(node, like), node.node.attrFloat("low", 0), node.node.attrFloat("high", 1)));
}

void importNormal(NodeContext &node) { drawNormal(node, false); }
void importNormalLike(NodeContext &node) { drawNormal(node, true); }
void importUniform(NodeContext &node) { drawUniform(node, false); }
void importUniformLike(NodeContext &node) { drawUniform(node, true); }

/// One where a uniform number is below the probability.
void importBernoulli(NodeContext &node) {
  Value p = node.require(0);
  Value drawn = uniform(node, tensorType(p), 0, 1);
  Value one = onnx::LessOp::create(node.builder, node.loc, drawn, p);
  auto element = static_cast<model::ElementType>(node.node.attrInt("dtype", 0));
  node.setResult(
      0,
      castTo(node, one, element == model::ElementType::Undefined ? elementOf(p) : node.elementType(element)));
}

/// Classes drawn by unnormalised log probabilities: the greatest of them with Gumbel noise, drawn anew for
/// each sample.
void importMultinomial(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value logits = node.require(0);
  int64_t count = node.node.attrInt("sample_size", 1);
  if (rankOf(logits) != 2 || count < 1)
    node.fail("expected log probabilities [batch, classes] and a positive sample_size, found [{}] and {}",
              fmt::join(shapeOf(logits), " x "), count);
  int64_t batch = shapeOf(logits)[0], classes = shapeOf(logits)[1];
  Value drawn = uniform(node, RankedTensorType::get({batch, count, classes}, b.getF32Type()), 0, 1);
  // A uniform number may be 0, of which there is no logarithm.
  drawn = onnx::MaxOp::create(b, node.loc, drawn, scalarLike(b, node.loc, drawn, 1e-30));
  auto minusLog = [&](Value v) { return math.neg(onnx::LogOp::create(b, node.loc, v)); };
  Value noise = minusLog(minusLog(drawn));
  Value noisy =
      math.add(castTo(node, reshape(b, node.loc, logits, {batch, 1, classes}), b.getF32Type()), noise);
  Value chosen = onnx::ArgMaxOp::create(b, node.loc, noisy, 2, false, false);
  node.setResult(0, castTo(node, chosen,
                           node.elementType(static_cast<model::ElementType>(node.node.attrInt("dtype", 6)))));
}

/// What lint::prepare() puts where random numbers, or updates of buffers, end with training.
void importByMode(NodeContext &node) {
  Value training = node.require(0), evaluation = node.require(1);
  if (node.node.attrBool("stops", false) && isa<FloatType>(elementOf(training)))
    training = onnx::IdentityOp::create(node.builder, node.loc, training, node.builder.getUnitAttr());
  node.setResult(0, train::ByModeOp::create(node.builder, node.loc, training, evaluation));
}
} // namespace

void kedge::importer::registerRandomImporters(NodeImporters &importers) {
  importers.add("RandomNormal", importNormal);
  importers.add("RandomNormalLike", importNormalLike);
  importers.add("RandomUniform", importUniform);
  importers.add("RandomUniformLike", importUniformLike);
  importers.add("Bernoulli", importBernoulli);
  importers.add("Multinomial", importMultinomial);
  importers.add("ByMode", importByMode, "kedge");
}
