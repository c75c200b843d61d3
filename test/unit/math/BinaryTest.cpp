// Arithmetic with broadcasting, powers, remainders, selection, casts, over element types.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "test/unit/math/OpHarness.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::test;

namespace {
template <typename Op> OpHarness::Build binary() {
  return [](OpBuilder &b, Location loc, ValueRange in) -> Value { return Op::create(b, loc, in[0], in[1]); };
}

const Input matrix{{2, 3}, {0.7, -1.2, 2.4, 1.9, -0.6, 3.3}, {}};
const Input row{{3}, {1.3, -2.1, 0.8}, {}};
const Input column{{2, 1}, {1.5, -0.9}, {}};
const Input scalar{{}, {1.7}, {}};
using Doubles = std::vector<double>;
} // namespace

TEST(Arithmetic, GradientsUndoBroadcasting) {
  OpHarness harness;
  for (const auto &build :
       {binary<onnx::AddOp>(), binary<onnx::SubOp>(), binary<onnx::MulOp>(), binary<onnx::DivOp>()})
    for (const Input &other : {matrix, row, column, scalar}) {
      harness.checkGradient(build, {matrix, other});
      harness.checkGradient(build, {other, matrix});
    }
  Input cube{{2, 1, 3}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, {}}, square{{2, 1}, {1.1, 1.2}, {}};
  harness.checkGradient(binary<onnx::MulOp>(), {cube, square});
}

TEST(Arithmetic, ScalarsDoNotWiden) {
  OpHarness harness;
  Input half{{2}, {1.5, -2}, harness.type("bf16")}, factor{{}, {0.1}, harness.type("f32")};
  Doubles product = harness.run(binary<onnx::MulOp>(), {half, factor});
  EXPECT_EQ(product[0], 0.150390625); // 1.5 * 0.1f in f32, rounded to bf16 once
}

TEST(Arithmetic, IntegersDivideTowardZeroAndNeverTrap) {
  OpHarness harness;
  Type i32 = harness.type("i32"), u8 = harness.type("ui8"), i8 = harness.type("i8");
  Input a{{4}, {7, -7, 5, -128}, i32}, b{{4}, {2, 2, 0, -1}, i32};
  EXPECT_EQ(harness.run(binary<onnx::DivOp>(), {a, b}), (Doubles{3, -3, 0, 128}));
  EXPECT_EQ(harness.run(binary<onnx::DivOp>(), {{{2}, {250, 9}, u8}, {{2}, {2, 0}, u8}}), (Doubles{125, 0}));
  EXPECT_EQ(harness.run(binary<onnx::DivOp>(), {{{1}, {-128}, i8}, {{1}, {-1}, i8}}), (Doubles{-128}));
}

TEST(Extrema, TiesShareTheGradient) {
  OpHarness harness;
  for (const auto &build : {binary<onnx::MaxOp>(), binary<onnx::MinOp>()}) {
    harness.checkGradient(build, {matrix, row});
    auto ties = harness.gradients(build, {vectorOf({2}), vectorOf({2})});
    EXPECT_EQ(ties[0][0], 0.5);
    EXPECT_EQ(ties[1][0], 0.5);
  }
  Type u64 = harness.type("ui64");
  Input large{{1}, {double(uint64_t(1) << 63)}, u64}, small{{1}, {3}, u64};
  EXPECT_EQ(harness.run(binary<onnx::MinOp>(), {large, small}), (Doubles{3}));
}

/// Nothing passes on the bounds, as in PyTorch's clamp; the bounds get what does not pass.
TEST(Clip, PassesInsideTheBounds) {
  OpHarness harness;
  auto clip = [](OpBuilder &b, Location loc, ValueRange in) -> Value {
    return onnx::ClipOp::create(b, loc, in[0], in[1], in.size() > 2 ? in[2] : Value());
  };
  Input x = vectorOf({-2, -1, 0.5, 1, 3});
  EXPECT_EQ(harness.run(clip, {x, {{}, {-1}, {}}, {{}, {1}, {}}}), (Doubles{-1, -1, 0.5, 1, 1}));
  EXPECT_EQ(harness.gradients(clip, {x, {{}, {-1}, {}}, {{}, {1}, {}}})[0], (Doubles{0, 0, 1, 0, 0}));
  EXPECT_EQ(harness.gradients(clip, {x, {{}, {-1}, {}}})[0], (Doubles{0, 0, 1, 1, 1}));
  const auto ofBounds = harness.gradients(clip, {x, {{}, {-1.5}, {}}, {{}, {2}, {}}});
  EXPECT_EQ(ofBounds[1], (Doubles{1}));
  EXPECT_EQ(ofBounds[2], (Doubles{1}));
}

TEST(Pow, GradientsOfBaseAndExponent) {
  OpHarness harness;
  Input base{{2, 2}, {0.5, 1.5, 2.5, 3.5}, {}};
  harness.checkGradient(binary<onnx::PowOp>(), {base, vectorOf({1.7, -0.4})});
  for (double exponent : {0.5, 1.0, 2.0, 3.0, -1.0, 2.7}) {
    auto power = [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
      return onnx::PowOp::create(b, loc, in[0], scalarLike(b, loc, in[0], exponent));
    };
    harness.checkGradient([&](OpBuilder &b, Location loc, ValueRange in) { return power(b, loc, in); },
                          {base}, {});
  }
  auto atZero = harness.gradients(binary<onnx::PowOp>(), {vectorOf({0, 0}), vectorOf({0, 2})});
  EXPECT_EQ(atZero[0], (Doubles{0, 0}));
  EXPECT_EQ(atZero[1], (Doubles{0, 0}));
}

