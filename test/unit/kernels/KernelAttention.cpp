#include "runtime/format/Philox.h"
#include "test/unit/kernels/KernelTest.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace kedge::rt::test {
namespace {

struct Case {
  int64_t batch, heads, kvHeads, queries, keys, depth, valueDepth;
  bool causal = false;
  int64_t offset = 0;
  double softcap = 0;
  Shape maskShape = {}; ///< of four dimensions, empty: none
  bool maskIsBool = false;
  double scale = 0; ///< 0: default
  float ratio = 0;
  int64_t rowSize = 1;                 ///< of the dropout
  std::optional<int64_t> left = {};    ///< keys before the query's own
  std::vector<int64_t> documents = {}; ///< borders, of each sample alike
  std::vector<float> sinks = {};
  std::vector<int64_t> places = {}; ///< of the first queries of equal runs

  bool sees(int64_t i, int64_t j) const {
    if (const int64_t run = places.empty() ? 0 : queries / static_cast<int64_t>(places.size()); run > 0)
      i = places[i / run] + i % run;
    auto document = [&](int64_t at) { return std::ranges::upper_bound(documents, at) - documents.begin(); };
    return !(causal && j > i + offset) && !(left && j < i - *left) && document(i) == document(j);
  }
};

constexpr uint64_t kSeed = (uint64_t(3) << 32) + 11, kStep = (uint64_t(1) << 32) + 5;
constexpr uint32_t kOpId = 9, kRowBase = 40;

/// Attention written down in double, with its gradient, on tensors [B,H,T,D].
struct Reference {
  Case c;
  std::vector<double> q, k, v, dO, o, lse, dQ, dK, dV;
  std::vector<double> mask;  // added; -inf hides
  std::vector<double> saved; // O as forward stored it, which gradients start from; empty: the exact one

  double scale() const { return c.scale != 0 ? c.scale : 1 / std::sqrt(double(c.depth)); }

  double maskAt(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (c.maskShape.empty())
      return 0;
    Shape at = {b, h, i, j};
    for (int d = 0; d < 4; ++d)
      at[d] = c.maskShape[d] == 1 ? 0 : at[d];
    return mask[flatten(c.maskShape, at)];
  }

  /// What the probability is multiplied by.
  double dropout(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (c.ratio == 0)
      return 1;
    int64_t element = ((b % c.rowSize * c.heads + h) * c.queries + i) * c.keys + j;
    PhiloxBlock words = randomBlock(kSeed, kOpId, kStep, static_cast<uint32_t>(kRowBase + b / c.rowSize),
                                    static_cast<uint32_t>(element / 4));
    return c.ratio < 1 && uniform(words[element % 4]) >= c.ratio ? 1 / (1 - double(c.ratio)) : 0;
  }

  void run() {
    o.assign(c.batch * c.heads * c.queries * c.valueDepth, 0);
    lse.assign(c.batch * c.heads * c.queries, -INFINITY);
    dQ.assign(q.size(), 0), dK.assign(k.size(), 0), dV.assign(v.size(), 0);
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < c.queries; ++i)
          row(b, h, i);
  }

  void row(int64_t b, int64_t h, int64_t i) {
    int64_t query = (b * c.heads + h) * c.queries + i, kv = b * c.kvHeads + h / (c.heads / c.kvHeads);
    const double *qRow = &q[query * c.depth], *dORow = &dO[query * c.valueDepth];
    std::vector<double> score(c.keys), factor(c.keys, 1), weight(c.keys);
    const double sink = c.sinks.empty() ? -INFINITY : c.sinks[h];
    double top = sink, sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      for (int64_t d = 0; d < c.depth; ++d)
        score[j] += qRow[d] * k[(kv * c.keys + j) * c.depth + d] * scale();
      if (c.softcap != 0) {
        double t = std::tanh(score[j] / c.softcap);
        score[j] = c.softcap * t, factor[j] = 1 - t * t;
      }
      score[j] += maskAt(b, h, i, j);
      if (!c.sees(i, j))
        score[j] = -INFINITY;
      top = std::max(top, score[j]);
    }
    if (top == -INFINITY)
      return;
    sum = std::exp(sink - top);
    for (int64_t j = 0; j < c.keys; ++j)
      sum += weight[j] = std::exp(score[j] - top);
    lse[query] = top + std::log(sum);
    double delta = 0;
    std::vector<double> dP(c.keys);
    for (int64_t j = 0; j < c.keys; ++j) {
      weight[j] /= sum;
      double kept = dropout(b, h, i, j);
      for (int64_t d = 0; d < c.valueDepth; ++d) {
        int64_t place = (kv * c.keys + j) * c.valueDepth + d;
        o[query * c.valueDepth + d] += kept * weight[j] * v[place];
        dP[j] += kept * dORow[d] * v[place];
        dV[place] += kept * weight[j] * dORow[d];
      }
      delta += weight[j] * dP[j];
    }
    if (!saved.empty()) {
      delta = 0;
      for (int64_t d = 0; d < c.valueDepth; ++d)
        delta += dORow[d] * saved[query * c.valueDepth + d];
    }
    for (int64_t j = 0; j < c.keys; ++j)
      for (int64_t d = 0; d < c.depth; ++d) {
        double dS = weight[j] * (dP[j] - delta) * factor[j] * scale();
        dQ[query * c.depth + d] += dS * k[(kv * c.keys + j) * c.depth + d];
        dK[(kv * c.keys + j) * c.depth + d] += dS * qRow[d];
      }
  }
};

