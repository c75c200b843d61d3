// How many inputs the operators of the default domain take, and which of them a node may leave out.
#include "lib/Model/ModelCheck.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace kedge::model {
namespace {

/// One letter an input: r required, o optional, v one or more of them.
struct Signature {
  int64_t since; ///< 0: in all opsets that are read, or until a later row
  const char *inputs;
  const char *operators;
};

// Resize's roi is required in opset 11; exporters leave it out where it is not used, and so may a node here.
constexpr Signature kSignatures[] = {
    {0, "", "Constant RandomNormal RandomUniform SequenceEmpty"},
    {0, "o", "Optional"},
    {0, "r",
     "Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Bernoulli BitCast BitwiseNot "
     "BlackmanWindow Cast Ceil Celu Clip ConcatFromSequence ConstantOfShape Cos Cosh DepthToSpace Det "
     "Dropout DynamicQuantizeLinear Elu Erf Exp EyeLike Flatten Floor Gelu GlobalAveragePool GlobalLpPool "
     "GlobalMaxPool HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If ImageDecoder IsInf "
     "IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization LpPool MaxPool MeanVarianceNormalization Mish "
     "Multinomial Neg NonZero Not OptionalGetElement OptionalHasElement Pad RandomNormalLike "
     "RandomUniformLike Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
     "ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Round Selu SequenceLength Shape "
     "Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze "
     "StringNormalizer StringSplit Swish Tan Tanh TfIdfVectorizer ThresholdedRelu TopK Transpose Unique "
     "Unsqueeze Upsample"},
    {0, "v", "Concat Einsum Max Mean Min SequenceConstruct Sum"},
    {0, "ov", "Scan"},
    {0, "ro", "DFT SequenceErase SplitToSequence Trilu"},
    {0, "rr",
     "Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CenterCropPad Compress CumProd "
     "CumSum Div Equal Expand Gather GatherElements GatherND Greater GreaterOrEqual GridSample Less "
     "LessOrEqual MatMul MaxRoiPool Mod Mul Or PRelu Pow RMSNormalization Reshape Resize ReverseSequence "
     "SequenceAt StringConcat Sub SwiGLU Tile Xor"},
    {0, "rv", "SequenceMap"},
    {0, "oov", "Loop"},
    {0, "rro",
     "Conv ConvTranspose DequantizeLinear LayerNormalization MaxUnpool NegativeLogLikelihoodLoss "
     "QuantizeLinear SequenceInsert SoftmaxCrossEntropyLoss TensorScatter"},
    {0, "rrr",
     "Col2Im Gemm GroupNormalization InstanceNormalization OneHot Range RoiAlign Scatter ScatterElements "
     "ScatterND Where"},
    {0, "rroo", "CausalConvWithState ConvInteger MatMulInteger STFT"},
    {0, "rrro", "RotaryEmbedding"},
    {0, "rrooo", "NonMaxSuppression"},
    {0, "rrroo", "DeformConv"},
    {0, "rrrrr", "BatchNormalization MelWeightMatrix"},
    {0, "rrrooo", "Attention GRU LinearAttention RNN"},
    {0, "rrrooooo", "LSTM"},
    {0, "rrrrrrrr", "QLinearMatMul"},
    {0, "rrrrrrrro", "QLinearConv"},
    {9, "v", "Scan"},
    {9, "rr", "Upsample"},
    {10, "rr", "TopK"},
    {10, "rrroo", "Slice"},
    {11, "roo", "Clip"},
    {11, "rro", "Gemm Pad"},
    {11, "rooo", "Resize"},
    {12, "roo", "Dropout"},
    {13, "ro", "ReduceSum Split Squeeze"},
    {13, "rr", "Unsqueeze"},
    {18, "o", "OptionalHasElement"},
    {18, "ro",
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
     "ReduceSumSquare"},
    {18, "rroo", "Pad"},
    {20, "roo", "DFT"},
    {24, "rrroooo", "Attention"},
};

using Table = std::unordered_map<std::string, std::vector<const Signature *>>;

const Table &table() {
  static const Table all = [] {
    Table result;
    for (const Signature &signature : kSignatures) {
      std::istringstream names(signature.operators);
      for (std::string name; names >> name;)
        result[name].push_back(&signature); // rows are in the order of opsets
    }
    return result;
  }();
  return all;
}

const Signature *signatureOf(const Node &node) {
  const auto rows = table().find(node.opType);
  if (!node.domain.empty() || rows == table().end())
    return nullptr;
  const Signature *found = nullptr;
  for (const Signature *row : rows->second)
    found = row->since <= node.opset ? row : found;
  return found;
}

char kindOf(const std::string &inputs, size_t k) {
  return k < inputs.size() ? inputs[k] : !inputs.empty() && inputs.back() == 'v' ? 'v' : 0;
}

std::string takes(const std::string &inputs) {
  const auto required = std::count(inputs.begin(), inputs.end(), 'r') + (inputs == "v");
  if (!inputs.empty() && inputs.back() == 'v')
    return fmt::format("{} or more", required);
  const auto all = static_cast<ptrdiff_t>(inputs.size());
  return required == all ? fmt::format("{}", all) : fmt::format("{} to {}", required, all);
}

} // namespace

void checkInputs(const Model &model, const Node &node) {
  const Signature *signature = signatureOf(node);
  if (!signature)
    return;
  const std::string inputs = signature->inputs;
  const size_t count = std::max<size_t>(node.inputs.size(), inputs == "v" ? 1 : inputs.find_last_of('r') + 1);
  for (size_t k = 0; k < count; ++k) {
    const char kind = kindOf(inputs, k);
    if (kind == 0 && node.hasInput(k))
      fail("{}: {} has {} inputs; {} of opset {} takes {}. Export the model again", model.path,
           node.describe(), k + 1, node.opType, node.opset, takes(inputs));
    if ((kind == 'r' || kind == 'v') && !node.hasInput(k))
      fail("{}: {}: input {} is missing; {} of opset {} takes {}. Export the model again", model.path,
           node.describe(), k, node.opType, node.opset, takes(inputs));
  }
}

} // namespace kedge::model
