// Mixtures of experts: each token's own matrices, gathered. On targets with grouped products
// kedge-raise-experts makes these of them, and no matrix is copied.
#include "lib/Model/Microsoft/Parts.h"
#include "lib/Model/Microsoft/Quantised.h"
#include "lib/Model/Specialize.h"

namespace kedge::model {
namespace {

/// Which inputs have what, of MoE or QMoE.
struct Layer {
  size_t weight, bias;
  size_t scales = 0, points = 0; ///< of QMoE
};

/// The places of tokens [T, S], with the weights of their experts.
struct Places {
  std::string experts, weights;
};

/// Softmax of all scores, or of those chosen: dividing by their sum is the same.
Places routed(Parts &parts, size_t weightsInput) {
  const bool isNormalised = parts.node.attrBool("normalize_routing_weights", false);
  const std::string count = parts.ints({parts.node.attrInt("k", 1)});
  const bool hasOwn = weightsInput != 0 && parts.has(weightsInput);
  const bool isOfChosen = !hasOwn && (isNormalised || weightsInput != 0);
  const auto last = [] { return Parts::Attributes{Attribute::makeInt("axis", -1)}; };
  const std::string scores =
      hasOwn || isOfChosen ? parts.in(1) : parts.make("Softmax", {parts.in(1)}, last());
  const Parts::Values top = parts.makeSeveral("TopK", 2, {scores, count}, last());
  std::string weights = top[0];
  if (hasOwn)
    weights = parts.make("GatherElements", {parts.in(weightsInput), top[1]}, last());
  if (hasOwn && isNormalised)
    weights = parts.make("Div", {weights, parts.make("ReduceSum", {weights, parts.ints({-1})})});
  if (isOfChosen)
    weights = parts.make("Softmax", {weights}, last());
  return {top[1], weights};
}

/// y[t, s] = W[experts[t, s]] x[t, s], with W [E, N, K] and x [T, S or 1, K].
std::string product(Parts &parts, const std::string &x, const std::string &weight, const Layer &layer,
                    const std::string &experts) {
  const std::string matrices = parts.make("Gather", {weight, experts});
  const std::string column = parts.make("Unsqueeze", {x, parts.ints({3})});
  const std::string y = parts.make("Squeeze", {parts.make("MatMul", {matrices, column}), parts.ints({3})});
  return parts.has(layer.bias) ? parts.make("Add", {y, parts.make("Gather", {parts.in(layer.bias), experts})})
                               : y;
}

/// Every second number of the last dimension.
std::string second(Parts &parts, const std::string &x, int64_t start) {
  constexpr int64_t toTheEnd = std::numeric_limits<int64_t>::max();
  return parts.make("Slice",
                    {x, parts.ints({start}), parts.ints({toTheEnd}), parts.ints({-1}), parts.ints({2})});
}

std::string swiglu(Parts &parts, std::string gate, std::string up) {
  if (parts.node.has("swiglu_limit")) {
    const float limit = parts.node.attrFloat("swiglu_limit");
    const std::string most = parts.numberLike(limit, gate);
    gate = parts.make("Min", {gate, most});
    up = parts.make("Clip", {up, parts.numberLike(-limit, up), most});
  }
  const float shift = parts.node.attrFloat("activation_beta", 0);
  if (shift != 0)
    up = parts.make("Add", {up, parts.numberLike(shift, up)});
  const float slope = parts.node.attrFloat("activation_alpha", 1);
  return parts.make("Mul", {parts.make("Swish", {gate}, {Attribute::makeFloat("alpha", slope)}), up});
}

/// The two halves of what the first product gave, as they lie in it.
std::string fusedSwiglu(Parts &parts, const std::string &both, int64_t form) {
  if (form == 1)
    return swiglu(parts, second(parts, both, 0), second(parts, both, 1));
  const Parts::Values halves = parts.makeSeveral(
      "Split", 2, {both}, {Attribute::makeInt("axis", -1), Attribute::makeInt("num_outputs", 2)});
  return swiglu(parts, halves[0], halves[1]);
}

std::string activated(Parts &parts, const std::string &kind, const std::string &x) {
  if (kind == "identity")
    return x;
  if (kind == "relu")
    return parts.make("Relu", {x});
  if (kind == "gelu")
    return parts.make("Gelu", {x}, {Attribute::makeString("approximate", "tanh")});
  if (kind == "silu")
    return parts.make("Swish", {x}, {Attribute::makeFloat("alpha", 1)});
  parts.refuse(fmt::format("its activation_type '{}' is not supported", kind));
}

/// [E, N, K] of each layer; there may be no third one.
struct Experts {
  Layer first, second, third;
  std::string weights[3];
  size_t routerWeights = 0; ///< the input of QMoE
};

/// The second layer has the sizes of the first: older files have them in another order.
void checkSizes(Parts &parts, const std::vector<int64_t> &up, const std::vector<int64_t> &down,
                bool isFused) {
  if (up.size() != 3 || down.size() != 3 || up[0] != down[0] || up[2] != down[1] ||
      up[1] != down[2] * (isFused ? 2 : 1))
    parts.refuse(fmt::format("its experts' weights [{}] and [{}] are not [experts, outputs, inputs]",
                             fmt::join(up, ", "), fmt::join(down, ", ")));
}

void mixture(Parts &parts, const Experts &of) {
  const std::string kind = parts.node.attrString("activation_type", "relu");
  const bool hasThird = parts.has(of.third.weight);
  const int64_t fusion = parts.node.attrInt("swiglu_fusion", 0);
  const bool isFused = kind == "swiglu" && fusion != 0;
  if (isFused == hasThird && kind == "swiglu")
    parts.refuse(
        fmt::format("its swiglu_fusion is {}, {} a third weight", fusion, hasThird ? "with" : "without"));
  const Places places = routed(parts, of.routerWeights);
  const std::string rows = parts.make("Flatten", {parts.in(0)}, {Attribute::makeInt("axis", -1)});
  const std::string x = parts.make("Unsqueeze", {rows, parts.ints({1})});
  std::string inner = product(parts, x, of.weights[0], of.first, places.experts);
  if (isFused)
    inner = fusedSwiglu(parts, inner, fusion);
  else if (kind == "swiglu")
    inner = swiglu(parts, inner, product(parts, x, of.weights[2], of.third, places.experts));
  else
    inner = activated(parts, kind, inner);
  if (kind != "swiglu" && hasThird)
    inner = parts.make("Mul", {inner, product(parts, x, of.weights[2], of.third, places.experts)});
  const std::string out = product(parts, inner, of.weights[1], of.second, places.experts);
  const std::string share = parts.make("Unsqueeze", {places.weights, parts.ints({2})});
  const std::string sum = parts.make("ReduceSum", {parts.make("Mul", {out, share}), parts.ints({1})},
                                     {Attribute::makeInt("keepdims", 0)});
  parts.give(0, parts.make("Reshape", {sum, parts.make("Shape", {parts.in(0)})}));
}

void refuseOtherForms(const Parts &parts) {
  if (parts.node.attrBool("use_sparse_mixer", false))
    parts.refuse("its attribute use_sparse_mixer is not supported");
  if (parts.node.attrBool("swiglu_limit_after_activation", false))
    parts.refuse("its attribute swiglu_limit_after_activation is not supported");
}

bool isFusedSwiglu(const Parts &parts) {
  return parts.node.attrString("activation_type", "relu") == "swiglu" &&
         parts.node.attrInt("swiglu_fusion", 0) != 0;
}

void moe(Parts &parts) {
  parts.takesOnly(8, 1,
                  {"activation_alpha", "activation_beta", "activation_type", "k", "normalize_routing_weights",
                   "swiglu_fusion", "swiglu_limit", "swiglu_limit_after_activation", "use_sparse_mixer"});
  refuseOtherForms(parts);
  const Tensor *up = parts.around.initializer(parts.in(2)), *down = parts.around.initializer(parts.in(4));
  if (up && down)
    checkSizes(parts, up->dims, down->dims, isFusedSwiglu(parts));
  mixture(parts, {{2, 3}, {4, 5}, {6, 7}, {parts.in(2), parts.in(4), parts.has(6) ? parts.in(6) : ""}});
}

/// Of rows with one scale each, those of an expert lie close together.
ZeroPoints pointsOf(Parts &parts, size_t k, const CodeBlocks &blocks, int64_t rowsOfExpert) {
  if (blocks.blocks != 1 || !parts.has(k) || constant(parts, k).dims.size() == 3)
    return zeroPoints(parts, k, blocks);
  if (rowsOfExpert * blocks.bits % 8 != 0)
    parts.refuse("zero points of experts that end within a byte are not supported");
  return {retyped(parts, constant(parts, k), blocks.type, {blocks.rows, 1}), {}};
}

/// What is told of one layer's codes, [E, N, packed K]: scales for each row, or for each block of it.
std::string unpacked(Parts &parts, const Layer &layer, size_t number, std::vector<int64_t> &dims) {
  const Tensor &codes = constant(parts, layer.weight), &scales = constant(parts, layer.scales);
  const std::string own = fmt::format("fc{}_expert_weight_bits", number);
  const int64_t bits = parts.node.attrInt(own, parts.node.attrInt("expert_weight_bits", 4));
  const auto type = codesOf(bits);
  if (!type || codes.dtype != ElementType::UInt8 || codes.dims.size() != 3)
    parts.refuse(fmt::format("codes of {} bits in {} are not supported", bits, codes.describe()));
  dims = {codes.dims[0], codes.dims[1], codes.dims[2] * 8 / bits};
  const int64_t given = parts.node.attrInt("block_size", 0), size = given > 0 ? given : dims[2];
  const CodeBlocks blocks = {*type, bits, dims[0] * dims[1], (dims[2] + size - 1) / size, size};
  if (blocks.blocks * size != dims[2] || scales.numElements() != blocks.rows * blocks.blocks)
    parts.refuse(fmt::format("{} and {} do not fit blocks of {}", codes.describe(), scales.describe(), size));
  const std::string rows = retyped(parts, codes, *type, {blocks.rows, dims[2]});
  const std::string magnitudes = retyped(parts, scales, scales.dtype, {blocks.rows, blocks.blocks});
  const std::string weight =
      dequantized(parts, rows, magnitudes, pointsOf(parts, layer.points, blocks, dims[1]), 1, size);
  return parts.make("Reshape", {weight, parts.ints(dims)});
}

void qMoe(Parts &parts) {
  parts.takesOnly(15, 1,
                  {"accuracy_level", "activation_alpha", "activation_beta", "activation_type", "block_size",
                   "expert_weight_bits", "fc1_expert_weight_bits", "fc2_expert_weight_bits",
                   "fc3_expert_weight_bits", "k", "normalize_routing_weights", "quant_type", "swiglu_fusion",
                   "swiglu_limit", "swiglu_limit_after_activation", "use_sparse_mixer", "weights_prepacked"});
  refuseOtherForms(parts);
  if (const std::string kind = parts.node.attrString("quant_type", "int"); kind != "int")
    parts.refuse(fmt::format("its quant_type '{}' is not supported", kind));
  if (parts.node.attrInt("weights_prepacked", 0) > 0)
    parts.refuse("weights in the order of a device (weights_prepacked) are not supported");
  Experts of{{2, 4, 3, 11}, {5, 7, 6, 12}, {8, 10, 9, 13}, {}, 14};
  std::vector<int64_t> up, down, third;
  of.weights[0] = unpacked(parts, of.first, 1, up);
  of.weights[1] = unpacked(parts, of.second, 2, down);
  checkSizes(parts, up, down, isFusedSwiglu(parts));
  if (parts.has(of.third.weight))
    of.weights[2] = unpacked(parts, of.third, 3, third);
  mixture(parts, of);
}

} // namespace

void addExperts(LoweringTable &table) {
  table["MoE"] = moe;
  table["QMoE"] = qMoe;
}

} // namespace kedge::model
