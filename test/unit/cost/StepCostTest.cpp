// Work of whole steps, against formulas.
#include "lib/Analysis/StepCost.h"
#include "kedge/InitAllDialects.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines/Pipelines.h"
#include "test/support/GptModule.h"
#include "test/support/Places.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kedge;
using namespace kedge::analysis;

namespace {

std::vector<ScheduledLaunch> launchesOfGpt(const test::GptSize &size, const std::string &device) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(test::GptModule(size).text(), &context);
  if (module)
    test::givePlaces(*module);
  PassManager manager(&context);
  pipelines::addStepPipeline(manager, {});
  pipelines::addSchedulePipeline(manager);
  if (!module || failed(manager.run(*module))) {
    ADD_FAILURE() << "the model does not compile";
    return {};
  }
  return launchesOf(*module, loadDevice(device));
}

double pairs(const test::GptSize &s) {
  return static_cast<double>(s.batch * s.heads * s.layers) * static_cast<double>(s.tokens) *
         static_cast<double>(s.tokens + 1) / 2;
}

TEST(StepCost, ProductsAndAttentionOfGpt2AreCountedExactly) {
  test::GptSize size{.layers = 2, .width = 96, .heads = 3, .vocabulary = 101, .batch = 2, .tokens = 40};
  double products = 0, attention = 0;
  for (const ScheduledLaunch &launch : launchesOfGpt(size, "cpu"))
    if (launch.function == "step") {
      products += launch.cost.kind == WorkKind::Matmul ? launch.cost.flops : 0;
      attention += launch.cost.kind == WorkKind::Attention ? launch.cost.flops : 0;
    }
  // Forward, gradient of the input, gradient of the weight: two FLOPs a parameter and token each.
  EXPECT_EQ(products, 6 * size.productParameters() * 80);
  // Two products of a pair forward, five backward, over 32 columns of a head.
  EXPECT_EQ(attention, 7 * 2 * 32 * pairs(size));
}

TEST(StepCost, Gpt2OfTheUsualSizeTakesSixFlopsAParameterAndToken) {
  test::GptSize size{.batch = 4, .tokens = 1024};
  StepCost cost = stepCost(launchesOfGpt(size, "h100"), 1);
  double expected = 6 * size.productParameters() * 4096 + 7 * 2 * 64 * pairs(size);
  EXPECT_NEAR(size.productParameters(), 123.5e6, 0.1e6);
  EXPECT_NEAR(cost.flops / expected, 1, 0.02);
  // In fp32 the peak of the vector units bounds it from below.
  EXPECT_GT(cost.seconds, expected / 67e12);
  EXPECT_LT(cost.seconds, 4 * expected / 67e12);
}

TEST(StepCost, AccumulationRepeatsTheMicroStep) {
  std::vector<ScheduledLaunch> launches(3);
  launches[0] = {
      "micro", 0, "cluster", "", {WorkKind::Vector, MatmulType::F32, 10}, 2, train::FunctionKind::Micro};
  launches[1] = {
      "update", 0, "cluster", "", {WorkKind::Vector, MatmulType::F32, 5}, 1, train::FunctionKind::Update};
  launches[2] = {
      "eval", 0, "cluster", "", {WorkKind::Vector, MatmulType::F32, 100}, 50, train::FunctionKind::Eval};
  StepCost cost = stepCost(launches, 3);
  EXPECT_EQ(cost.flops, 35);
  EXPECT_EQ(cost.seconds, 7);
  EXPECT_EQ(cost.functionSeconds["eval"], 50);
}

/// Two launches that have become one, and one that stayed.
TEST(StepCost, JoinedLaunchesAreChargedOneLatency) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    exec.arena 1024 persistent 0 align 64
    exec.function @step kind <step> {
      %g = exec.buffer "g" at 0 size 32 live [0, 1] tensor<8xf32>
      exec.launch "both" reads() writes(%g) iterations 1 grain 1 stream 0 types [] -> [tensor<8xf32>] {kedge.rows = array<i64: 0, 2>}
      exec.launch "one" reads(%g) writes() iterations 1 grain 1 stream 0 types [tensor<8xf32>] -> [] {kedge.rows = array<i64: 1>}
    })",
                                                             &context);
  ASSERT_TRUE(module);
  std::vector<ScheduledLaunch> planned(3);
  planned[0].seconds = 5, planned[1].seconds = 7, planned[2].seconds = 3;
  DeviceModel device;
  device.launchSeconds = 1;
  const std::vector<ScheduledLaunch> run = launchesAsRun(*module, planned, device);
  ASSERT_EQ(run.size(), 2u);
  EXPECT_EQ(run[0].seconds, 5 + 3 - 1);
  EXPECT_EQ(run[1].seconds, 7);
}

} // namespace
