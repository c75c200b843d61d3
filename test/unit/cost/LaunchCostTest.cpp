// Work of single launches, against numbers counted by hand.
#include "lib/Analysis/LaunchCost.h"
#include "kedge/InitAllDialects.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kedge::analysis;

namespace {

class LaunchCostTest : public testing::Test {
protected:
  LaunchCostTest() {
    DialectRegistry registry;
    kedge::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Of the last op of a function before its terminator.
  LaunchCost costOfLast(const std::string &function) {
    module = parseSourceString<ModuleOp>(
        "#id1 = affine_map<(r) -> (r)>\n#id = affine_map<(r, c) -> (r, c)>\n"
        "#row = affine_map<(r, c) -> (r)>\n#column = affine_map<(r, c) -> (c)>\n" +
            function,
        &context);
    if (!module) {
      ADD_FAILURE() << "the test's text does not parse";
      return {};
    }
    Operation *function_ = &module->getBody()->front();
    return costOf(function_->getRegion(0).front().getTerminator()->getPrevNode());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(LaunchCostTest, ProductsCountMultiplyAdds) {
  LaunchCost cost =
      costOfLast(R"(func.func @f(%a: tensor<6x5x7xf32>, %b: tensor<7x11xf32>) -> tensor<6x5x11xf32> {
    %y = sched.library "onnx.MatMul"(%a, %b) {} : (tensor<6x5x7xf32>, tensor<7x11xf32>) -> tensor<6x5x11xf32>
    return %y : tensor<6x5x11xf32> })");
  EXPECT_TRUE(cost.product());
  EXPECT_EQ(cost.flops, 2.0 * 6 * 5 * 7 * 11);
  EXPECT_EQ(cost.bytesRead, 4.0 * (6 * 5 * 7 + 7 * 11));
  EXPECT_EQ(cost.bytesWritten, 4.0 * 6 * 5 * 11);
}

TEST_F(LaunchCostTest, ProductOfAMatrixWithItselfReadsItOnce) {
  LaunchCost cost = costOfLast(R"(func.func @f(%a: tensor<8x8xbf16>) -> tensor<8x8xf32> {
    %y = sched.library "onnx.MatMul"(%a, %a) {transB = true} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
    return %y : tensor<8x8xf32> })");
  EXPECT_EQ(cost.type, MatmulType::BF16);
  EXPECT_EQ(cost.bytesRead, 2.0 * 64);
}

TEST_F(LaunchCostTest, ProductsOfEightBitsTakeHalfTheTimeOnAGpu) {
  LaunchCost cost = costOfLast(
      R"(func.func @f(%a: tensor<4096x4096xf8E4M3FN>, %b: tensor<4096x4096xf8E5M2>, %s: tensor<f32>) -> tensor<4096x4096xbf16> {
    %y = sched.library "train.scaled_product"(%a, %b, %s, %s) {transB = true} : (tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<4096x4096xbf16>
    return %y : tensor<4096x4096xbf16> })");
  EXPECT_EQ(cost.type, MatmulType::F8);
  EXPECT_EQ(cost.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(cost.bytesRead, 2.0 * 4096 * 4096 + 4);
  LaunchCost wide = cost;
  wide.type = MatmulType::BF16;
  DeviceModel device = loadDevice("h100");
  device.launchSeconds = 0;
  EXPECT_DOUBLE_EQ(secondsOf(wide, device), 2 * secondsOf(cost, device));
  device = loadDevice("cpu"); // widens them
  EXPECT_DOUBLE_EQ(secondsOf(wide, device), secondsOf(cost, device));
}

TEST_F(LaunchCostTest, AnEpilogueIsWorkOfItsProduct) {
  LaunchCost cost = costOfLast(
      R"(func.func @f(%a: tensor<64x32xbf16>, %b: tensor<32x16xbf16>, %x: tensor<64x16xbf16>) -> tensor<16xbf16> {
    %y:2 = sched.library "train.fused_product"(%a, %b, %x) {epilogue = "gelu_grad"} : (tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<64x16xbf16>) -> (tensor<64x16xbf16>, tensor<16xbf16>)
    return %y#1 : tensor<16xbf16> })");
  EXPECT_TRUE(cost.product());
  EXPECT_EQ(cost.type, MatmulType::BF16);
  EXPECT_EQ(cost.flops, 2.0 * 64 * 32 * 16);
  EXPECT_EQ(cost.specialFunctions, 64.0 * 16);
  EXPECT_EQ(cost.bytesRead, 2.0 * (64 * 32 + 32 * 16 + 64 * 16));
  EXPECT_EQ(cost.bytesWritten, 2.0 * (64 * 16 + 16));
  cost = costOfLast(R"(func.func @f(%a: tensor<64x32xbf16>, %b: tensor<64x16xbf16>) -> tensor<16xbf16> {
    %y:2 = sched.library "train.fused_product"(%a, %b) {epilogue = "sums_b", transA = true} : (tensor<64x32xbf16>, tensor<64x16xbf16>) -> (tensor<32x16xbf16>, tensor<16xbf16>)
    return %y#1 : tensor<16xbf16> })");
  EXPECT_EQ(cost.flops, 2.0 * 64 * 32 * 16);
  EXPECT_EQ(cost.specialFunctions, 0.0);
}

TEST_F(LaunchCostTest, ConvolutionAndItsGradientsDoTheSameWork) {
  const char *attributes = "{kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 2 : i64}";
  double expected = 2.0 * 2 * 8 * 5 * 5 * (4 / 2) * 9;
  auto flops = [&](const std::string &op, const std::string &a, const std::string &b, const std::string &y) {
    LaunchCost cost = costOfLast("func.func @f(%a: " + a + ", %b: " + b + ") -> " + y +
                                 " { %y = sched.library \"" + op + "\"(%a, %b) " + attributes + " : (" + a +
                                 ", " + b + ") -> " + y + " return %y : " + y + " }");
    EXPECT_EQ(cost.kind, WorkKind::Convolution);
    return cost.flops;
  };
  const char *x = "tensor<2x4x5x5xf32>", *w = "tensor<8x2x3x3xf32>", *y = "tensor<2x8x5x5xf32>";
  EXPECT_EQ(flops("onnx.Conv", x, w, y), expected);
  EXPECT_EQ(flops("train.conv_grad_input", y, w, x), expected);
  EXPECT_EQ(flops("train.conv_grad_weight", x, y, w), expected);
}

TEST_F(LaunchCostTest, FewerMultiplicationsAreAProcessorsAlone) {
  const std::string image = "tensor<4x64x56x56xf32>", filters = "tensor<64x64x3x3xf32>";
  const LaunchCost cost =
      costOfLast("func.func @f(%x: " + image + ", %w: " + filters + ") -> " + image +
                 " { %y = sched.library \"onnx.Conv\"(%x, %w) {pads = [1, 1, 1, 1]} : (" + image + ", " +
                 filters + ") -> " + image + " return %y : " + image + " }");
  EXPECT_EQ(cost.flops, 2.0 * 4 * 64 * 56 * 56 * 64 * 9);
  EXPECT_GT(cost.shortcut, 1.4);
  EXPECT_LT(cost.shortcut, 36.0 / 16);
  LaunchCost plain = cost;
  plain.shortcut = 1;
  EXPECT_GT(secondsOf(plain, loadDevice("cpu")), 1.3 * secondsOf(cost, loadDevice("cpu")));
  EXPECT_EQ(secondsOf(plain, loadDevice("h100")), secondsOf(cost, loadDevice("h100")));
}

TEST_F(LaunchCostTest, ConvolutionsOfSixteenBitsRunOnTensorCores) {
  LaunchCost cost;
  cost.kind = WorkKind::Convolution;
  cost.flops = 1e12;
  const auto rate = [&](MatmulType type, const DeviceModel &device) {
    cost.type = type;
    return cost.flops / (secondsOf(cost, device) - device.launchSeconds);
  };
  for (MatmulType type : {MatmulType::BF16, MatmulType::F16})
    for (const char *name : {"h100", "a100"}) {
      const DeviceModel device = loadDevice(name);
      cost.extent = 256;
      EXPECT_NEAR(rate(type, device) / rate(MatmulType::F32, device),
                  device.bf16Flops * device.narrowAttentionEfficiency / device.fp32Flops, 1e-9)
          << "by mma.sync";
      cost.extent = 1;
      EXPECT_DOUBLE_EQ(rate(type, device), rate(MatmulType::F32, device)) << "depthwise ones are widened";
    }
}

TEST_F(LaunchCostTest, DepthwiseConvolutionsMoveMemory) {
  LaunchCost cost = costOfLast(
      "func.func @f(%x: tensor<2x8x5x5xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<2x8x5x5xf32> {"
      "%y = sched.library \"onnx.Conv\"(%x, %w) {pads = [1, 1, 1, 1], group = 8 : i64} : "
      "(tensor<2x8x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x5x5xf32> return %y : tensor<2x8x5x5xf32> }");
  EXPECT_EQ(cost.kind, WorkKind::Moving);
  EXPECT_EQ(cost.flops, 2.0 * 2 * 8 * 5 * 5 * 9);
  EXPECT_EQ(cost.bytesRead, 4.0 * (2 * 8 * 5 * 5 + 8 * 9));
}

TEST_F(LaunchCostTest, AttentionCountsVisiblePairs) {
  const std::string operands = "tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>";
  for (auto [visible, keys] :
       {std::pair{"right = 0 : i64", 1 + 2 + 3 + 4}, {"left = 1 : i64, right = 0 : i64", 1 + 2 + 2 + 2}}) {
    LaunchCost cost =
        costOfLast("func.func @f(%q: tensor<2x3x4x16xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x3x4xf32>) {"
                   "%o, %l = sched.library \"train.attention\"(%q, %q, %q) {visible = {" +
                   std::string(visible) + "}} : (" + operands +
                   ") -> (tensor<2x3x4x16xf32>, tensor<2x3x4xf32>) "
                   "return %o, %l : tensor<2x3x4x16xf32>, tensor<2x3x4xf32> }");
    const double pairs = 2.0 * 3 * keys;
    EXPECT_EQ(cost.flops, 2 * pairs * 32);
    EXPECT_EQ(cost.specialFunctions, pairs);
  }
}

TEST_F(LaunchCostTest, GatherReadsOnlyWhatItTakes) {
  LaunchCost cost = costOfLast(R"(func.func @f(%t: tensor<1000x8xf32>, %i: tensor<5xi64>) -> tensor<5x8xf32> {
    %y = sched.library "onnx.Gather"(%t, %i) {} : (tensor<1000x8xf32>, tensor<5xi64>) -> tensor<5x8xf32>
    return %y : tensor<5x8xf32> })");
  EXPECT_EQ(cost.bytesRead, 4.0 * 40 + 8 * 5);
  EXPECT_EQ(cost.bytesWritten, 4.0 * 40);
  EXPECT_EQ(cost.flops, 0);
}

TEST_F(LaunchCostTest, PoolsGoThroughEveryTap) {
  const auto costOf = [&](const std::string &kernel) {
    return costOfLast(
        "func.func @f(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x4x4xf32> { %y = sched.library \"" + kernel +
        "\"(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<2x3x8x8xf32>) -> "
        "tensor<2x3x4x4xf32> return %y : tensor<2x3x4x4xf32> }");
  };
  const LaunchCost average = costOf("onnx.AveragePool"), largest = costOf("onnx.MaxPool");
  EXPECT_EQ(average.kind, WorkKind::Irregular);
  EXPECT_EQ(average.flops, 2.0 * 3 * 16 * 9);
  // Rows of results at once: two comparisons and two choices for every tap.
  EXPECT_EQ(largest.kind, WorkKind::Moving);
  EXPECT_EQ(largest.flops, 4 * average.flops);
}

TEST_F(LaunchCostTest, RecurrentNetworksCountEveryGate) {
  LaunchCost cost = costOfLast(
      R"(func.func @f(%x: tensor<5x2x6xf32>, %w: tensor<1x16x6xf32>, %r: tensor<1x16x4xf32>) -> tensor<5x1x2x4xf32> {
    %y = sched.library "onnx.LSTM"(%x, %w, %r) {hidden_size = 4 : i64, results = [true, false, false]}
        : (tensor<5x2x6xf32>, tensor<1x16x6xf32>, tensor<1x16x4xf32>) -> tensor<5x1x2x4xf32>
    return %y : tensor<5x1x2x4xf32> })");
  EXPECT_EQ(cost.flops, 2.0 * 5 * 2 * 16 * (6 + 4));
  EXPECT_EQ(cost.specialFunctions, 5.0 * 2 * 4 * 5); // four gates and the cell's tanh
}

TEST_F(LaunchCostTest, NewValuesOfStatesAreUpdates) {
  LaunchCost cost = costOfLast(
      R"(func.func @f(%w: tensor<64xf32> {train.binding = #train.binding<state @w>}) -> (tensor<64xf32> {train.binding = #train.binding<state @w>}, tensor<64xf32>) {
    %r:2 = sched.cluster domain [64] reduced [] (%w) maps [#id1] -> [#id1, #id1] {
    ^bb0(%a: f32):
      %b = arith.addf %a, %a : f32
      sched.yield %b, %a : f32, f32
    } : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32> }
  train.state parameter @w tensor<64xf32>)");
  EXPECT_EQ(cost.bytesWritten, 512);
  EXPECT_EQ(cost.bytesUpdated, 256);
}

TEST_F(LaunchCostTest, ClusterReadsBroadcastOperandsOnceAndHoistsWhatIsConstant) {
  LaunchCost cost = costOfLast(
      R"(func.func @f(%x: tensor<8x16xf32>, %b: tensor<16xbf16>) -> (tensor<8x16xf32>, tensor<8xf32>) {
    %y:2 = sched.cluster domain [8, 16] reduced [1] (%x, %b, %x) maps [#id, #column, #id] -> [#id, #row] {
    ^bb0(%a: f32, %c: bf16, %again: f32):
      %w = arith.extf %c : bf16 to f32
      %e = math.exp %w : f32
      %p = math.fma %a, %e, %again : f32
      %s = sched.reduce add %p : f32
      %q = arith.mulf %s, %s : f32
      sched.yield %p, %q : f32, f32
    } : (tensor<8x16xf32>, tensor<16xbf16>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
    return %y#0, %y#1 : tensor<8x16xf32>, tensor<8xf32> })");
  EXPECT_EQ(cost.kind, WorkKind::Vector);
  EXPECT_EQ(cost.bytesRead, 4.0 * 128 + 2 * 16);
  EXPECT_EQ(cost.bytesWritten, 4.0 * (128 + 8));
  // The column's exponential does not depend on the row; a reduction counts as 0.35 of one.
  EXPECT_NEAR(cost.specialFunctions, 16 + 0.35 * 128, 1e-9);
  EXPECT_EQ(cost.flops, 2.0 * 128 + 128 + 8);
}

TEST_F(LaunchCostTest, ClusterReadsOnlyTheElementsThatItsMapsName) {
  // A slice with a stride, a window, and a row that is turned into a reshape's parts.
  LaunchCost cost = costOfLast(
      R"(func.func @f(%x: tensor<100xf32>, %y: tensor<100xf32>, %z: tensor<8x100xi8>) -> tensor<6x4xf32> {
    %r = sched.cluster domain [6, 4] reduced [] (%x, %y, %z)
        maps [affine_map<(r, c) -> (r * 3 + 2)>, affine_map<(r, c) -> (r + c)>, affine_map<(r, c) -> ((r * 4 + c) floordiv 4, (r * 4 + c) mod 4)>] -> [#id] {
    ^bb0(%a: f32, %b: f32, %c: i8):
      sched.yield %a : f32
    } : (tensor<100xf32>, tensor<100xf32>, tensor<8x100xi8>) -> tensor<6x4xf32>
    return %r : tensor<6x4xf32> })");
  EXPECT_EQ(cost.bytesRead, 4.0 * 6 + 4 * 9 + 24);
}

TEST_F(LaunchCostTest, CallsWithoutAKernelCountTheirBytes) {
  LaunchCost cost = costOfLast(R"(func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
    %y = sched.library "onnx.NoSuch"(%x) {} : (tensor<4xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32> })");
  EXPECT_EQ(cost.bytes(), 24);
}

TEST_F(LaunchCostTest, ViewsCostNothing) {
  LaunchCost cost = costOfLast(R"(func.func @f(%x: tensor<4x4xf32>) -> tensor<16xf32> {
    %y = sched.view %x : tensor<4x4xf32> to tensor<16xf32>
    return %y : tensor<16xf32> })");
  EXPECT_EQ(cost.bytes(), 0);
  EXPECT_EQ(secondsOf(cost, loadDevice("h100")), 0);
}

TEST_F(LaunchCostTest, CopiesTakeTheLinkToTheHost) {
  LaunchCost cost = costOfLast(R"(func.func @f(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %y = sched.offload %x : tensor<1024x1024xf32>
    return %y : tensor<1024x1024xf32> })");
  EXPECT_EQ(cost.kind, WorkKind::Transfer);
  DeviceModel device = loadDevice("a100");
  EXPECT_DOUBLE_EQ(secondsOf(cost, device), device.launchSeconds + 4194304 / 32e9);
}

TEST_F(LaunchCostTest, CollectivesSendAllButTheRanksLocalShard) {
  const char *text = R"(func.func @f(%x: tensor<4096xf32>) -> tensor<1024xf32> {
    %y = sched.library "dist.reduce_scatter"(%x) {ranks = 4 : i64} {collective} : (tensor<4096xf32>) -> tensor<1024xf32>
    return %y : tensor<1024xf32> })";
  LaunchCost cost = costOfLast(text);
  EXPECT_EQ(cost.kind, WorkKind::Collective);
  EXPECT_EQ(cost.bytesRead, 4.0 * 4096 * 3 / 4);
  DeviceModel device = loadDevice("h100");
  EXPECT_DOUBLE_EQ(secondsOf(cost, device), device.linkSeconds + 12288 / (450e9 * device.linkEfficiency));
  // Twice around for the sum that all have.
  cost = costOfLast(R"(func.func @f(%x: tensor<4096xbf16>) -> tensor<4096xbf16> {
    %y = sched.library "dist.all_reduce"(%x) {ranks = 4 : i64, kind = "sum"} {collective} : (tensor<4096xbf16>) -> tensor<4096xbf16>
    return %y : tensor<4096xbf16> })");
  EXPECT_EQ(cost.bytesRead, 2.0 * 2 * 4096 * 3 / 4);
  cost = costOfLast(R"(func.func @f(%x: tensor<4096xf32>) -> tensor<1024xf32> {
    %y = sched.library "dist.local_shard"(%x) {ranks = 4 : i64} {collective} : (tensor<4096xf32>) -> tensor<1024xf32>
    return %y : tensor<1024xf32> })");
  EXPECT_NE(cost.kind, WorkKind::Collective); // nothing is sent
}

