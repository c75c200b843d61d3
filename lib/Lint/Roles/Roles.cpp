#include "lib/Lint/Roles/Roles.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Traced.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace kedge::lint {
using model::Node;
using model::Tensor;

namespace {
std::string calledHere(const Node &node) {
  return fmt::format("{} '{}'", node.opType, node.name.empty() ? node.output(0) : node.name);
}

/// Operators of one operand that make other numbers of a constant: the role is that of the result.
bool isFunctionOfOne(const Node &node) {
  return isOneOf(node,
                 {"Neg", "Exp", "Log", "Softplus", "Sigmoid", "Tanh", "Abs", "Sqrt", "Reciprocal", "Relu",
                  "Softmax", "Clip", "ReduceL2", "ReduceSumSquare", "ReduceSum", "ReduceMean", "ReduceMax"});
}
/// ONNX's own, and QONNX' of any of its domains.
bool isQuantiser(const Node &node) {
  const bool isQonnx = node.opType == "Quant" || node.opType == "BipolarQuant" || node.opType == "Trunc";
  return node.is("QuantizeLinear") || node.is("DequantizeLinear") || (isQonnx && !node.domain.empty());
}
/// What the body of a loop calls an operand; "" where it has no name there.
std::string innerName(const Node &node, size_t operand) {
  if (!isOneOf(node, {"Loop", "Scan"}) || !node.has("body"))
    return "";
  const model::Graph &body = node.attrGraph("body");
  return operand < body.inputs.size() ? body.inputs[operand].name : std::string();
}
} // namespace

Roles::Roles(const model::Graph &graph, std::function<bool(const Node &, size_t)> carries)
    : values(graph), normalizations(values), products(values), carries(std::move(carries)) {
  findInputs();
}

/// Values that no parameter has changed yet: what is applied to them there normalizes an input.
void Roles::findInputs() {
  for (const Node *node : values.nodes()) {
    bool first = !node->inputs.empty(), integers = first, any = false;
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      const std::string &in = node->inputs[k];
      if (in.empty() || decidesShape(*node, k))
        continue;
      const bool constant = values.isConstant(in);
      const OperandPart part = operandPart(*node, k);
      const Tensor *tensor = values.tensor(in);
      if (constant && node->is("Concat") && tensor && model::isFloat(tensor->dtype) &&
          !tensor->isScalarLike())
        first = false; // a token may be a parameter
      if (constant && part != OperandPart::None && part != OperandPart::InitialState &&
          (!tensor || model::isFloat(tensor->dtype)))
        first = false;
      if (!constant) {
        any = true;
        first = first && (values.isInput(in) || raw.count(in) != 0);
        integers = integers && counted.count(in) != 0;
      }
    }
    const bool counts = node->is("Shape") || node->is("Size") || (node->is("Range") && first);
    if ((first && any) || counts)
      raw.insert(node->outputs.begin(), node->outputs.end());
    const auto *to = node->is("Cast") ? node->find("to") : nullptr;
    const bool integer = to && !model::isFloat(static_cast<model::ElementType>(to->i));
    if (counts || (first && any && (integers || integer || endsGradient(*node))))
      counted.insert(node->outputs.begin(), node->outputs.end());
  }
}

std::vector<GraphRole> Roles::of(const std::string &tensor) const {
  std::vector<GraphRole> roles;
  collect(tensor, 0, roles);
  return roles;
}

void Roles::collect(const std::string &value, int depth, std::vector<GraphRole> &roles) const {
  for (const Reader &reader : values.readers(value)) {
    const Node &node = *reader.node;
    if (!carries(node, reader.operand))
      continue;
    GraphRole role;
    const std::string &out = node.output(0);
    const bool lone = !out.empty() && values.isConstant(out);
    const bool keeps = isMove(node) || isQuantiser(node);
    bool through = depth < 16 && !out.empty() && reader.operand == 0 && (keeps || (lone && isPick(node)));
    if (lone && depth < 16) {
      through = through || isFunctionOfOne(node);
      // Arithmetic of constants: numbers are numbers, a lone tensor has the role of the result.
      if (isSumOrProduct(node) || node.is("Pow") || node.is("Max") || node.is("Min")) {
        const bool others = std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string &in) {
          return in == value || values.hasOneElement(in);
        });
        through = through || others || node.is("Div") || node.is("Mul");
        if (values.hasOneElement(value) && !others)
          through = false;
      }
      if (node.is("Concat") || node.is("Gather"))
        through = through || node.is("Concat") || reader.operand == 0;
    }
    if (through) {
      for (const std::string &output : node.outputs)
        if (!output.empty())
          collect(output, depth + 1, roles);
      continue;
    }
    if (const std::string inner = depth < 16 ? innerName(node, reader.operand) : "";
        values.isConstant(inner)) {
      collect(inner, depth + 1, roles);
      continue;
    }
    role = roleOf(value, node, reader.operand);
    if (std::find(roles.begin(), roles.end(), role) == roles.end())
      roles.push_back(std::move(role));
  }
}

