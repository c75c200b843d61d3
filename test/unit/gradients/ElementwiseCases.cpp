#include "test/unit/gradients/ElementwiseCases.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::test {
namespace {
using Shape = std::vector<int64_t>;

const std::vector<std::vector<Shape>> unaryShapes{{{3, 5}}, {{}}, {{1}}, {{2, 0, 3}}, {{1, 4, 1}}};
const std::vector<std::vector<Shape>> binaryShapes{
    {{2, 3}, {2, 3}},       {{2, 3}, {3}},    {{2, 1}, {2, 3}}, {{2, 1}, {1, 3}},
    {{}, {2, 3}},           {{2, 3}, {}},     {{}, {}},         {{1}, {1}},
    {{0, 3}, {3}},          {{2, 0}, {2, 1}}, {{1}, {2, 0}},    {{2, 1, 3}, {4, 1}},
    {{1, 1, 2}, {2, 3, 1}},
};
/// Operands of one type.
const std::vector<std::vector<Shape>> equalShapes{{{2, 3}, {2, 3}}, {{1}, {1}}, {{}, {}}, {{2, 0}, {2, 0}}};
/// PRelu's slope broadcasts to its input, never the other way.
const std::vector<std::vector<Shape>> slopeShapes{{{2, 3}, {2, 3}},    {{2, 3}, {3}}, {{2, 3}, {1}},
                                                  {{2, 3, 2}, {3, 1}}, {{1}, {1}},    {{0, 3}, {3}}};

std::string typeText(const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += fmt::format("{}x", size);
  return text + "f64>";
}

Shape broadcast(const std::vector<Shape> &shapes) {
  Shape result;
  for (const Shape &shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (size_t k = 1; k <= shape.size(); ++k) {
      int64_t &size = result[result.size() - k];
      size = size == 1 ? shape[shape.size() - k] : size;
    }
  }
  return result;
}

const std::vector<std::vector<Shape>> &shapesOf(const ElementwiseCase &entry) {
  if (entry.operands == 1)
    return unaryShapes;
  std::string op = entry.op;
  return op == "onnx.PRelu" ? slopeShapes : op == "train.swiglu" ? equalShapes : binaryShapes;
}
} // namespace

std::vector<ElementwiseCase> elementwiseCases() {
  return {
      {"onnx.Add", 2, -2, 2},
      {"onnx.Sub", 2, -2, 2},
      {"onnx.Mul", 2, -2, 2},
      {"onnx.Div", 2, 0.5, 2},
      {"onnx.Max", 2, -2, 2},
      {"onnx.Min", 2, -2, 2},
      {"onnx.Pow", 2, 0.5, 2},
      {"onnx.PRelu", 2, -2, 2},
      {"train.swiglu", 2, -2, 2},
      {"onnx.Neg", 1, -2, 2},
      {"onnx.Abs", 1, -2, 2},
      {"onnx.Reciprocal", 1, 0.5, 2},
      {"onnx.Sqrt", 1, 0.5, 2},
      {"onnx.Exp", 1, -2, 2},
      {"onnx.Log", 1, 0.5, 2},
      {"onnx.Erf", 1, -2, 2},
      {"onnx.Sin", 1, -3, 3},
      {"onnx.Cos", 1, -3, 3},
      {"onnx.Tan", 1, -1, 1},
      {"onnx.Asin", 1, -0.8, 0.8},
      {"onnx.Acos", 1, -0.8, 0.8},
      {"onnx.Atan", 1, -2, 2},
      {"onnx.Sinh", 1, -2, 2},
      {"onnx.Cosh", 1, -2, 2},
      {"onnx.Asinh", 1, -2, 2},
      {"onnx.Acosh", 1, 1.5, 3},
      {"onnx.Atanh", 1, -0.8, 0.8},
      {"onnx.Sign", 1, -2, 2},
      {"onnx.Ceil", 1, -2, 2},
      {"onnx.Floor", 1, -2, 2},
      {"onnx.Round", 1, -2, 2},
      {"onnx.Relu", 1, -2, 2},
      {"onnx.Sigmoid", 1, -3, 3},
      {"onnx.Tanh", 1, -2, 2},
      {"onnx.Softplus", 1, -3, 3},
      {"onnx.Softsign", 1, -3, 3},
      {"onnx.HardSwish", 1, -4, 4},
      {"onnx.Mish", 1, -3, 3},
      {"onnx.Gelu", 1, -3, 3},
      {"onnx.Swish", 1, -3, 3, "alpha = 1.5 : f32"},
      {"onnx.LeakyRelu", 1, -2, 2, "alpha = 0.25 : f32"},
      {"onnx.Elu", 1, -2, 2, "alpha = 1.5 : f32"},
      {"onnx.Celu", 1, -2, 2, "alpha = 0.5 : f32"},
      {"onnx.ThresholdedRelu", 1, -2, 2, "alpha = 0.5 : f32"},
      {"onnx.Selu", 1, -2, 2, "alpha = 1.75 : f32, gamma = 1.25 : f32"},
      {"onnx.HardSigmoid", 1, -3, 3, "alpha = 0.25 : f32, beta = 0.5 : f32"},
      {"onnx.Shrink", 1, -2, 2, "lambd = 0.5 : f32, bias = 0.25 : f32"},
  };
}

std::string functionText(const ElementwiseCase &entry) {
  std::string name = entry.op, arguments, body, results, types;
  std::replace(name.begin(), name.end(), '.', '_');
  int argument = 0, result = 0;
  for (const std::vector<Shape> &shapes : shapesOf(entry)) {
    std::string operands, operandTypes;
    for (const Shape &shape : shapes) {
      std::string comma = operands.empty() ? "" : ", ";
      arguments += fmt::format("{}%a{}: {} {{check.range = [{:.4f}, {:.4f}]}}", argument ? ", " : "",
                               argument, typeText(shape), entry.low, entry.high);
      operands += fmt::format("{}%a{}", comma, argument++);
      operandTypes += comma + typeText(shape);
    }
    std::string type = typeText(broadcast(shapes)), comma = result ? ", " : "";
    body += fmt::format("  %r{} = \"{}\"({}) {{{}}} : ({}) -> {}\n", result, entry.op, operands,
                        entry.attributes, operandTypes, type);
    results += fmt::format("{}%r{}", comma, result++);
    types += comma + type;
  }
  return fmt::format("func.func @{}({}) -> ({}) {{\n{}  return {} : {}\n}}\n", name, arguments, types, body,
                     results, types);
}

} // namespace kedge::test
