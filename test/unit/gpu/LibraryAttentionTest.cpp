#include "test/unit/gpu/LibraryCase.h"
#include <cmath>
#include <gtest/gtest.h>
#include <tuple>

using namespace kedge::test;

namespace {

struct Attention {
  int64_t batch, queryHeads, keyHeads, queries, keys, depth, valueDepth;
  bool causal = false;
  int64_t causalOffset = 0, left = -1000; ///< a bound above -1000
  std::string mask = {};                  ///< type
  std::string layout = "bthd";
  double softcap = 0, ratio = 0;
  std::string type = "f32";

  std::string tensor(int64_t heads, int64_t length, int64_t depth) const {
    auto number = [](int64_t n) { return std::to_string(n) + "x"; };
    std::string middle = layout == "bthd" ? number(length) + number(heads) : number(heads) + number(length);
    return "tensor<" + number(batch) + middle + number(depth) + type + ">";
  }
  /// `tensors`: operands that are always there, besides mask and counters.
  std::string attrs(int tensors) const {
    auto number = [](auto n) { return std::to_string(n); };
    std::string text = "{scale = " + number(1 / std::sqrt(static_cast<double>(depth))) +
                       " : f64, softcap = " + number(softcap) + " : f64";
    const std::string before = left > -1000 ? "left = " + number(left) + " : i64" : "",
                      behind = causal ? "right = " + number(causalOffset) + " : i64" : "";
    if (!before.empty() || !behind.empty())
      text += ", visible = {" + before + (before.empty() || behind.empty() ? "" : ", ") + behind + "}";
    for (const char *operand : {"q", "k", "v", "o"})
      text += ", " + std::string(operand) + "_layout = \"" + layout + "\"";
    if (ratio > 0) {
      text += ", ratio = " + number(ratio) +
              " : f32, op_id = 77 : i64, row_size = 1 : i64, operands = array<i1: ";
      for (int i = 0; i < tensors; ++i)
        text += "true, ";
      text += std::string(mask.empty() ? "false" : "true") + ", true, true, true>";
    }
    return text + "} : (";
  }
  std::string optional() const {
    return (mask.empty() ? "" : ", " + mask) + (ratio > 0 ? ", tensor<i64>, tensor<i64>, tensor<i64>" : "");
  }

  std::string queryTensor() const { return tensor(queryHeads, queries, depth); }
  std::string resultTensor() const { return tensor(queryHeads, queries, valueDepth); }
  std::string operands() const {
    return queryTensor() + ", " + tensor(keyHeads, keys, depth) + ", " + tensor(keyHeads, keys, valueDepth);
  }
  std::string sums() const {
    return "tensor<" + std::to_string(batch) + "x" + std::to_string(queryHeads) + "x" +
           std::to_string(queries) + "xf32>";
  }
  std::string forward() const {
    return "train.attention " + attrs(3) + operands() + optional() + ") -> (" + resultTensor() + ", " +
           sums() + ")";
  }
  std::string backward() const {
    return "train.attention_grad " + attrs(6) + resultTensor() + ", " + operands() + ", " + resultTensor() +
           ", " + sums() + optional() + ") -> (" + operands() + ")";
  }
  /// Weights of 16 bits, and gradients of scores, are rounded before they are multiplied. The gradients'
  /// weights belong to a random LSE: dozens of them are larger than 1.
  double rounding() const { return type == "bf16" ? 0x1p-7 : type == "f16" ? 0x1p-10 : 0; }
  void check() const {
    expectSameAsCpu(forward(), {-5, 1000, 2e-5 + rounding()});
    double largest = mask.find('f') == std::string::npos ? 4 : 11; // a mask of floats makes them larger still
    expectSameAsCpu(backward(), {-5, 1000, 2e-5 + largest / (1 - ratio) * rounding()});
  }
};

} // namespace