json attributes(const Case &c) {
  json attrs = {{"softcap", c.softcap}};
  if (c.causal)
    attrs["visible"]["right"] = c.offset;
  if (c.left)
    attrs["visible"]["left"] = *c.left;
  if (c.scale != 0)
    attrs["scale"] = c.scale;
  if (c.ratio != 0)
    attrs["ratio"] = c.ratio, attrs["op_id"] = kOpId, attrs["row_size"] = c.rowSize;
  return attrs;
}

/// `attrs` with the list of operands: `first` ones, mask, random numbers.
json withOperands(json attrs, const Case &c, size_t first) {
  std::vector<bool> there(first, true);
  there.push_back(!c.maskShape.empty());
  there.insert(there.end(), c.ratio != 0 ? 3 : 1, c.ratio != 0);
  there.push_back(!c.documents.empty());
  there.push_back(!c.places.empty());
  there.push_back(first == 3 && !c.sinks.empty());
  attrs["operands"] = there;
  return attrs;
}

Array makeMask(const Case &c, Reference &reference) {
  int64_t count = c.maskShape[0] * c.maskShape[1] * c.maskShape[2] * c.maskShape[3];
  if (!c.maskIsBool) {
    Array mask = Array::random<float>(c.maskShape, 5);
    reference.mask = mask.doubles();
    return mask;
  }
  Array mask({DType::Bool, c.maskShape});
  for (int64_t i = 0; i < count; ++i) {
    mask.data<uint8_t>()[i] = i % 3 != 1 && i / c.maskShape[3] != 2; // one row of the mask sees nothing
    reference.mask.push_back(mask.data<uint8_t>()[i] ? 0 : -INFINITY);
  }
  return mask;
}

Array placesOf(const Case &c) {
  return Array::of<int64_t>({static_cast<int64_t>(c.places.size())}, c.places);
}

/// 0, the borders, then the end, for each sample.
Array bordersOf(const Case &c) {
  Array borders({DType::I64, {c.batch, c.queries + 1}});
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t k = 0; k <= c.queries; ++k)
      borders.data<int64_t>()[b * (c.queries + 1) + k] = k == 0 ? 0
                                                         : k <= static_cast<int64_t>(c.documents.size())
                                                             ? c.documents[k - 1]
                                                             : c.queries;
  return borders;
}

template <typename T> void check(const Case &c, double tolerance) {
  SCOPED_TRACE(::testing::Message() << "queries " << c.queries << " keys " << c.keys << " depth " << c.depth
                                    << " causal " << c.causal << " heads " << c.heads << "/" << c.kvHeads);
  DType type = dtypeOf<T>(), wide = type == DType::F64 ? DType::F64 : DType::F32;
  Array q = Array::random<T>({c.batch, c.heads, c.queries, c.depth}, 1);
  Array k = Array::random<T>({c.batch, c.kvHeads, c.keys, c.depth}, 2);
  Array v = Array::random<T>({c.batch, c.kvHeads, c.keys, c.valueDepth}, 3);
  Array dO = Array::random<T>({c.batch, c.heads, c.queries, c.valueDepth}, 4);
  Reference reference{c, q.doubles(), k.doubles(), v.doubles(), dO.doubles(), {}, {}, {}, {}, {}, {}, {}};
  std::vector<Array> inputs = {q, k, v};
  if (!c.maskShape.empty())
    inputs.push_back(makeMask(c, reference));
  if (c.ratio != 0)
    for (uint64_t counter : {kSeed, kStep, uint64_t(kRowBase)})
      inputs.push_back(Array::of<int64_t>({}, {static_cast<int64_t>(counter)}));
  if (!c.documents.empty())
    inputs.push_back(bordersOf(c));
  if (!c.places.empty())
    inputs.push_back(placesOf(c));
  std::vector<Array> others(inputs.begin() + 3, inputs.end());
  if (!c.sinks.empty())
    inputs.push_back(Array::of<float>({c.heads}, c.sinks));
  reference.run();
  auto forward = runKernel("train.attention", withOperands(attributes(c), c, 3), inputs,
                           {{type, dO.desc.shape}, {wide, {c.batch, c.heads, c.queries}}});
  expectNear(forward[0], reference.o, tolerance);
  expectNear(forward[1], reference.lse, tolerance); // statistics are fp32
  reference.saved = forward[0].doubles();
  reference.run();
  std::vector<Array> back = {dO, q, k, v, forward[0], forward[1]};
  back.insert(back.end(), others.begin(), others.end());
  auto gradients =
      runKernel("train.attention_grad", withOperands(attributes(c), c, 6), back, {q.desc, k.desc, v.desc});
  expectNear(gradients[0], reference.dQ, tolerance);
  expectNear(gradients[1], reference.dK, tolerance);
  expectNear(gradients[2], reference.dV, tolerance);
}