TEST_F(LaunchCostTest, TimeIsTheLongerOfComputingAndMoving) {
  DeviceModel device = loadDevice("a100");
  LaunchCost moving{WorkKind::Vector, MatmulType::F32, 1e6, 0, 1e10, 1e10};
  EXPECT_NEAR(secondsOf(moving, device), 2e10 / (2.039e12 * device.memoryEfficiency), 1e-3);
  LaunchCost product{WorkKind::Matmul, MatmulType::BF16, 1e15, 0, 1e6, 1e6};
  EXPECT_NEAR(secondsOf(product, device), 1e15 / (312e12 * device.matmulEfficiency), 1e-3);
  product.type = MatmulType::F32;
  EXPECT_GT(secondsOf(product, device), 1e15 / 20e12);
}

TEST_F(LaunchCostTest, SixteenBitProductsHaveRatesOfTheirOwn) {
  LaunchCost product{WorkKind::Matmul, MatmulType::F32, 1e12, 0, 1e6, 1e6};
  LaunchCost attention{WorkKind::Attention, MatmulType::F32, 1e12, 0, 1e6, 1e6, 0};
  attention.extent = 1024;
  auto faster = [](LaunchCost cost, MatmulType type, const char *device) {
    DeviceModel model = loadDevice(device);
    double wide = secondsOf(cost, model);
    cost.type = type;
    return wide / secondsOf(cost, model);
  };
  EXPECT_NEAR(faster(product, MatmulType::BF16, "cpu"), 2, 0.01);
  EXPECT_NEAR(faster(product, MatmulType::F16, "cpu"), 1, 0.01);
  EXPECT_NEAR(faster(attention, MatmulType::BF16, "cpu"), 1, 0.01);
  for (const char *gpu : {"a100", "h100", "h200"})
    for (MatmulType narrow : {MatmulType::BF16, MatmulType::F16})
      EXPECT_GT(faster(product, narrow, gpu), 10) << gpu;
  // Tensor cores by mma.sync: 35 % of their peak, where multiply-adds reach 60 % of theirs; all of it on an
  // A100.
  EXPECT_NEAR(faster(attention, MatmulType::BF16, "h100"), 989.4 * 0.35 / (67 * 0.6), 0.1);
  EXPECT_NEAR(faster(attention, MatmulType::BF16, "a100"), 312 / 19.5, 0.1);
  // Gradients compute two of five products twice there, and not on a processor.
  attention.repeatedFlops = 0.4e12;
  EXPECT_NEAR(faster(attention, MatmulType::BF16, "a100"), 312 / 19.5 / 1.4, 0.1);
  EXPECT_NEAR(faster(attention, MatmulType::BF16, "cpu"), 1, 0.01);
  EXPECT_NEAR(faster(product, MatmulType::BF16, "rtx4090"), 2, 0.01);
}

// A processor with tiles of bf16 (AMX) multiplies in them for attention; fp16 is widened.
TEST_F(LaunchCostTest, AttentionOnAProcessorHasARateOfItsOwnInBf16Alone) {
  DeviceModel device = loadDevice("cpu");
  device.bf16Flops = 8 * device.fp32Flops, device.narrowAttentionEfficiency = 0.5;
  LaunchCost attention{WorkKind::Attention, MatmulType::F32, 1e12, 0, 1e6, 1e6, 0};
  attention.extent = 1024;
  const double wide = secondsOf(attention, device);
  attention.type = MatmulType::F16;
  EXPECT_NEAR(wide / secondsOf(attention, device), 1, 0.01);
  attention.type = MatmulType::BF16;
  EXPECT_NEAR(wide / secondsOf(attention, device), 8 * 0.5 / device.attentionEfficiency, 0.05);
}

} // namespace