GraphRole Roles::roleOf(const std::string &value, const Node &node, size_t operand) const {
  if (std::optional<GraphRole> role = byOperator(value, node, operand))
    return {role->claim, role->what + " " + calledHere(node), &node};
  const bool sum = node.is("Add") || node.is("Sub") || node.is("Sum");
  if (std::optional<GraphRole> role = sum                                ? ofSum(value, node, operand)
                                      : node.is("Mul") || node.is("Div") ? ofProduct(value, node, operand)
                                                                         : std::nullopt)
    return {role->claim, role->what + " " + calledHere(node), &node};
  if (std::optional<GraphRole> role = isSumOrProduct(node) ? atEnds(value, node, operand) : std::nullopt)
    return {role->claim, role->what + " " + calledHere(node), &node};
  if (values.hasOneElement(value))
    return {Claim::Weak, "a number in " + calledHere(node), &node};
  return {Claim::None, fmt::format("operand {} of {}", operand, calledHere(node)), &node};
}

std::optional<GraphRole> Roles::byOperator(const std::string &value, const Node &node, size_t operand) const {
  switch (normalizations.part(node, operand)) {
  case NormPart::Inner:
    return GraphRole{Claim::Weak, "inside of the norm at"};
  case NormPart::Scale:
    return GraphRole{Claim::Parameter, "the scale of the norm at"};
  case NormPart::Shift:
    return GraphRole{Claim::Parameter, "the shift of the norm at"};
  case NormPart::None:
    break;
  }
  switch (operandPart(node, operand)) {
  case OperandPart::Weight:
    if (node.inputs.size() == 2 && values.isConstant(node.input(1 - operand)))
      return std::nullopt; // a product of constants, or of a constant and a loop's state
    if (countsPositions(node, operand))
      return GraphRole{Claim::Constant, "frequencies of positions in"};
    return GraphRole{Claim::Parameter, "a weight of"};
  case OperandPart::Bias:
    if (node.is("Gemm") && values.hasOneElement(value) && !isOnlyBias(value, node))
      return GraphRole{Claim::Weak, "a number in"};
    return GraphRole{Claim::Parameter, "the bias of"};
  case OperandPart::Table:
    return isRotary(node.output(0))
               ? GraphRole{Claim::Constant, "a table of a rotary embedding, looked up by"}
               : GraphRole{Claim::Parameter, "the table of"};
  case OperandPart::Slope:
    return GraphRole{Claim::Parameter, "the slope of"};
  case OperandPart::Scale:
    return GraphRole{Claim::Parameter, "the scale of"};
  case OperandPart::Shift:
    return GraphRole{Claim::Parameter, "the shift of"};
  case OperandPart::InitialState:
    return GraphRole{Claim::Weak, "an initial state of"};
  case OperandPart::Mask:
    return GraphRole{Claim::Mask, "a mask of"};
  case OperandPart::Statistic:
    return GraphRole{Claim::Constant, "a table of"};
  case OperandPart::None:
    break;
  }
  if (node.is("Pow"))
    return GraphRole{Claim::Weak, operand == 1 ? "the exponent of" : "the base of"};
  if (isOneOf(node, {"Max", "Min", "Clip"}))
    return GraphRole{Claim::Weak, "a bound in"};
  if (isQuantiser(node) || (node.is("MatMulBnb4", "com.microsoft") && operand == 2))
    return GraphRole{Claim::Constant, "the scale of a quantised tensor in"};
  const Tensor *tensor = values.tensor(value);
  if (isOneOf(node, {"Where", "ScatterND", "ScatterElements", "Scatter"}) && tensor &&
      (isUniform(*tensor) || hasMaskValues(*tensor)))
    return GraphRole{Claim::Weak, "what is written where there is nothing else, by"};
  if (isOneOf(node, {"Loop", "Scan"}))
    return GraphRole{Claim::Weak, "an initial state of"};
  return std::nullopt;
}