/// fp32, and 16 bits on the machine's own instructions.
void checkFloatAndHalf(const Case &c) {
  check<float>(c, 1e-5);
  check<BFloat16>(c, 1e-5);
  check<Float16>(c, 1e-5);
}

TEST(KernelAttention, PlainOddSizes) {
  for (Case c : {Case{1, 1, 1, 1, 1, 1, 1},
                 {2, 3, 3, 7, 5, 3, 4},
                 {1, 2, 2, 33, 70, 64, 64},
                 {1, 1, 1, 100, 300, 20, 45},
                 {1, 5, 5, 130, 129, 16, 8}})
    checkFloatAndHalf(c);
}

TEST(KernelAttention, Causal) {
  for (Case c : {Case{1, 2, 2, 1, 1, 4, 4, true},
                 {1, 2, 2, 70, 70, 64, 64, true},
                 {2, 1, 1, 300, 300, 24, 24, true},
                 {1, 1, 1, 40, 200, 8, 8, true, 160},
                 {1, 1, 1, 200, 40, 8, 8, true},
                 {1, 1, 1, 50, 50, 8, 8, true, -3}})
    checkFloatAndHalf(c);
}

/// Queries that see the keys near their own place, and those of their document.
TEST(KernelAttention, Windows) {
  for (Case c : {Case{1, 2, 1, 70, 70, 24, 24, true, 0},
                 {1, 1, 1, 330, 330, 4, 4, true, 5},
                 {1, 1, 1, 40, 200, 8, 8, true, 160},
                 {1, 1, 1, 200, 40, 8, 8}})
    for (int64_t left : {0, 33, 250}) {
      c.left = c.offset == 160 ? left - 160 : left;
      checkFloatAndHalf(c);
    }
  Case c{1, 1, 1, 50, 50, 8, 8, true, -3};
  c.left = 11;
  checkFloatAndHalf(c);
  c.offset = 20, c.left = -4; // keys behind the query
  checkFloatAndHalf(c);
}

/// Queries of a rank: in a row, or in two runs.
TEST(KernelAttention, Places) {
  for (Case c : {Case{1, 2, 1, 35, 140, 24, 24, true},
                 {2, 1, 1, 96, 384, 8, 8, true},
                 {1, 1, 1, 40, 200, 8, 8, true, -3}})
    for (const std::vector<int64_t> &places : {std::vector<int64_t>{0}, {c.queries}, {c.keys - c.queries}}) {
      c.places = places;
      checkFloatAndHalf(c);
      c.left = 50;
      checkFloatAndHalf(c);
      c.left = {};
    }
  Case c{1, 2, 2, 96, 384, 8, 8, true};
  for (const std::vector<int64_t> &places : {std::vector<int64_t>{0, 336}, {48, 288}, {144, 192}}) {
    c.places = places;
    checkFloatAndHalf(c);
    c.left = 70, c.sinks = {0.5f, -1};
    checkFloatAndHalf(c);
    c.left = {}, c.sinks = {};
  }
}

