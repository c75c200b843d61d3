// Norms, activations and losses from any opset to the canonical ops. Attention: CompositeAttention.cpp.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Import/Build/CompositeAttention.h"
#include "lib/Import/NodeImporter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;
using namespace kedge::onnx;

namespace {
APFloat epsilonOf(NodeContext &c) { return APFloat(c.node.attrFloat("epsilon", 1e-5f)); }

//===--- Norms ------------------------------------------------------------------------------------------===//

/// Statistics have the type that stash_type names (float); here they are f64 for f64 operands.
void setStatistic(NodeContext &c, size_t k, Value statistic) {
  if (!c.node.hasOutput(k))
    return;
  Type wanted = c.elementType(static_cast<model::ElementType>(c.node.attrInt("stash_type", 1)));
  c.setResult(k, elementOf(statistic) == wanted ? statistic
                                                : Value(CastOp::create(c.builder, c.loc, statistic, wanted)));
}

void importLayerNorm(NodeContext &c) {
  auto op = LayerNormalizationOp::create(c.builder, c.loc, c.require(0), c.require(1), c.operand(2),
                                         c.node.attrInt("axis", -1), epsilonOf(c));
  c.setResult(0, op.getY());
  setStatistic(c, 1, op.getMean());
  setStatistic(c, 2, op.getInvStdDev());
}

void importRMSNorm(NodeContext &c) {
  auto op = RMSNormalizationOp::create(c.builder, c.loc, c.require(0), c.require(1),
                                       c.node.attrInt("axis", -1), epsilonOf(c));
  c.setResult(0, op.getY());
}

void importGroupNorm(NodeContext &c) {
  auto op = GroupNormalizationOp::create(c.builder, c.loc, c.require(0), c.require(1), c.require(2),
                                         c.node.attrInt("num_groups"), epsilonOf(c));
  c.setResult(0, op.getY());
}

void importInstanceNorm(NodeContext &c) {
  auto op = InstanceNormalizationOp::create(c.builder, c.loc, c.require(0), c.require(1), c.require(2),
                                            epsilonOf(c));
  c.setResult(0, op.getY());
}

/// Before opset 14 training mode shows in the number of outputs.
bool trainsBatchNorm(NodeContext &c) {
  if (c.opset() >= 14)
    return c.node.attrBool("training_mode", false);
  for (size_t k = 1; k < c.node.outputs.size(); ++k)
    if (c.node.hasOutput(k))
      return true;
  return false;
}

void importBatchNorm(NodeContext &c) {
  if (c.opset() < 9 && !c.node.attrBool("spatial", true))
    c.unsupported("BatchNormalization of single places (spatial = 0)");
  Value x = c.require(0), scale = c.require(1), bias = c.require(2), mean = c.require(3),
        variance = c.require(4);
  if (!trainsBatchNorm(c)) {
    c.setResult(0,
                BatchNormalizationOp::create(c.builder, c.loc, x, scale, bias, mean, variance, epsilonOf(c)));
    return;
  }
  auto op = train::BatchNormOp::create(c.builder, c.loc, x, scale, bias, mean, variance, epsilonOf(c),
                                       APFloat(c.node.attrFloat("momentum", 0.9f)),
                                       c.node.attrBool("unbiased", false));
  c.setResult(0, op.getY());
  for (size_t k : {1, 2})
    if (c.node.hasOutput(k))
      c.setResult(k, op->getResult(k));
}

//===--- Activations ------------------------------------------------------------------------------------===//

void importGelu(NodeContext &c) {
  c.setResult(0, GeluOp::create(c.builder, c.loc, c.require(0), c.word("approximate", Approximation::None)));
}

void importSwish(NodeContext &c) {
  c.setResult(0, SwishOp::create(c.builder, c.loc, c.require(0), APFloat(c.node.attrFloat("alpha", 1.0f))));
}

//===--- Losses -----------------------------------------------------------------------------------------===//

IntegerAttr ignoreIndex(NodeContext &c) {
  return c.node.has("ignore_index") ? c.builder.getI64IntegerAttr(c.node.attrInt("ignore_index"))
                                    : IntegerAttr();
}

void importSoftmaxCrossEntropy(NodeContext &c) {
  auto reduction = c.builder.getStringAttr(c.node.attrString("reduction", "mean"));
  auto op =
      SoftmaxCrossEntropyLossOp::create(c.builder, c.loc, c.require(0), c.require(1), c.operand(2), reduction,
                                        ignoreIndex(c), c.builder.getBoolAttr(c.node.hasOutput(1)));
  c.setResults(op->getResults());
}

void importNegativeLogLikelihood(NodeContext &c) {
  auto reduction = c.builder.getStringAttr(c.node.attrString("reduction", "mean"));
  c.setResult(0, NegativeLogLikelihoodLossOp::create(c.builder, c.loc, c.require(0), c.require(1),
                                                     c.operand(2), reduction, ignoreIndex(c)));
}
} // namespace

void kedge::importer::registerCompositeImporters(NodeImporters &importers) {
  importers.add("LayerNormalization", importLayerNorm);
  importers.add("RMSNormalization", importRMSNorm);
  importers.add("GroupNormalization", importGroupNorm);
  importers.add("InstanceNormalization", importInstanceNorm);
  importers.add("BatchNormalization", importBatchNorm);
  importers.add("Gelu", importGelu);
  importers.add("Swish", importSwish);
  importers.add("SoftmaxCrossEntropyLoss", importSoftmaxCrossEntropy);
  importers.add("NegativeLogLikelihoodLoss", importNegativeLogLikelihood);
  importers.add("Attention", importAttention);
  importers.add("RotaryEmbedding", importRotaryEmbedding);
}