TEST(Pow, MixesTypes) {
  OpHarness harness;
  Type i32 = harness.type("i32"), i64 = harness.type("i64"), f32 = harness.type("f32"),
       u32 = harness.type("ui32");
  auto pow = binary<onnx::PowOp>();
  EXPECT_EQ(harness.run(pow, {{{3}, {1, 2, 3}, i32}, {{3}, {4, 5, 6}, i64}}), (Doubles{1, 32, 729}));
  EXPECT_EQ(harness.run(pow, {{{3}, {1, 2, 3}, i64}, {{3}, {4, 5, 6}, f32}}), (Doubles{1, 32, 729}));
  EXPECT_EQ(harness.run(pow, {{{3}, {1, 2, 3}, f32}, {{3}, {4, 5, 6}, u32}}), (Doubles{1, 32, 729}));
  EXPECT_EQ(harness.run(pow, {{{4}, {2, 1, -1, -1}, i32}, {{4}, {-1, -5, -3, -2}, i32}}),
            (Doubles{0, 1, -1, 1}));
}

TEST(Mod, SignsFollowDivisorOrDividend) {
  OpHarness harness;
  auto mod = [](bool fmod) {
    return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
      return onnx::ModOp::create(b, loc, in[0], in[1], b.getBoolAttr(fmod));
    };
  };
  Type i64 = harness.type("i64");
  Input a{{6}, {-4, 7, 5, 4, -7, 8}, i64}, b{{6}, {2, -3, 8, -2, 3, 5}, i64};
  EXPECT_EQ(harness.run(mod(false), {a, b}), (Doubles{0, -2, 5, 0, 2, 3}));
  EXPECT_EQ(harness.run(mod(true), {a, b}), (Doubles{0, 1, 5, 0, -1, 3}));
  EXPECT_EQ(harness.run(mod(true), {vectorOf({-4.5, 7}), vectorOf({2, -3})}), (Doubles{-0.5, 1}));
}

TEST(Where, SplitsTheGradient) {
  OpHarness harness;
  Input condition{{2, 1}, {1, 0}, harness.type("i1")};
  auto where = [](OpBuilder &b, Location loc, ValueRange in) -> Value {
    return onnx::WhereOp::create(b, loc, in[0], in[1], in[2]);
  };
  harness.checkGradient(where, {condition, matrix, row}, {0});
}

TEST(Cast, RoundsTruncatesAndPassesGradientsBetweenFloats) {
  OpHarness harness;
  auto to = [](Type element) {
    return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
      return onnx::CastOp::create(b, loc, in[0], TypeAttr::get(element));
    };
  };
  Input x = vectorOf({-1.9, 0, 2.7, 300});
  EXPECT_EQ(harness.run(to(harness.type("i32")), {x}), (Doubles{-1, 0, 2, 300}));
  EXPECT_EQ(harness.run(to(harness.type("i1")), {x}), (Doubles{1, 0, 1, 1}));
  EXPECT_EQ(harness.run(to(harness.type("f32")), {{{2}, {200, 3}, harness.type("ui8")}}), (Doubles{200, 3}));
  EXPECT_EQ(harness.gradients(to(harness.type("f32")), {x})[0], (Doubles{1, 1, 1, 1}));
  EXPECT_TRUE(harness.gradients(to(harness.type("i32")), {x})[0].empty());
}

TEST(Logic, BitsAndComparisons) {
  OpHarness harness;
  Type u8 = harness.type("ui8"), i1 = harness.type("i1");
  auto shift = [](bool left) {
    return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
      return onnx::BitShiftOp::create(b, loc, in[0], in[1], b.getBoolAttr(left));
    };
  };
  Input a{{3}, {16, 4, 255}, u8}, b{{3}, {1, 2, 8}, u8};
  EXPECT_EQ(harness.run(shift(true), {a, b}), (Doubles{32, 16, 0}));
  EXPECT_EQ(harness.run(shift(false), {a, b}), (Doubles{8, 1, 0}));
  EXPECT_EQ(harness.run(binary<onnx::GreaterOp>(), {a, b}), (Doubles{1, 1, 1}));
  EXPECT_EQ(harness.run(binary<onnx::XorOp>(), {{{2}, {1, 1}, i1}, {{2}, {0, 1}, i1}}), (Doubles{1, 0}));
  EXPECT_EQ(harness.run(binary<onnx::LessOrEqualOp>(), {vectorOf({1, NAN, 2}), vectorOf({1, 1, 1})}),
            (Doubles{1, 0, 0}));
}

TEST(PRelu, SlopeBroadcasts) {
  OpHarness harness;
  harness.checkGradient(binary<onnx::PReluOp>(), {matrix, row});
  harness.checkGradient(binary<onnx::PReluOp>(), {matrix, {{1}, {0.25}, {}}});
}
