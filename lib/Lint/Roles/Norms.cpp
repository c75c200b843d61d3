#include "lib/Lint/Roles/Norms.h"
#include <algorithm>

namespace kedge::lint {
using model::Node;

namespace {
bool isMean(const Node &node) {
  return isOneOf(node, {"ReduceMean", "ReduceSum", "GlobalAveragePool", "AveragePool"});
}

bool isNormOperator(const Node &node) {
  static const std::set<std::string> ops = {
      "LayerNormalization",    "RMSNormalization", "SimplifiedLayerNormalization", "GroupNormalization",
      "InstanceNormalization", "LpNormalization",  "MeanVarianceNormalization",    "BatchNormalization"};
  return (node.domain.empty() && ops.count(node.opType)) ||
         (node.domain == "com.microsoft" &&
          (node.opType.ends_with("LayerNormalization") || node.opType == "GroupNorm"));
}

bool isBound(const Node &node) { return isOneOf(node, {"Max", "Min", "Clip", "Relu", "Abs"}); }
} // namespace

Norms::Norms(const Values &values) : values(values) {
  for (const Node *node : values.nodes())
    if (!node->inputs.empty() && !node->outputs.empty())
      visit(*node);
}

NormPart Norms::part(const Node &node, size_t operand) const {
  auto found = parts.find({&node, operand});
  return found == parts.end() ? NormPart::None : found->second;
}

const Node *Norms::groupNorm(const std::string &value) const {
  auto found = origins.find(value);
  return found == origins.end() ? nullptr : found->second;
}

void Norms::set(const Node &node, size_t operand, NormPart part) { parts[{&node, operand}] = part; }

void Norms::setConstants(const Node &node, NormPart part) {
  for (size_t k = 0; k < node.inputs.size(); ++k)
    if (node.hasInput(k) && values.isConstant(node.inputs[k]))
      set(node, k, part);
}

/// x * x, x ^ 2.
bool Norms::isSquare(const Node &node) const {
  if (node.is("Mul"))
    return values.behindMoves(node.input(0)) == values.behindMoves(node.input(1));
  if (!node.is("Pow") || values.isConstant(node.input(0)))
    return false;
  const model::Tensor *exponent = values.tensor(node.input(1));
  return exponent && exponent->isScalarLike() && exponent->storage != model::Tensor::Storage::External &&
         exponent->dtype != model::ElementType::String && exponent->floats()[0] == 2;
}

/// An instance norm over groups of channels: between two moves, with neither scale nor shift of its own.
bool Norms::isGroupNorm(const Node &node) const {
  const Node *before = values.maker(node.input(0));
  if (!node.is("InstanceNormalization") || !before || !before->is("Reshape"))
    return false;
  const std::vector<Reader> &readers = values.readers(node.output(0));
  if (!std::all_of(readers.begin(), readers.end(), [](const Reader &r) { return r.node->is("Reshape"); }))
    return false;
  for (size_t k : {1, 2}) {
    const model::Tensor *tensor = node.hasInput(k) ? values.tensor(node.input(k)) : nullptr;
    if (!tensor || !model::isFloat(tensor->dtype) || tensor->storage == model::Tensor::Storage::External)
      return false;
    const std::vector<double> all = tensor->floats();
    if (!std::all_of(all.begin(), all.end(), [&](double v) { return v == (k == 1 ? 1.0 : 0.0); }))
      return false;
  }
  return true;
}

void Norms::visit(const Node &node) {
  const std::string &out = node.output(0);
  if (values.isConstant(out))
    return;
  if (isNormOperator(node)) {
    normalized.insert(out);
    if (isGroupNorm(node)) {
      set(node, 1, NormPart::Inner);
      set(node, 2, NormPart::Inner);
      origins[out] = &node;
    }
    return;
  }
  if (isSquare(node)) {
    squares.insert(out);
    if (node.is("Pow"))
      set(node, 1, NormPart::Inner);
  }
  if (!visitVariance(node) && !visitDeviation(node))
    visitNormalized(node);
}

/// Means of squares, less the square of the mean, bounded, with an epsilon.
bool Norms::visitVariance(const Node &node) {
  const std::string &out = node.output(0);
  if (isMean(node) && (squares.count(node.input(0)) || squares.count(values.behindMoves(node.input(0))))) {
    variances.insert(out);
    return true;
  }
  if (isOneOf(node, {"ReduceSumSquare"})) {
    variances.insert(out);
    return true;
  }
  if (isOneOf(node, {"ReduceL2"})) {
    deviations.insert(out);
    return true;
  }
  const bool first = variances.count(node.input(0)) != 0,
             second = node.hasInput(1) && variances.count(node.input(1)) != 0;
  if (!first && !second)
    return false;
  const bool plain = isMove(node) || isBound(node);
  bool withNumber = isSumOrProduct(node);
  if (withNumber) {
    const std::string &other = node.input(first ? 1 : 0);
    withNumber = values.hasOneElement(other) || squares.count(other) != 0 || variances.count(other) != 0;
  }
  if (!plain && !withNumber) {
    if (node.is("Sqrt") || node.is("Pow"))
      return visitDeviation(node);
    return false;
  }
  variances.insert(out);
  setConstants(node, NormPart::Inner);
  return true;
}

/// Roots of variances, their reciprocals, and these times a scale.
bool Norms::visitDeviation(const Node &node) {
  const std::string &out = node.output(0);
  if ((node.is("Sqrt") || node.is("Pow")) && variances.count(node.input(0))) {
    deviations.insert(out);
    setConstants(node, NormPart::Inner);
    return true;
  }
  const bool first = deviations.count(node.input(0)) != 0,
             second = node.hasInput(1) && deviations.count(node.input(1)) != 0;
  if (first == second)
    return false;
  if (isMove(node) || isBound(node) || node.is("Reciprocal")) {
    deviations.insert(out);
    setConstants(node, NormPart::Inner);
    return true;
  }
  const std::string &other = node.input(first ? 1 : 0);
  if (!isSumOrProduct(node) || !values.isConstant(other))
    return false;
  deviations.insert(out);
  const bool scales = node.is("Mul") || (node.is("Div") && second);
  setConstants(node, scales && !values.hasOneElement(other) ? NormPart::Scale : NormPart::Inner);
  return true;
}

void Norms::keepOrigin(const Node &node, const std::string &from) {
  if (auto origin = origins.find(from); origin != origins.end())
    origins[node.output(0)] = origin->second;
}

/// What is divided by a deviation, and what a scale and a shift make of it.
void Norms::visitNormalized(const Node &node) {
  const std::string &out = node.output(0);
  const bool isProduct = node.is("Mul") || node.is("Div");
  if (isProduct && (deviations.count(node.input(1)) || (node.is("Mul") && deviations.count(node.input(0)))) &&
      !values.isConstant(node.input(0)) && !values.isConstant(node.input(1))) {
    normalized.insert(out);
    return;
  }
  for (size_t k = 0; k < node.inputs.size() && k < 2; ++k) {
    const std::string &in = node.inputs[k];
    if (!normalized.count(in))
      continue;
    if (isMove(node) || node.is("Neg")) {
      if (k == 0) {
        normalized.insert(out);
        if (finished.count(in))
          finished.insert(out);
        keepOrigin(node, in);
      }
      return;
    }
    if (!isSumOrProduct(node))
      return;
    const std::string &other = node.input(1 - k);
    const bool done = finished.count(in) != 0;
    if (values.isConstant(other)) {
      // One element is the scale of one channel, which only norms of single channels have.
      if (done || (values.hasOneElement(other) && !groupNorm(in)))
        return;
      const NormPart part = node.is("Mul")                     ? NormPart::Scale
                            : node.is("Add") || node.is("Sub") ? NormPart::Shift
                                                               : NormPart::None;
      if (part == NormPart::None)
        return;
      set(node, 1 - k, part);
      normalized.insert(out);
      keepOrigin(node, in);
      if (part == NormPart::Shift)
        finished.insert(out);
    } else if ((node.is("Add") || node.is("Sub")) && normalized.count(other)) {
      normalized.insert(out);
      if (done || finished.count(other))
        finished.insert(out);
    }
    return;
  }
}

} // namespace kedge::lint