TEST(GpuAttention, Causal) {
  Attention{.batch = 2,
            .queryHeads = 4,
            .keyHeads = 4,
            .queries = 32,
            .keys = 32,
            .depth = 12,
            .valueDepth = 12,
            .causal = true}
      .check();
  Attention{.batch = 1,
            .queryHeads = 1,
            .keyHeads = 1,
            .queries = 37,
            .keys = 40,
            .depth = 24,
            .valueDepth = 80,
            .causal = true,
            .causalOffset = -3,
            .softcap = 2}
      .check();
}

TEST(GpuAttention, SharedKeyHeads) {
  Attention{.batch = 1,
            .queryHeads = 4,
            .keyHeads = 2,
            .queries = 70,
            .keys = 45,
            .depth = 64,
            .valueDepth = 64,
            .causal = true,
            .causalOffset = 5,
            .layout = "bhtd"}
      .check();
}

TEST(GpuAttention, Masks) {
  Attention{.batch = 2,
            .queryHeads = 2,
            .keyHeads = 2,
            .queries = 17,
            .keys = 17,
            .depth = 12,
            .valueDepth = 12,
            .mask = "tensor<2x1x1x17xf32>"}
      .check();
  Attention{.batch = 1,
            .queryHeads = 2,
            .keyHeads = 2,
            .queries = 20,
            .keys = 33,
            .depth = 9,
            .valueDepth = 14,
            .mask = "tensor<1x2x20x33xi1>",
            .layout = "bhtd"}
      .check();
}

TEST(GpuAttention, DeepHeads) {
  Attention{.batch = 1,
            .queryHeads = 2,
            .keyHeads = 1,
            .queries = 40,
            .keys = 37,
            .depth = 128,
            .valueDepth = 128,
            .causal = true}
      .check();
  Attention{.batch = 1,
            .queryHeads = 1,
            .keyHeads = 1,
            .queries = 20,
            .keys = 18,
            .depth = 256,
            .valueDepth = 256,
            .layout = "bhtd"}
      .check();
}

TEST(GpuAttention, Dropout) {
  Attention{.batch = 2,
            .queryHeads = 2,
            .keyHeads = 2,
            .queries = 37,
            .keys = 40,
            .depth = 12,
            .valueDepth = 12,
            .causal = true,
            .ratio = 0.2}
      .check();
  // Lines that begin within a block of random numbers.
  Attention{.batch = 2,
            .queryHeads = 4,
            .keyHeads = 2,
            .queries = 17,
            .keys = 17,
            .depth = 64,
            .valueDepth = 64,
            .mask = "tensor<2x1x1x17xf32>",
            .ratio = 0.5}
      .check();
  Attention{.batch = 1,
            .queryHeads = 1,
            .keyHeads = 1,
            .queries = 20,
            .keys = 36,
            .depth = 128,
            .valueDepth = 128,
            .softcap = 1.5,
            .ratio = 0.1}
      .check();
}

TEST(GpuAttention, HalfWidths) {
  for (std::string type : {"f16", "bf16"}) {
    Attention{.batch = 1,
              .queryHeads = 4,
              .keyHeads = 2,
              .queries = 37,
              .keys = 40,
              .depth = 64,
              .valueDepth = 64,
              .causal = true,
              .causalOffset = 3,
              .type = type}
        .check();
    Attention{.batch = 1,
              .queryHeads = 1,
              .keyHeads = 1,
              .queries = 20,
              .keys = 33,
              .depth = 12,
              .valueDepth = 9,
              .mask = "tensor<1x1x20x33x" + type + ">",
              .layout = "bhtd",
              .type = type}
        .check();
  }
  // More queries than 64: a warp owns 32 rows. Random numbers are drawn for pairs and for fours of keys.
  Attention{.batch = 1,
            .queryHeads = 2,
            .keyHeads = 1,
            .queries = 70,
            .keys = 72,
            .depth = 64,
            .valueDepth = 64,
            .causal = true,
            .ratio = 0.2,
            .type = "bf16"}
      .check();
}