/// One element of one axis of length 1.
bool Roles::isOnlyBias(const std::string &value, const Node &gemm) const {
  const std::optional<Dims> weight = values.dims(gemm.input(1));
  return !values.dims(value)->empty() && weight && weight->size() == 2 &&
         (*weight)[gemm.attrBool("transB", false) ? 0 : 1] == 1;
}

std::optional<GraphRole> Roles::ofSum(const std::string &value, const Node &node, size_t operand) const {
  const std::optional<Dims> dims = values.dims(value);
  if (!dims || node.inputs.size() < 2)
    return std::nullopt;
  const std::string &other = node.input(operand == 0 ? 1 : 0);
  if (values.isConstant(other))
    return std::nullopt;
  if (!node.is("Sub"))
    if (std::optional<Product> product = products.openBehind(other);
        product && Products::fits(*product, *dims)) {
      const Tensor *tensor = values.tensor(value);
      if (tensor && holdsInfinity(*tensor)) // a mask over the vocabulary; a bias is finite
        return GraphRole{Claim::Mask, "a mask in"};
      return GraphRole{Claim::Parameter, fmt::format("the bias of {}, by", calledHere(*product->node))};
    }
  const Node *factor = values.maker(values.behindMoves(other));
  if (factor && factor->is("Mul") && !longAxes(*dims).empty())
    for (size_t k : {0, 1})
      if (std::optional<Dims> scale = values.dims(factor->input(k));
          scale && values.isConstant(factor->input(k)) && longAxes(*scale) == longAxes(*dims))
        if (std::optional<Product> product = products.behind(factor->input(1 - k)))
          if (!isTail(node.output(0)) && Products::fits(*product, *dims))
            return GraphRole{Claim::Affine,
                             fmt::format("a summand a channel after {}, in", calledHere(*product->node))};
  if (leadsTo(node.output(0), {"Softmax", "LogSoftmax"}))
    return GraphRole{Claim::Mask, "added before a Softmax by"};
  const bool isRaw = values.isInput(other) || raw.count(other) != 0;
  if (node.is("Add") && longAxes(*dims).size() >= 2)
    return isRaw || isTail(node.output(0))
               ? GraphRole{Claim::None, "a table of positions or an average of inputs in"}
               : GraphRole{Claim::Parameter, "a table of positions, by"};
  return std::nullopt;
}

std::optional<GraphRole> Roles::ofProduct(const std::string &value, const Node &node, size_t operand) const {
  const std::optional<Dims> dims = values.dims(value);
  const std::string &other = node.input(1 - operand);
  if (!dims || longAxes(*dims).empty() || values.isConstant(other))
    return std::nullopt;
  if (isSlope(value, node, operand))
    return GraphRole{Claim::Parameter, "the slope in"};
  if (longAxes(*dims).size() >= 2 && isRotary(value))
    return GraphRole{Claim::Constant, "a table of a rotary embedding in"};
  if (countsPositions(node, operand))
    return GraphRole{Claim::Constant, "frequencies of positions in"};
  if (const Tensor *tensor = values.tensor(value);
      tensor && hasMaskValues(*tensor) && !products.behind(other) && leadsTo(node.output(0), {"Softmax"}))
    return GraphRole{Claim::Weak, "a mask before a Softmax in"};
  if (values.isInput(other) || raw.count(other) || isTail(node.output(0)))
    return std::nullopt;
  std::optional<Product> product = products.behind(other);
  if (!product || !Products::fits(*product, *dims))
    return std::nullopt;
  // A scale alone is a layer's; a scale and a shift may be a norm that was folded.
  const std::vector<Reader> &readers = values.readers(node.output(0));
  const bool shifted = std::any_of(readers.begin(), readers.end(), [&](const Reader &r) {
    return (r.node->is("Add") || r.node->is("Sub")) && values.isConstant(r.node->input(1 - r.operand)) &&
           !values.hasOneElement(r.node->input(1 - r.operand));
  });
  if (shifted || node.is("Div"))
    return GraphRole{Claim::Affine, fmt::format("a factor a channel of {}, in", calledHere(*product->node))};
  return GraphRole{Claim::Parameter, fmt::format("the scale of {}, by", calledHere(*product->node))};
}

