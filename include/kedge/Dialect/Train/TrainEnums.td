// Closed sets of words that ops of this dialect have as attributes.
#ifndef KEDGE_TRAIN_ENUMS
#define KEDGE_TRAIN_ENUMS
include "kedge/Dialect/Kedge/Word.td"

class Train_Enum<string name, string text, list<I32EnumCase> cases> : I32Enum<name, text, cases> {
  let cppNamespace = "::kedge::train";
}
/// An enumeration whose words are the names of its values.
class Train_Names<string name, string text, list<string> names>
    : Train_Enum<name, text, !foreach(k, !range(names), I32EnumCase<names[k], k>)>;

def Train_AttentionLayout : Train_Enum<"AttentionLayout", "the order of batch, heads, tokens and depth", [
  I32EnumCase<"BHTD", 0, "bhtd">, I32EnumCase<"BTHD", 1, "bthd">]>;
def Train_Epilogue : Train_Enum<"Epilogue", "what a product does to its sums", [
  I32EnumCase<"Gelu", 0, "gelu">, I32EnumCase<"GeluGrad", 1, "gelu_grad">, I32EnumCase<"SumsA", 2, "sums_a">,
  I32EnumCase<"SumsB", 3, "sums_b">]>;
def Train_RandomKind : Train_Enum<"RandomKind", "what random numbers are drawn from", [
  I32EnumCase<"Uniform", 0, "uniform">, I32EnumCase<"Normal", 1, "normal">]>;
def Train_CompandedRule : Train_Enum<"CompandedRule", "the optimizer of companded moments", [
  I32EnumCase<"AdamW", 0, "adamw">, I32EnumCase<"Adam", 1, "adam">, I32EnumCase<"Lion", 2, "lion">,
  I32EnumCase<"Momentum", 3, "momentum">]>;

/// Elementwise functions, or operands of one, that train.pointwise_grad knows.
def Train_PointwiseFunction : Train_Names<"PointwiseFunction", "a function to differentiate", [
  "Abs", "Reciprocal", "Sqrt", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh",
  "Atanh", "Max", "Min", "ClipLow", "ClipHigh", "PowConstant", "PowBase", "PowExponent", "Relu", "Sigmoid", "Tanh",
  "Softplus", "Softsign", "HardSwish", "Mish", "LeakyRelu", "Elu", "Celu", "Selu", "ThresholdedRelu", "HardSigmoid",
  "Shrink", "PRelu", "PReluSlope"]>;
def Train_ReduceFunction : Train_Names<"ReduceFunction", "a reduction to differentiate", [
  "Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]>;
#endif