TEST(GpuAttention, HalfWidthsWithEveryOption) {
  // Queries that see no key; heads of which no block of 16 is whole.
  Attention{.batch = 1,
            .queryHeads = 1,
            .keyHeads = 1,
            .queries = 37,
            .keys = 40,
            .depth = 24,
            .valueDepth = 80,
            .causal = true,
            .causalOffset = -3,
            .softcap = 2,
            .type = "f16"}
      .check();
  // Lines that begin within a block of random numbers.
  Attention{.batch = 2,
            .queryHeads = 2,
            .keyHeads = 1,
            .queries = 17,
            .keys = 17,
            .depth = 32,
            .valueDepth = 32,
            .mask = "tensor<2x1x1x17xf32>",
            .ratio = 0.5,
            .type = "bf16"}
      .check();
  Attention{.batch = 1,
            .queryHeads = 2,
            .keyHeads = 2,
            .queries = 20,
            .keys = 33,
            .depth = 128,
            .valueDepth = 128,
            .mask = "tensor<1x2x20x33xi1>",
            .layout = "bhtd",
            .softcap = 1.5,
            .type = "bf16"}
      .check();
  Attention{.batch = 1,
            .queryHeads = 2,
            .keyHeads = 1,
            .queries = 20,
            .keys = 37,
            .depth = 256,
            .valueDepth = 256,
            .causal = true,
            .causalOffset = 17,
            .type = "bf16"}
      .check();
}

// Blocks of keys that no query sees, and blocks of queries that see no key: what is on its way to them is
// waited for.
TEST(GpuAttention, HalfWidthsOfBlocksThatNobodySees) {
  struct {
    int64_t queries, keys, depth, offset;
    std::string type;
  } const cases[] = {{32, 256, 128, 0, "bf16"},  {20, 200, 96, 0, "f16"},   {32, 100, 64, 0, "bf16"},
                     {17, 80, 80, -10, "f16"},   {33, 100, 256, 0, "bf16"}, {100, 20, 96, -80, "bf16"},
                     {150, 20, 256, -130, "f16"}};
  for (const auto &[queries, keys, depth, offset, type] : cases)
    Attention{.batch = 1,
              .queryHeads = 2,
              .keyHeads = 1,
              .queries = queries,
              .keys = keys,
              .depth = depth,
              .valueDepth = depth,
              .causal = true,
              .causalOffset = offset,
              .type = type}
        .check();
}

// The last keys alone, and keys of both sides; queries that see none.
TEST(GpuAttention, Windows) {
  for (auto [left, right, type] : {std::tuple{20, 0, "f32"}, {3, 40, "bf16"}, {-5, 9, "bf16"}})
    Attention{.batch = 1,
              .queryHeads = 2,
              .keyHeads = 1,
              .queries = 100,
              .keys = 100,
              .depth = 16,
              .valueDepth = 16,
              .causal = true,
              .causalOffset = right,
              .left = left,
              .type = type}
        .check();
  Attention{.batch = 1,
            .queryHeads = 2,
            .keyHeads = 2,
            .queries = 60,
            .keys = 30,
            .depth = 8,
            .valueDepth = 8,
            .left = 10}
      .check();
}

// Four query heads and two of keys and values, 16 deep, side by side in one operand.
TEST(GpuAttention, HalfWidthsOfOneProjection) {
  std::string attrs =
      "{packed = true, q_num_heads = 4 : i64, kv_num_heads = 2 : i64, visible = {right = 0 : i64}, "
      "o_layout = \"bthd\"} : (";
  std::string all = "tensor<2x20x128xbf16>", o = "tensor<2x20x4x16xbf16>", sums = "tensor<2x4x20xf32>";
  expectSameAsCpu("train.attention " + attrs + all + ") -> (" + o + ", " + sums + ")", {0, 0, 0x1p-7});
  expectSameAsCpu("train.attention_grad " + attrs + o + ", " + all + ", " + o + ", " + sums + ") -> (" + all +
                      ")",
                  {0, 0, 0x1p-5});
}

