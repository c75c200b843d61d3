// Products and convolutions with what was fused into them.
#include "lib/Model/Microsoft/Parts.h"

namespace kedge::model {
namespace {

/// activation_params in ONNX's order: the slope, or the bounds.
std::string activated(Parts &parts, const std::string &x, const std::string &kind,
                      const std::vector<float> &numbers) {
  auto number = [&](size_t k, float otherwise) { return k < numbers.size() ? numbers[k] : otherwise; };
  if (kind.empty())
    return x;
  if (kind == "Relu" || kind == "Sigmoid" || kind == "Tanh" || kind == "HardSwish" || kind == "Softplus")
    return parts.make(kind, {x});
  if (kind == "LeakyRelu")
    return parts.make(kind, {x}, {Attribute::makeFloat("alpha", number(0, 0.01f))});
  if (kind == "HardSigmoid")
    return parts.make(
        kind, {x},
        {Attribute::makeFloat("alpha", number(0, 0.2f)), Attribute::makeFloat("beta", number(1, 0.5f))});
  if (kind == "Clip")
    return parts.make(kind,
                      {x, parts.numberLike(number(0, -3.4e38f), x), parts.numberLike(number(1, 3.4e38f), x)});
  parts.refuse(fmt::format("its activation '{}' is not supported", kind));
}

/// The batch axes of an operand before its rows: [rows, batch..., columns] to [batch..., rows, columns].
std::string batchFirst(Parts &parts, size_t k) {
  const auto rank = static_cast<int64_t>(parts.rankOf(k));
  std::vector<int64_t> order;
  for (int64_t axis = 1; axis + 1 < rank; ++axis)
    order.push_back(axis);
  order.push_back(0);
  order.push_back(rank - 1);
  return parts.make("Transpose", {parts.in(k)}, {Attribute::makeInts("perm", order)});
}

std::string operand(Parts &parts, size_t k, const char *transposes, const char *moves) {
  std::string x = parts.node.attrBool(moves, false) ? batchFirst(parts, k) : parts.in(k);
  return parts.node.attrBool(transposes, false) ? parts.transposedLast(x) : x;
}

std::string fusedProduct(Parts &parts) {
  const std::string a = operand(parts, 0, "transA", "transBatchA"),
                    b = operand(parts, 1, "transB", "transBatchB");
  const std::string product = parts.make("MatMul", {a, b});
  const float alpha = parts.node.attrFloat("alpha", 1);
  return alpha == 1 ? product : parts.make("Mul", {product, parts.numberLike(alpha, product)});
}

void fusedMatMul(Parts &parts) {
  parts.takesOnly(2, 1, {"alpha", "transA", "transB", "transBatchA", "transBatchB"});
  parts.give(0, fusedProduct(parts));
}

void fusedMatMulActivation(Parts &parts) {
  parts.takesOnly(2, 1,
                  {"activation", "activation_alpha", "activation_axis", "activation_beta", "activation_gamma",
                   "alpha", "transA", "transB", "transBatchA", "transBatchB"});
  std::vector<float> numbers;
  for (const char *name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (parts.node.has(name))
      numbers.push_back(parts.node.attrFloat(name));
  parts.give(0, activated(parts, fusedProduct(parts), parts.node.attrString("activation"), numbers));
}

void fusedGemm(Parts &parts) {
  parts.takesOnly(3, 1,
                  {"activation", "activation_alpha", "activation_beta", "activation_gamma", "alpha", "beta",
                   "transA", "transB"});
  Parts::Attributes own;
  for (const char *name : {"alpha", "beta", "transA", "transB"})
    if (const Attribute *given = parts.node.find(name))
      own.push_back(*given);
  std::vector<float> numbers;
  for (const char *name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (parts.node.has(name))
      numbers.push_back(parts.node.attrFloat(name));
  const std::string y = parts.make("Gemm", {parts.in(0), parts.in(1), parts.in(2)}, own);
  parts.give(0, activated(parts, y, parts.node.attrString("activation", ""), numbers));
}

/// The node's own attributes of a window.
Parts::Attributes windowOf(const Parts &parts) {
  Parts::Attributes own;
  for (const char *name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
    if (const Attribute *given = parts.node.find(name))
      own.push_back(*given);
  return own;
}

std::string convolution(Parts &parts, const std::string &x) {
  return parts.make("Conv", {x, parts.in(1), parts.in(2)}, windowOf(parts));
}

void fusedConv(Parts &parts) {
  parts.takesOnly(4, 1,
                  {"activation", "activation_params", "auto_pad", "dilations", "group", "kernel_shape",
                   "pads", "strides"});
  const std::string y = parts.addMaybe(convolution(parts, parts.in(0)), 3);
  parts.give(0, activated(parts, y, parts.node.attrString("activation", ""),
                          parts.node.attrFloats("activation_params")));
}

/// Of pictures [batch, height, width, channels].
void nhwcConv(Parts &parts) {
  parts.takesOnly(4, 1,
                  {"activation", "activation_params", "auto_pad", "dilations", "group", "kernel_shape",
                   "pads", "strides"});
  const std::string x = parts.make("Transpose", {parts.in(0)}, {Attribute::makeInts("perm", {0, 3, 1, 2})});
  std::string y =
      parts.make("Transpose", {convolution(parts, x)}, {Attribute::makeInts("perm", {0, 2, 3, 1})});
  y = parts.addMaybe(y, 3);
  parts.give(0, activated(parts, y, parts.node.attrString("activation", ""),
                          parts.node.attrFloats("activation_params")));
}

void nhwcMaxPool(Parts &parts) {
  parts.takesOnly(1, 1, {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
  Parts::Attributes own = windowOf(parts);
  if (const Attribute *given = parts.node.find("ceil_mode"))
    own.push_back(*given);
  const std::string x = parts.make("Transpose", {parts.in(0)}, {Attribute::makeInts("perm", {0, 3, 1, 2})});
  parts.give(0, parts.make("Transpose", {parts.make("MaxPool", {x}, own)},
                           {Attribute::makeInts("perm", {0, 2, 3, 1})}));
}

/// Distances of all pairs of rows.
void cDist(Parts &parts) {
  parts.takesOnly(2, 1, {"metric"});
  const std::string metric = parts.node.attrString("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean")
    parts.refuse(fmt::format("its metric '{}' is not supported", metric));
  const std::string a = parts.make("Unsqueeze", {parts.in(0), parts.ints({1})});
  const std::string b = parts.make("Unsqueeze", {parts.in(1), parts.ints({0})});
  const std::string squares = parts.make("ReduceSumSquare", {parts.make("Sub", {a, b}), parts.ints({2})},
                                         {Attribute::makeInt("keepdims", 0)});
  parts.give(0, metric == "euclidean" ? parts.make("Sqrt", {squares}) : squares);
}

} // namespace

void addProducts(LoweringTable &table) {
  table["FusedMatMul"] = fusedMatMul;
  table["TransposeMatMul"] = fusedMatMul;
  table["FusedMatMulActivation"] = fusedMatMulActivation;
  table["FusedGemm"] = fusedGemm;
  table["FusedConv"] = fusedConv;
  table["NhwcConv"] = nhwcConv;
  table["NhwcFusedConv"] = nhwcConv;
  table["NhwcMaxPool"] = nhwcMaxPool;
  table["CDist"] = cDist;
}

} // namespace kedge::model
