#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Lint.h"
#include "lib/Lint/Modes.h"
#include "lib/Lint/Uses.h"
#include "lib/Model/Schema.h"
#include <algorithm>
#include <set>

namespace kedge::lint {
using model::Node;

namespace {
/// Operands that carry a gradient, for operators where not all do.
const std::map<std::string, std::set<size_t>> &gradientOperands() {
  static const std::map<std::string, std::set<size_t>> table = {
      {"Reshape", {0}},
      {"Expand", {0}},
      {"Tile", {0}},
      {"Slice", {0}},
      {"Squeeze", {0}},
      {"Unsqueeze", {0}},
      {"Split", {0}},
      {"SplitToSequence", {0}},
      {"SequenceAt", {0}},
      {"Pad", {0}},
      {"Resize", {0}},
      {"Upsample", {0}},
      {"Clip", {0, 1, 2}},
      {"Dropout", {0}},
      {"Gather", {0}},
      {"GatherElements", {0}},
      {"GatherND", {0}},
      {"ScatterElements", {0, 2}},
      {"Scatter", {0, 2}},
      {"ScatterND", {0, 2}},
      {"TopK", {0}},
      {"CumSum", {0}},
      {"Trilu", {0}},
      {"Where", {1, 2}},
      {"Cast", {0}},
      {"CastLike", {0}},
      {"OneHot", {2}},
      {"Compress", {0}},
      {"ReverseSequence", {0}},
      {"CenterCropPad", {0}},
      {"MaxRoiPool", {0}},
      {"RoiAlign", {0, 1}},
      {"MaxUnpool", {0}},
      {"Col2Im", {0}},
      {"Attention", {0, 1, 2, 3, 4, 5}},
      {"RotaryEmbedding", {0, 1, 2}},
      {"SoftmaxCrossEntropyLoss", {0}},
      {"NegativeLogLikelihoodLoss", {0}},
      {"ReduceSum", {0}},
      {"ReduceMean", {0}},
      {"ReduceMax", {0}},
      {"ReduceMin", {0}},
      {"ReduceProd", {0}},
      {"ReduceL1", {0}},
      {"ReduceL2", {0}},
      {"ReduceLogSum", {0}},
      {"ReduceLogSumExp", {0}},
      {"ReduceSumSquare", {0}},
      {"LSTM", {0, 1, 2, 3, 5, 6, 7}},
      {"GRU", {0, 1, 2, 3, 5}},
      {"RNN", {0, 1, 2, 3, 5}},
      {"ConstantOfShape", {}},
      {"QuantizeLinear", {0}},
      {"DequantizeLinear", {0, 1}},
      {"AffineGrid", {0}},
      {"TensorScatter", {0, 1}},
      {"CumProd", {0}},
      {"DFT", {0}},
      {"STFT", {0, 2}},
      {"If", {}},
  };
  return table;
}
} // namespace

bool carriesGradient(const Node &node, size_t operand) {
  if (endsGradient(node))
    return false;
  if (isRunningStatistic(node, operand))
    return !isBatchNormTraining(node);
  if (!node.domain.empty())
    return true;
  auto found = gradientOperands().find(node.opType);
  return found == gradientOperands().end() || found->second.count(operand);
}

bool decidesShape(const Node &node, size_t operand) {
  static const std::map<std::string, std::set<size_t>> table = {{"Reshape", {1}},
                                                                {"Expand", {1}},
                                                                {"Tile", {1, 2}},
                                                                {"Slice", {1, 2, 3, 4}},
                                                                {"Squeeze", {1}},
                                                                {"Unsqueeze", {1}},
                                                                {"Split", {1}},
                                                                {"SplitToSequence", {1}},
                                                                {"Pad", {1, 3}},
                                                                {"Resize", {2, 3}},
                                                                {"Upsample", {1}},
                                                                {"TopK", {1}},
                                                                {"CumSum", {1}},
                                                                {"Trilu", {1}},
                                                                {"Range", {0, 1, 2}},
                                                                {"ConstantOfShape", {0}},
                                                                {"OneHot", {1}},
                                                                {"Compress", {1}},
                                                                {"CenterCropPad", {1}},
                                                                {"MaxUnpool", {2}},
                                                                {"ReduceSum", {1}},
                                                                {"ReduceMean", {1}},
                                                                {"ReduceMax", {1}},
                                                                {"ReduceMin", {1}},
                                                                {"ReduceProd", {1}},
                                                                {"ReduceL1", {1}},
                                                                {"ReduceL2", {1}},
                                                                {"ReduceLogSum", {1}},
                                                                {"ReduceLogSumExp", {1}},
                                                                {"ReduceSumSquare", {1}},
                                                                {"NonZero", {0}},
                                                                {"Unique", {0}},
                                                                {"Col2Im", {1, 2}},
                                                                {"AffineGrid", {1}},
                                                                {"SequenceAt", {1}},
                                                                {"NonMaxSuppression", {0, 1, 2, 3, 4}},
                                                                {"SequenceErase", {1}},
                                                                {"SequenceInsert", {2}},
                                                                {"CumProd", {1}},
                                                                {"DFT", {1, 2}},
                                                                {"STFT", {1, 3}},
                                                                {"Dropout", {1, 2}},
                                                                {"MelWeightMatrix", {0, 1, 2, 3, 4}},
                                                                {"HannWindow", {0}},
                                                                {"HammingWindow", {0}},
                                                                {"BlackmanWindow", {0}}};
  auto found = table.find(node.opType);
  return node.domain.empty() && found != table.end() && found->second.count(operand) != 0;
}

bool endsGradient(const Node &node) {
  static const std::set<std::string> ops = {"Shape",
                                            "Size",
                                            "ArgMax",
                                            "ArgMin",
                                            "NonZero",
                                            "Equal",
                                            "Less",
                                            "LessOrEqual",
                                            "Greater",
                                            "GreaterOrEqual",
                                            "And",
                                            "Or",
                                            "Not",
                                            "Xor",
                                            "IsNaN",
                                            "IsInf",
                                            "Sign",
                                            "Floor",
                                            "Ceil",
                                            "Round",
                                            "Range",
                                            "Constant",
                                            "ConstantOfShape",
                                            "EyeLike",
                                            "RandomNormal",
                                            "RandomUniform",
                                            "RandomNormalLike",
                                            "RandomUniformLike",
                                            "Bernoulli",
                                            "Multinomial",
                                            "BitShift",
                                            "BitwiseAnd",
                                            "BitwiseOr",
                                            "BitwiseXor",
                                            "BitwiseNot",
                                            "SequenceLength",
                                            "Unique",
                                            "NonMaxSuppression",
                                            "Hardmax",
                                            "DynamicQuantizeLinear"};
  if (!node.domain.empty())
    return false;
  if (node.is("Identity"))
    return stopsGradient(node);
  if (node.is("Cast")) {
    const model::Attribute *to = node.find("to");
    return to && to->kind == model::Attribute::Kind::Int &&
           !model::isFloat(static_cast<model::ElementType>(to->i));
  }
  return ops.count(node.opType);
}

bool isRunningStatistic(const Node &node, size_t operand) {
  return node.is("BatchNormalization") && (operand == 3 || operand == 4);
}

bool isWeightOperand(const Node &node, size_t operand) {
  Role role = roleOf(node, operand);
  if (node.is("MatMul"))
    return true; // either side
  return role == Role::Weight || role == Role::Bias;
}

bool isWeightName(const std::string &name) {
  static const std::set<std::string> leaves = {"weight", "bias", "gamma", "beta", "scale", "kernel"};
  return leaves.count(name.substr(name.find_last_of("./") + 1));
}

bool isBufferName(const std::string &name) {
  static const std::set<std::string> leaves = {"final_logits_bias",   "running_mean", "running_var",
                                               "num_batches_tracked", "inv_freq",     "original_inv_freq",
                                               "masked_bias",         "cos_cache",    "sin_cache",
                                               "cos_cached",          "sin_cached"};
  return leaves.count(name.substr(name.find_last_of("./") + 1));
}

bool isNumberedConv(std::string_view name) {
  constexpr std::string_view prefix = "onnx::Conv_";
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

bool isFoldedNorm(const Node &node) {
  return node.is("Conv") && node.hasInput(2) && isNumberedConv(node.input(1)) &&
         isNumberedConv(node.input(2));
}

bool isRandom(const Node &node) {
  static const std::set<std::string> ops = {"Dropout",      "RandomNormalLike", "RandomUniformLike",
                                            "Bernoulli",    "Multinomial",      "RandomNormal",
                                            "RandomUniform"};
  return node.domain.empty() && ops.count(node.opType);
}

/// "CastLike_55": what a builder calls the result of an operator.
static bool isNumberedOperator(const std::string &leaf) {
  const size_t line = leaf.rfind('_');
  return line != std::string::npos && line + 1 < leaf.size() &&
         leaf.find_first_not_of("0123456789", line + 1) == std::string::npos &&
         !model::schemasOf(leaf.substr(0, line)).empty();
}

bool isModulePath(const std::string &name) {
  if (name.empty() || name[0] == '/' || name.find("::") != std::string::npos)
    return false;
  size_t dot = name.find_last_of("./");
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size())
    return false;
  std::string last = name.substr(dot + 1);
  return !last.starts_with("Constant") && last.find("_output_") == std::string::npos &&
         !isNumberedOperator(last);
}

} // namespace kedge::lint