TEST(GpuAttention, HeadsThatAreTooDeepAreRefused) {
  for (std::string type : {"f32", "bf16"}) {
    Attention attention{.batch = 1,
                        .queryHeads = 1,
                        .keyHeads = 1,
                        .queries = 8,
                        .keys = 8,
                        .depth = 272,
                        .valueDepth = 272,
                        .type = type};
    for (const std::string &call : {attention.forward(), attention.backward()})
      EXPECT_NE(emitterErrorOf(call).find(
                    "heads of depth 272 do not fit shared memory: attention for CUDA takes up to 256"),
                std::string::npos)
          << call << emitterErrorOf(call);
  }
}

TEST(GpuAttention, PackedGradientsOfF32AreRefused) {
  std::string call = "train.attention_grad {packed = true, q_num_heads = 2 : i64, kv_num_heads = 2 : i64, "
                     "o_layout = \"bthd\"} : "
                     "(tensor<1x4x2x4xf32>, tensor<1x4x24xf32>, tensor<1x4x2x4xf32>, tensor<1x2x4xf32>) -> "
                     "(tensor<1x4x24xf32>)";
  EXPECT_NE(emitterErrorOf(call).find("packed gradients of f32 have no kernel for CUDA"), std::string::npos)
      << emitterErrorOf(call);
}

TEST(GpuAttention, SpillsNothingButOnTheOldest) {
  auto heads = [](int64_t depth, double ratio) {
    return Attention{.batch = 8,
                     .queryHeads = 12,
                     .keyHeads = 12,
                     .queries = 1024,
                     .keys = 1024,
                     .depth = depth,
                     .valueDepth = depth,
                     .causal = true,
                     .ratio = ratio};
  };
  if (spillsOf(heads(64, 0).forward(), "sm_90") < 0)
    GTEST_SKIP() << "there is no ptxas";
  // What three blocks of a processor have as registers is a few too little on sm_80:
  // docs/rationale/gpu-attention.md.
  for (const std::string &call : {heads(64, 0).forward(), heads(64, 0).backward()}) {
    EXPECT_LE(spillsOf(call, "sm_80"), 128) << call;
    for (std::string arch : {"sm_90", "sm_100"})
      EXPECT_EQ(spillsOf(call, arch), 0) << arch << " " << call;
  }
  for (Attention attention : {heads(64, 0.1), heads(128, 0), heads(256, 0)})
    for (const std::string &call : {attention.forward(), attention.backward()})
      EXPECT_EQ(spillsOf(call, "sm_90"), 0) << call;
}

TEST(GpuAttention, HalfWidthsSpillNothing) {
  struct {
    int64_t depth;
    double ratio;
    std::vector<std::string> architectures;
  } const cases[] = {{64, 0, {"sm_80", "sm_90", "sm_100"}},
                     {64, 0.1, {"sm_80"}},
                     {96, 0, {"sm_90"}},
                     {128, 0, {"sm_100"}},
                     {256, 0, {"sm_90"}}};
  for (const auto &[depth, ratio, architectures] : cases) {
    Attention attention{.batch = 8,
                        .queryHeads = 12,
                        .keyHeads = 12,
                        .queries = 1024,
                        .keys = 1024,
                        .depth = depth,
                        .valueDepth = depth,
                        .causal = true,
                        .ratio = ratio,
                        .type = "bf16"};
    for (const std::string &call : {attention.forward(), attention.backward()})
      for (const std::string &arch : architectures) {
        int64_t spills = spillsOf(call, arch);
        if (spills < 0)
          GTEST_SKIP() << "there is no ptxas";
        EXPECT_EQ(spills, 0) << arch << " " << call;
      }
  }
}
