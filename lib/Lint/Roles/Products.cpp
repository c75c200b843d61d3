#include "lib/Lint/Roles/Products.h"
#include <algorithm>

namespace kedge::lint {
using model::Node;

namespace {
using Parts = std::vector<OperandPart>;

/// ONNX's operators.
const std::map<std::string, Parts> &partsByOperator() {
  using enum OperandPart;
  static const std::map<std::string, Parts> table = {
      {"MatMul", {Weight, Weight}},
      {"Gemm", {Weight, Weight, Bias}},
      {"Conv", {None, Weight, Bias}},
      {"ConvTranspose", {None, Weight, Bias}},
      {"DeformConv", {None, Weight, None, Bias}},
      {"LSTM", {None, Weight, Weight, Bias, None, InitialState, InitialState, Weight}},
      {"GRU", {None, Weight, Weight, Bias, None, InitialState}},
      {"RNN", {None, Weight, Weight, Bias, None, InitialState}},
      {"LayerNormalization", {None, Scale, Shift}},
      {"RMSNormalization", {None, Scale}},
      {"SimplifiedLayerNormalization", {None, Scale}},
      {"GroupNormalization", {None, Scale, Shift}},
      {"InstanceNormalization", {None, Scale, Shift}},
      {"BatchNormalization", {None, Scale, Shift, Statistic, Statistic}},
      {"Gather", {Table}},
      {"PRelu", {None, Slope}},
      {"Attention", {None, None, None, Mask}},
      {"RotaryEmbedding", {None, Statistic, Statistic}},
  };
  return table;
}

/// The operators of com.microsoft that onnxruntime's optimizers write.
const std::map<std::string, Parts> &partsByContribution() {
  using enum OperandPart;
  static const std::map<std::string, Parts> table = {
      {"FusedMatMul", {Weight, Weight}},
      {"FusedGemm", {Weight, Weight, Bias}},
      {"FusedConv", {None, Weight, Bias}},
      {"BiasGelu", {None, Bias}},
      {"FastGelu", {None, Bias}},
      {"BiasAdd", {None, Bias}},
      {"Attention", {None, Weight, Bias, Mask}},
      {"MultiHeadAttention", {None, None, None, Bias, Mask, Mask}},
      {"GroupNorm", {None, Scale, Shift}},
      {"SkipLayerNormalization", {None, None, Scale, Shift, Bias}},
      {"SkipSimplifiedLayerNormalization", {None, None, Scale, Bias}},
      {"SimplifiedLayerNormalization", {None, Scale}},
      {"EmbedLayerNormalization", {None, None, Table, Table, Table, Scale, Shift}},
      {"RotaryEmbedding", {None, None, Statistic, Statistic}},
      {"MoE", {None, None, Weight, Bias, Weight, Bias, Weight, Bias}},
      {"QMoE",
       {None, None, Statistic, Statistic, Bias, Statistic, Statistic, Bias, Statistic, Statistic, Bias}},
      {"GroupQueryAttention", {None, None, None, None, None, None, None, Statistic, Statistic}},
  };
  return table;
}
} // namespace

OperandPart operandPart(const Node &node, size_t operand) {
  if (node.is("Einsum"))
    return OperandPart::Weight;
  const auto &table = node.domain == "com.microsoft" ? partsByContribution() : partsByOperator();
  auto found = node.domain.empty() || node.domain == "com.microsoft" ? table.find(node.opType) : table.end();
  return found == table.end() || operand >= found->second.size() ? OperandPart::None : found->second[operand];
}

bool isProduct(const Node &node) {
  static const std::set<std::string> ops = {"MatMul",        "Gemm",       "Conv",
                                            "ConvTranspose", "DeformConv", "Einsum",
                                            "FusedMatMul",   "FusedGemm",  "FusedConv"};
  return ops.count(node.opType) != 0 && (node.domain.empty() || node.domain == "com.microsoft");
}

/// The lengths of the letters of the result that stand in a constant operand alone.
int64_t Products::einsumFeatures(const Node &node) const {
  std::string equation = node.attrString("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos)
    return -1;
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, arrow))
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  int64_t features = 1;
  for (size_t k = 0; k < terms.size() && k < node.inputs.size(); ++k) {
    const std::optional<Dims> dims = values.dims(node.inputs[k]);
    if (!values.isConstant(node.inputs[k]) || !dims || dims->size() != terms[k].size())
      continue;
    for (size_t axis = 0; axis < terms[k].size(); ++axis) {
      const char letter = terms[k][axis];
      const bool shared = std::any_of(terms.begin(), terms.end(), [&](const std::string &term) {
        return &term != &terms[k] && term.find(letter) != std::string::npos;
      });
      if (!shared && equation.find(letter, arrow) != std::string::npos)
        features *= (*dims)[axis];
    }
  }
  return features;
}