/// Before the first parameter and after the last one.
std::optional<GraphRole> Roles::atEnds(const std::string &value, const Node &node, size_t operand) const {
  const std::string &other = node.input(operand == 0 ? 1 : 0);
  if (values.isConstant(other))
    return std::nullopt;
  const std::optional<Dims> dims = values.dims(value);
  const bool table = dims && longAxes(*dims).size() >= 2 && node.is("Add");
  if (!table && (values.isInput(other) || raw.count(other)))
    return GraphRole{Claim::Input, "applied to an input, before any parameter, by"};
  if (!table && isTail(node.output(0)))
    return GraphRole{Claim::Input, "applied to an output, after the last parameter, by"};
  return std::nullopt;
}

/// max(0, x) - slope * max(0, -x), slope * min(x, 0).
bool Roles::isSlope(const std::string &value, const Node &node, size_t operand) const {
  if (!node.is("Mul"))
    return false;
  const Node *other = values.maker(node.input(1 - operand));
  if (!other)
    return false;
  if (other->is("Min") && (values.hasOneElement(other->input(0)) || values.hasOneElement(other->input(1))))
    return true;
  const Node *before = other->is("Relu") ? values.maker(other->input(0)) : nullptr;
  return before && before->is("Neg");
}

bool Roles::sharesRoot(const std::string &a, const std::string &b) const {
  auto rootsOf = [&](const std::string &from) {
    std::set<std::string> roots;
    std::vector<std::pair<std::string, int>> open = {{from, 0}};
    while (!open.empty()) {
      auto [at, depth] = open.back();
      open.pop_back();
      if (!roots.insert(at).second || depth > 8)
        continue;
      const Node *node = values.maker(at);
      if (node && (isPick(*node) || node->is("Neg") || node->is("Gather")))
        for (size_t k = 0; k < (node->is("Concat") ? node->inputs.size() : 1); ++k)
          open.push_back({node->input(k), depth + 1});
    }
    return roots;
  };
  const std::set<std::string> left = rootsOf(a), right = rootsOf(b);
  return std::any_of(left.begin(), left.end(),
                     [&](const std::string &root) { return right.count(root) != 0; });
}

/// q * cos + turned(q) * sin: every reader multiplies with it and adds another such product of the same
/// value. What is turned may be angles, whose rows are looked up.
bool Roles::isRotary(const std::string &value, int depth) const {
  const std::vector<Reader> &readers = values.readers(value);
  if (readers.empty() || depth > 8)
    return false;
  return std::all_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    const Node &node = *reader.node;
    const bool isSame = (isPick(node) && (reader.operand == 0 || node.is("Concat"))) || node.is("Cos") ||
                        node.is("Sin") || (node.is("Gather") && reader.operand == 0);
    if (isSame)
      return isRotary(node.output(0), depth + 1);
    if (!node.is("Mul"))
      return false;
    const std::string &turned = node.input(1 - reader.operand);
    const std::vector<Reader> &sums = values.readers(node.output(0));
    return !sums.empty() && std::all_of(sums.begin(), sums.end(), [&](const Reader &sum) {
      if (!sum.node->is("Add") && !sum.node->is("Sub"))
        return false;
      const Node *second = values.maker(sum.node->input(1 - sum.operand));
      if (!second || !second->is("Mul"))
        return false;
      return sharesRoot(turned, second->input(0)) || sharesRoot(turned, second->input(1));
    });
  });
}

/// Whether some reader, behind moves and sums, is one of these operators.
bool Roles::leadsTo(const std::string &value, const std::set<std::string> &ops, int depth) const {
  if (depth > 6)
    return false;
  const std::vector<Reader> &readers = values.readers(value);
  return std::any_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    const Node &node = *reader.node;
    if (isOneOf(node, ops))
      return true;
    const bool through = isMove(node) || isOneOf(node, {"Add", "Sub", "Where", "Clip", "Max", "Mul", "Div"});
    return through && leadsTo(node.output(0), ops, depth + 1);
  });
}