TEST(KernelAttention, DocumentsAndSinks) {
  Case c{1, 4, 2, 130, 130, 8, 6, true};
  c.documents = {17, 18, 60, 111};
  checkFloatAndHalf(c);
  c.left = 30, c.softcap = 0.9;
  checkFloatAndHalf(c);
  c.sinks = {0.5f, -1, 2, 0};
  checkFloatAndHalf(c);
  c.causal = false, c.left = {}, c.ratio = 0.3f, c.maskShape = {1, 1, 1, 130}, c.maskIsBool = true;
  checkFloatAndHalf(c);
  check<double>(c, 1e-13);
  c = {1, 2, 2, 40, 40, 8, 8, true, -5}; // the first queries see the sink alone
  c.sinks = {0.5f, -1};
  checkFloatAndHalf(c);
}

/// What is hidden by places has the bits of what a mask hides, forward and backward.
template <typename T> void expectBitsOfMask(const Case &c) {
  DType type = dtypeOf<T>();
  Array q = Array::random<T>({c.batch, c.heads, c.queries, c.depth}, 1),
        k = Array::random<T>({c.batch, c.kvHeads, c.keys, c.depth}, 2),
        v = Array::random<T>({c.batch, c.kvHeads, c.keys, c.valueDepth}, 3),
        dO = Array::random<T>({c.batch, c.heads, c.queries, c.valueDepth}, 4);
  Array mask({DType::Bool, {c.queries, c.keys}});
  for (int64_t at = 0; at < c.queries * c.keys; ++at)
    mask.data<uint8_t>()[at] = c.sees(at / c.keys, at % c.keys);
  auto run = [&](bool asMask) {
    Case plain = c;
    if (asMask)
      plain.causal = false, plain.left = {}, plain.documents = {}, plain.places = {},
      plain.maskShape = {1, 1, c.queries, c.keys};
    std::vector<Array> more;
    if (asMask)
      more.push_back(mask);
    else if (!c.documents.empty())
      more.push_back(bordersOf(c));
    else if (!c.places.empty())
      more.push_back(placesOf(c));
    std::vector<Array> inputs = {q, k, v};
    inputs.insert(inputs.end(), more.begin(), more.end());
    auto results = runKernel("train.attention", withOperands(attributes(plain), plain, 3), inputs,
                             {{type, dO.desc.shape}, {DType::F32, {c.batch, c.heads, c.queries}}});
    std::vector<Array> back = {dO, q, k, v, results[0], results[1]};
    back.insert(back.end(), more.begin(), more.end());
    for (Array &gradient : runKernel("train.attention_grad", withOperands(attributes(plain), plain, 6), back,
                                     {q.desc, k.desc, v.desc}))
      results.push_back(gradient);
    return results;
  };
  auto places = run(false), masked = run(true);
  for (size_t i = 0; i < places.size(); ++i)
    expectNear(places[i], masked[i].doubles(), 0);
}

TEST(KernelAttention, PlacesHaveTheBitsOfAMask) {
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    Case c{1, 2, 1, 410, 410, 8, 8, true};
    for (auto [left, offset] : {std::pair{410, 0}, {410, 61}, {37, 0}, {255, 3}}) {
      c.left = left, c.offset = offset;
      expectBitsOfMask<float>(c), expectBitsOfMask<BFloat16>(c), expectBitsOfMask<Float16>(c);
    }
    c.offset = 0, c.left = {}, c.documents = {1, 100, 339, 400};
    expectBitsOfMask<float>(c), expectBitsOfMask<BFloat16>(c), expectBitsOfMask<Float16>(c);
  }
  Case c{1, 2, 1, 120, 480, 24, 24, true};
  for (const std::vector<int64_t> &places : {std::vector<int64_t>{240}, {60, 360}}) {
    c.places = places;
    expectBitsOfMask<float>(c), expectBitsOfMask<BFloat16>(c), expectBitsOfMask<Float16>(c);
  }
}

TEST(KernelAttention, GroupedHeadsSoftcapAndScale) {
  Case c{2, 6, 2, 45, 77, 16, 12, true, 10};
  checkFloatAndHalf(c);
  c.softcap = 0.7, c.scale = 0.9;
  checkFloatAndHalf(c);
  check<double>(c, 1e-13);
}

TEST(KernelAttention, Masks) {
  Case c{2, 3, 3, 20, 50, 16, 16};
  for (Shape shape : {Shape{2, 3, 20, 50}, {1, 1, 20, 50}, {2, 1, 1, 50}, {1, 3, 20, 1}})
    for (bool isBool : {false, true}) {
      c.maskShape = shape, c.maskIsBool = isBool;
      checkFloatAndHalf(c);
    }
  c.causal = true;
  checkFloatAndHalf(c);
}

