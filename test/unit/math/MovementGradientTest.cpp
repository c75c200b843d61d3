// Gradients of gathers, slices, pads, joins and resampling against differences.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "test/unit/math/OpHarness.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::test;

namespace {
using Ints = std::vector<int64_t>;

Input numbers(std::vector<int64_t> shape, double first = 0.3) {
  Input input{shape, {}, {}};
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t i = 0; i < count; ++i)
    input.values.push_back(first + 0.7 * i - 0.01 * i * i);
  return input;
}

Input integers(OpHarness &harness, std::vector<int64_t> shape, std::vector<double> values) {
  return {std::move(shape), std::move(values), harness.type("i64")};
}
} // namespace

TEST(MovementGradient, ShapesAndPermutations) {
  OpHarness harness;
  harness.checkGradient(
      [](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::ReshapeOp::create(b, loc, in[0], Ints{3, 2});
      },
      {numbers({2, 3})});
  harness.checkGradient(
      [](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::TransposeOp::create(b, loc, in[0], Ints{2, 0, 1});
      },
      {numbers({2, 3, 2})});
  for (const Ints &shape : {Ints{2, 3}, Ints{1, 3}, Ints{1}, Ints{}})
    harness.checkGradient(
        [](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::ExpandOp::create(b, loc, in[0], Ints{4, 2, 3});
        },
        {numbers(shape)});
  for (const Ints &repeats : {Ints{2, 3}, Ints{1, 2}, Ints{1, 1}})
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::TileOp::create(b, loc, in[0], repeats);
        },
        {numbers({2, 3})});
}

TEST(MovementGradient, JoinsAndParts) {
  OpHarness harness;
  harness.checkGradient([](OpBuilder &b, Location loc,
                           ValueRange in) -> Value { return onnx::ConcatOp::create(b, loc, in, 1); },
                        {numbers({2, 3}), numbers({2, 1}, 1.1), numbers({2, 0})});
  for (int part : {0, 1})
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::SplitOp::create(b, loc, in[0], 1, Ints{1, 3}).getResult(part);
        },
        {numbers({2, 4})});
  for (const auto &[starts, ends, steps] :
       {std::tuple{Ints{0, 1}, Ints{3, 4}, Ints{2, 1}}, std::tuple{Ints{2, 4}, Ints{-4, 0}, Ints{-1, -2}}})
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::SliceOp::create(b, loc, in[0], starts, ends, steps);
        },
        {numbers({3, 5})});
}

TEST(MovementGradient, Pads) {
  OpHarness harness;
  using enum onnx::PadMode;
  for (onnx::PadMode mode : {Constant, Reflect, Edge, Wrap})
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::PadOp::create(b, loc, in[0], Value(), mode, Ints{1, 2, 0, 1});
        },
        {numbers({3, 4})});
  harness.checkGradient(
      [](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::PadOp::create(b, loc, in[0], Value(), Constant, Ints{-1, 2, 1, -1});
      },
      {numbers({3, 4})});
}

TEST(MovementGradient, Gathers) {
  OpHarness harness;
  Input rows = integers(harness, {2, 2}, {1, 3, 1, -4});
  harness.checkGradient(
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::GatherOp::create(b, loc, in[0], in[1], harness.i64(0), IntegerAttr());
      },
      {numbers({4, 3}), rows}, {1});
  harness.checkGradient(
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::GatherElementsOp::create(b, loc, in[0], in[1], 0);
      },
      {numbers({4, 2}), rows}, {1});
  harness.checkGradient(
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::GatherNDOp::create(b, loc, in[0], in[1], 0);
      },
      {numbers({4, 4, 2}), integers(harness, {3, 2}, {0, 1, 3, 2, 0, 1})}, {1});
}

TEST(MovementGradient, PaddingRowGetsNothing) {
  OpHarness harness;
  auto grads = harness.gradients(
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::GatherOp::create(b, loc, in[0], in[1], harness.i64(0), harness.i64(1));
      },
      {numbers({3, 2}), integers(harness, {4}, {1, 0, 1, 2})});
  EXPECT_EQ(grads[0], (std::vector<double>{1, 1, 0, 0, 1, 1}));
}

TEST(MovementGradient, Scatters) {
  OpHarness harness;
  for (const char *reduction : {"none", "add"}) {
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::ScatterElementsOp::create(b, loc, in[0], in[1], in[2], 1, reduction);
        },
        {numbers({2, 4}), integers(harness, {2, 2}, {1, 3, 0, 2}), numbers({2, 2}, 1.9)}, {1});
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::ScatterNDOp::create(b, loc, in[0], in[1], in[2], reduction);
        },
        {numbers({4, 2}), integers(harness, {2, 1}, {3, 1}), numbers({2, 2}, 1.9)}, {1});
  }
}

TEST(MovementGradient, TrianglesSequencesAndResampling) {
  OpHarness harness;
  for (bool upper : {false, true})
    harness.checkGradient(
        [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::TriluOp::create(b, loc, in[0], upper, upper ? 1 : -1);
        },
        {numbers({2, 3, 4})});
  harness.checkGradient(
      [](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::ReverseSequenceOp::create(b, loc, in[0], in[1], 1, 0);
      },
      {numbers({4, 2}), integers(harness, {2}, {3, 4})}, {1});
  for (const char *mode : {"nearest", "linear", "cubic"})
    harness.checkGradient(
        [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
          return onnx::ResizeOp::create(b, loc, in[0], b.getDenseI64ArrayAttr({1, 1, 5, 7}),
                                        b.getStringAttr(mode), b.getStringAttr("half_pixel"),
                                        b.getStringAttr("round_prefer_floor"), harness.f32(-0.75),
                                        b.getBoolAttr(false), harness.f32(0), b.getBoolAttr(false),
                                        DenseF32ArrayAttr(), DenseF32ArrayAttr());
        },
        {numbers({1, 1, 3, 4})});
}