/// Numbers of positions times frequencies, of which sines and cosines are taken.
bool Roles::countsPositions(const Node &node, size_t operand) const {
  const std::string &other = node.input(operand == 0 ? 1 : 0);
  if (!counted.count(other) && !(raw.count(other) && counted.count(values.behindMoves(other))))
    return false;
  std::vector<std::string> open = {node.output(0)};
  for (size_t at = 0; at < open.size() && open.size() < 64; ++at)
    for (const Reader &reader : values.readers(open[at])) {
      if (isOneOf(*reader.node, {"Sin", "Cos"}))
        return true;
      if (isPick(*reader.node) || isOneOf(*reader.node, {"Mul", "Add"}))
        open.push_back(reader.node->output(0));
    }
  return false;
}

/// Whether only numbers, moves and bounds follow, up to the outputs.
bool Roles::isTail(const std::string &value, int depth) const {
  const std::vector<Reader> &readers = values.readers(value);
  if (depth > 12 || (readers.empty() && !values.isOutput(value)))
    return false;
  return std::all_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    const Node &node = *reader.node;
    if (!isMove(node) && !isOneOf(node, {"Clip", "Min", "Max"}) &&
        !(isSumOrProduct(node) && values.isConstant(node.input(reader.operand == 0 ? 1 : 0))))
      return false;
    return isTail(node.output(0), depth + 1);
  });
}

size_t Roles::productsWithoutBias() const {
  size_t count = 0;
  for (const Node *node : values.nodes()) {
    if (!isProduct(*node) || !products.openBehind(node->output(0)))
      continue;
    std::vector<std::string> open = {node->output(0)};
    bool biased = false;
    for (size_t at = 0; at < open.size() && open.size() < 32; ++at)
      for (const Reader &reader : values.readers(open[at]))
        if (reader.node->is("Add") && values.isConstant(reader.node->input(1 - reader.operand)))
          biased = true;
        else if (isMove(*reader.node))
          open.push_back(reader.node->output(0));
    count += biased ? 0 : 1;
  }
  return count;
}

Roles::LackingNorms Roles::lackingNorms() const {
  auto holds = [&](const Node &node, NormPart part) {
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (normalizations.part(node, k) == part)
        return true;
    return false;
  };
  LackingNorms lacking;
  for (const Node *node : values.nodes()) {
    if (!isOneOf(*node, {"Sqrt", "Pow"}) || !normalizations.isDeviation(node->output(0)))
      continue;
    std::vector<std::string> open = {node->output(0)};
    bool scaled = false, shifted = false;
    for (size_t at = 0; at < open.size() && open.size() < 64; ++at)
      for (const Reader &reader : values.readers(open[at])) {
        const std::string &out = reader.node->output(0);
        scaled = scaled || holds(*reader.node, NormPart::Scale);
        shifted = shifted || holds(*reader.node, NormPart::Shift);
        if (normalizations.isNormalized(out) || normalizations.isDeviation(out))
          open.push_back(out);
      }
    lacking.scale += scaled ? 0 : 1;
    lacking.shift += scaled && !shifted ? 1 : 0;
  }
  return lacking;
}

bool hasMaskValues(const Tensor &tensor) {
  try {
    const std::vector<double> all = tensor.floats();
    return std::all_of(all.begin(), all.end(),
                       [](double v) { return v == 0 || v == 1 || std::isinf(v) || std::abs(v) > 1e30; });
  } catch (const Error &) {
    return false; // external data that is not there
  }
}

bool hasTwoValues(const Tensor &tensor) {
  try {
    std::set<double> distinct;
    for (double v : tensor.floats())
      if (distinct.insert(v).second && distinct.size() > 2)
        return false;
    return distinct.count(0) != 0;
  } catch (const Error &) {
    return false;
  }
}

std::optional<double> firstNonFinite(const Tensor &tensor) {
  try {
    const std::vector<double> all = tensor.floats();
    auto found = std::find_if(all.begin(), all.end(), [](double v) { return !std::isfinite(v); });
    return found == all.end() ? std::nullopt : std::optional(*found);
  } catch (const Error &) {
    return std::nullopt;
  }
}

bool holdsInfinity(const Tensor &tensor) {
  try {
    const std::vector<double> all = tensor.floats();
    return std::any_of(all.begin(), all.end(), [](double v) { return std::isinf(v) || std::abs(v) > 1e30; });
  } catch (const Error &) {
    return false;
  }
}

} // namespace kedge::lint