/// The masks are those of Philox.h whatever blocks, panels and lanes the kernels work in.
TEST(KernelAttention, Dropout) {
  Case c{4, 2, 2, 33, 70, 16, 8};
  c.ratio = 0.3f;
  for (int64_t keys : {1, 3, 64, 70, 253, 512}) {
    c.keys = keys;
    checkFloatAndHalf(c);
  }
  c.rowSize = 2, c.kvHeads = 1, c.keys = 131, c.queries = 120;
  c.causal = true, c.offset = 11;
  checkFloatAndHalf(c);
  c.softcap = 0.7, c.maskShape = {4, 1, 1, 131}, c.maskIsBool = true;
  checkFloatAndHalf(c);
  check<double>(c, 1e-13);
  check<Float16>(c, 1e-5);
}

TEST(KernelAttention, DropoutOfAllAndItsErrors) {
  Case c{1, 1, 1, 5, 6, 4, 4};
  c.ratio = 1;
  check<float>(c, 1e-6);
  Array x = Array::random<float>({1, 1, 5, 4}, 1), sums({DType::F32, {1, 1, 5}});
  std::string error = errorOf("train.attention", {{"ratio", 0.5}}, {x, x, x}, {x.desc, sums.desc});
  EXPECT_NE(error.find("ratio 0.5 without seed, step and row_base"), std::string::npos) << error;
}

TEST(KernelAttention, OtherTypesAndEmptyDimensions) {
  Case c{1, 2, 2, 30, 40, 16, 16};
  check<double>(c, 1e-13);
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    checkFloatAndHalf(c);
    check<Float16>(c, 1e-5);
  }
  for (Case empty : {Case{0, 2, 2, 3, 3, 4, 4}, {1, 2, 2, 0, 3, 4, 4}, {1, 2, 2, 3, 0, 4, 4}})
    check<float>(empty, 0), check<BFloat16>(empty, 0);
}

/// Packed QKV, [B,T,C] and bthd operands give the numbers of [B,H,T,D] ones.
TEST(KernelAttention, LayoutsAgree) {
  constexpr int64_t B = 2, T = 37, H = 3, D = 8;
  Array qkv = Array::random<float>({B, T, 3 * H * D}, 1), dO = Array::random<float>({B, T, H * D}, 2);
  std::vector<Array> split =
      runKernel("onnx.Split", {{"axis", 2}}, {qkv}, std::vector<TensorDesc>(3, dO.desc));
  json heads = {{"q_num_heads", H}, {"kv_num_heads", H}, {"visible", {{"right", 0}}}};
  TensorDesc lse{DType::F32, {B, H, T}};
  auto fromRows = runKernel("train.attention", heads, split, {dO.desc, lse});
  auto rowGradients =
      runKernel("train.attention_grad", heads, {dO, split[0], split[1], split[2], fromRows[0], fromRows[1]},
                std::vector<TensorDesc>(3, dO.desc));
  json packed = heads;
  packed["packed"] = true;
  auto fromPacked = runKernel("train.attention", packed, {qkv}, {dO.desc, lse});
  expectNear(fromPacked[0], fromRows[0].doubles(), 0);
  Array packedGradient =
      runKernel1("train.attention_grad", packed, {dO, qkv, fromPacked[0], fromPacked[1]}, qkv.desc);
  expectNear(packedGradient, runKernel1("onnx.Concat", {{"axis", 2}}, rowGradients, qkv.desc).doubles(), 0);
  json bthd = {{"q_layout", "bthd"},
               {"k_layout", "bthd"},
               {"v_layout", "bhtd"},
               {"o_layout", "bthd"},
               {"visible", {{"right", 0}}}};
  for (Array &operand : split)
    operand.desc.shape = {B, T, H, D};
  Array v = runKernel1("onnx.Transpose", {{"perm", {0, 2, 1, 3}}}, {split[2]}, {DType::F32, {B, H, T, D}});
  auto fromBthd =
      runKernel("train.attention", bthd, {split[0], split[1], v}, {{DType::F32, {B, T, H, D}}, lse});
  expectNear(fromBthd[0], fromRows[0].doubles(), 0);
}

TEST(KernelAttention, LargeScoresDoNotOverflow) {
  Array q = Array::of<float>({1, 1, 2, 1}, {300, -300}), k = Array::of<float>({1, 1, 3, 1}, {300, 299, -300});
  Array v = Array::of<float>({1, 1, 3, 1}, {1, 2, 3});
  auto out = runKernel("train.attention", {}, {q, k, v}, {q.desc, {DType::F32, {1, 1, 2}}});
  expectNear(out[0], {1, 3}, 1e-6);
  expectNear(out[1], {90000, 90000}, 1e-6);
}

} // namespace
} // namespace kedge::rt::test