std::optional<Product> Products::productOf(const Node &node) const {
  Product product;
  product.node = &node;
  if (node.is("Einsum")) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](const std::string &in) { return values.isConstant(in); }))
      return std::nullopt;
    product.features = einsumFeatures(node);
    product.moved = true;
    return product;
  }
  const bool left = values.isConstant(node.input(0)), right = values.isConstant(node.input(1));
  if (node.opType.find("Conv") != std::string::npos) {
    if (!right)
      return std::nullopt;
    product.spatial = true;
    if (std::optional<Dims> dims = values.dims(node.input(1)); dims && dims->size() >= 2) {
      product.features = node.is("ConvTranspose") ? (*dims)[1] * node.attrInt("group", 1) : (*dims)[0];
      product.fromLast = dims->size() - 2;
    }
    return product;
  }
  if (left == right)
    return std::nullopt;
  const std::optional<Dims> dims = values.dims(node.input(right ? 1 : 0));
  if (!dims || dims->size() < 2)
    return product;
  const bool gemm = node.opType.ends_with("Gemm");
  const bool turned = gemm ? node.attrBool(right ? "transB" : "transA", false) : false;
  const size_t own = (right != turned) ? 0 : 1; // from the last
  product.features = (*dims)[dims->size() - 1 - own];
  product.fromLast = right ? 0 : 1;
  return product;
}

std::optional<Product> Products::search(const std::string &value, bool open, int depth) const {
  const Node *node = values.maker(value);
  if (!node || depth > 12 || values.isConstant(value))
    return std::nullopt;
  if (isProduct(*node)) {
    const bool biased = std::any_of(node->inputs.begin(), node->inputs.end(), [&](const std::string &in) {
      return !in.empty() &&
             operandPart(*node, static_cast<size_t>(&in - node->inputs.data())) == OperandPart::Bias;
    });
    return open && biased ? std::nullopt : productOf(*node);
  }
  if (isPick(*node) && !node->inputs.empty()) {
    std::optional<Product> found = search(node->input(0), open, depth + 1);
    static const std::set<std::string> still = {"Identity", "Cast", "CastLike", "Dropout"};
    if (found && !still.count(node->opType))
      found->moved = true;
    if (found && !isMove(*node))
      found->features = -1;
    return found;
  }
  if (!node->domain.empty())
    return std::nullopt;
  if (node->is("Mul") || node->is("Div")) // by a number
    for (size_t k : {0, 1})
      if (values.isConstant(node->input(1 - k)) && values.hasOneElement(node->input(1 - k)))
        return search(node->input(k), open, depth + 1);
  if (node->is("Add") || node->is("Sub") || node->is("Sum")) {
    const bool constant = std::any_of(node->inputs.begin(), node->inputs.end(),
                                      [&](const std::string &in) { return values.isConstant(in); });
    if (constant && open)
      return std::nullopt;
    for (const std::string &in : node->inputs)
      if (std::optional<Product> found = search(in, open, depth + 1))
        return found;
  }
  return std::nullopt;
}

std::optional<Product> Products::openBehind(const std::string &value) const { return search(value, true, 0); }
std::optional<Product> Products::behind(const std::string &value) const { return search(value, false, 0); }

bool Products::fits(const Product &product, const Dims &dims) {
  const std::vector<size_t> axes = longAxes(dims);
  if (axes.empty()) // one element stands for an axis only if the axis has length 1
    return product.features == 1 && !dims.empty();
  if (product.features < 0)
    return axes.size() == 1;
  if (elementsOf(dims) != product.features)
    return false;
  // Behind a Reshape or Transpose the axis may be anywhere, and more than one: heads times size.
  return product.moved || (axes.size() == 1 && axes[0] == product.fromLast);
}

} // namespace kedge::lint
