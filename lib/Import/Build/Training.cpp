// Operators of ai.onnx.preview.training: several tensors at once become one op per tensor.
#include "lib/Import/Training.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
Value withoutDims(NodeContext &node, Value value, StringRef what) {
  if (elementCount(shapeOf(value)) != 1)
    node.fail("{} has {} elements, expected one", what.str(), elementCount(shapeOf(value)));
  return rankOf(value) == 0
             ? value
             : onnx::ReshapeOp::create(node.builder, node.loc, value, ArrayRef<int64_t>{}).getResult();
}

/// Operands of an optimizer: rate, count, then groups of as many tensors as are updated.
struct Update {
  NodeContext &node;
  size_t groups, tensors;
  Value rate, count;

  Update(NodeContext &node, size_t groups) : node(node), groups(groups) {
    size_t given = node.operandCount();
    if (given < 2 + groups || (given - 2) % groups != 0)
      node.fail("{} inputs, expected R, T and {} for each updated tensor", given, groups);
    tensors = (given - 2) / groups;
    rate = withoutDims(node, node.require(0), "the learning rate");
    count = withoutDims(node, node.require(1), "the update count");
    if (!isa<FloatType>(elementOf(rate)) || !isa<IntegerType>(elementOf(count)))
      node.fail("expected a float learning rate and an integer update count");
  }

  /// Tensor k of each group: X, its gradient, its state.
  SmallVector<Value> of(size_t k) {
    SmallVector<Value> values;
    for (size_t group = 0; group < groups; ++group) {
      values.push_back(node.require(2 + group * tensors + k));
      if (values.back().getType() != values.front().getType())
        node.fail("input {} ('{}') differs in type or shape from '{}', which it updates",
                  2 + group * tensors + k, node.node.input(2 + group * tensors + k), node.node.input(2 + k));
    }
    if (!isa<FloatType>(elementOf(values[0])))
      node.fail("input {} ('{}') is no float tensor", 2 + k, node.node.input(2 + k));
    return values;
  }

  Value rateFor(Value tensor) {
    if (elementOf(rate) == elementOf(tensor))
      return rate;
    return onnx::CastOp::create(node.builder, node.loc, rate, TypeAttr::get(elementOf(tensor)));
  }

  void setResults(size_t k, Operation *op) {
    for (auto [group, result] : llvm::enumerate(op->getResults()))
      node.setResult(group * tensors + k, result);
  }
};

NamedAttribute number(NodeContext &node, StringRef name, double value) {
  return node.builder.getNamedAttr(name, node.builder.getF64FloatAttr(value));
}

void importAdam(NodeContext &node) {
  Update update(node, 4);
  SmallVector<NamedAttribute> betas = {number(node, "alpha", node.node.attrFloat("alpha", 0.9f)),
                                       number(node, "beta", node.node.attrFloat("beta", 0.999f))};
  SmallVector<NamedAttribute> attributes = betas;
  attributes.append({number(node, "epsilon", node.node.attrFloat("epsilon", 1e-6f)),
                     number(node, "norm_coefficient", node.node.attrFloat("norm_coefficient", 0)),
                     number(node, "norm_coefficient_post", node.node.attrFloat("norm_coefficient_post", 0))});
  for (size_t k = 0; k < update.tensors; ++k) {
    SmallVector<Value> operands = update.of(k);
    ValueRange rateOperands{update.rateFor(operands[0]), update.count};
    Value rate = train::OnnxAdamRateOp::create(node.builder, node.loc, rateOperands, betas);
    operands.push_back(rate);
    update.setResults(k, train::OnnxAdamOp::create(node.builder, node.loc, operands, attributes));
  }
}

void importAdagrad(NodeContext &node) {
  Update update(node, 3);
  SmallVector<NamedAttribute> attributes = {
      number(node, "decay_factor", node.node.attrFloat("decay_factor", 0)),
      number(node, "epsilon", node.node.attrFloat("epsilon", 1e-6f)),
      number(node, "norm_coefficient", node.node.attrFloat("norm_coefficient", 0))};
  for (size_t k = 0; k < update.tensors; ++k) {
    SmallVector<Value> operands = update.of(k);
    operands.append({update.rateFor(operands[0]), update.count});
    update.setResults(k, train::OnnxAdagradOp::create(node.builder, node.loc, operands, attributes));
  }
}

void importMomentum(NodeContext &node) {
  Update update(node, 3);
  std::string mode = node.node.attrString("mode");
  if (mode != "standard" && mode != "nesterov")
    node.fail("mode '{}': expected standard or nesterov", mode);
  SmallVector<NamedAttribute> attributes = {
      number(node, "alpha", node.node.attrFloat("alpha")), number(node, "beta", node.node.attrFloat("beta")),
      number(node, "norm_coefficient", node.node.attrFloat("norm_coefficient")),
      node.builder.getNamedAttr("nesterov", node.builder.getBoolAttr(mode == "nesterov"))};
  for (size_t k = 0; k < update.tensors; ++k) {
    SmallVector<Value> operands = update.of(k);
    operands.append({update.rateFor(operands[0]), update.count});
    update.setResults(k, train::OnnxMomentumOp::create(node.builder, node.loc, operands, attributes));
  }
}

/// Inputs: y, then xs (algorithmNodes).
void importGradient(NodeContext &node) {
  SmallVector<Value> operands = node.operands();
  if (!isa<FloatType>(elementOf(operands[0])) || elementCount(shapeOf(operands[0])) != 1)
    node.fail("y ('{}') is {}, expected a float of one element: a loss", node.node.input(0),
              debugString(operands[0].getType()));
  for (size_t k = 1; k < operands.size(); ++k)
    if (!isa<FloatType>(elementOf(operands[k])))
      node.fail("'{}' of xs is no float tensor: it has no gradient", node.node.input(k));
  auto gradients = train::GradientOfOp::create(node.builder, node.loc, operands, ArrayRef<NamedAttribute>{});
  for (auto [k, result] : llvm::enumerate(gradients.getGradients()))
    node.setResult(k, result);
}
} // namespace

void kedge::importer::registerTrainingImporters(NodeImporters &importers) {
  const llvm::StringRef domain(model::trainingDomain);
  importers.add("Adam", importAdam, domain);
  importers.add("Adagrad", importAdagrad, domain);
  importers.add("Momentum", importMomentum, domain);
  importers.add("Gradient", importGradient, "kedge");
}
