// What a stream of least priority hides, on schedules small enough to run by hand.
#include "lib/Analysis/SideWork.h"
#include "kedge/InitAllDialects.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kedge;
using namespace kedge::analysis;

namespace {

/// A gradient, its update on the side, then two launches that take `seconds`, of which the last may wait for
/// the update.
SideWork workOf(const std::string &kind, std::vector<double> seconds, std::vector<WorkKind> kinds, bool waits,
                int64_t accumulate = 1) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const std::string text = R"(
    exec.arena 1024 persistent 0 align 64
    exec.function @)" + kind +
                           " kind <" + kind + R"(> {
      %g = exec.buffer "g" at 0 size 32 live [0, 1] tensor<8xf32>
      %w = exec.buffer "w" at 64 size 32 live [1, 3] tensor<8xf32>
      %x = exec.buffer "x" at 128 size 32 live [2, 3] tensor<8xf32>
      %y = exec.buffer "y" at 192 size 32 live [3, 3] tensor<8xf32>
      exec.launch "k" reads() writes(%g) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<8xf32>]
      exec.launch "k" reads(%g) writes(%w) iterations 1 grain 1 stream 5 waits [0] records 1
          types [tensor<8xf32>] -> [tensor<8xf32>]
      exec.launch library "onnx.MatMul" reads() writes(%x) iterations 1 grain 1 stream 0 types [] -> [tensor<8xf32>]
      exec.launch "k" reads() writes(%y) iterations 1 grain 1 stream 0 )" +
                           (waits ? "waits [1]" : "") + R"( types [] -> [tensor<8xf32>]
    })";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the test's text does not parse";
    return {};
  }
  std::vector<ScheduledLaunch> launches(4);
  for (size_t i = 0; i < 4; ++i) {
    launches[i].seconds = seconds[i];
    launches[i].cost.kind = kinds[i];
  }
  return sideWorkOf(*module, launches, accumulate);
}

constexpr WorkKind kVector = WorkKind::Vector, kMatmul = WorkKind::Matmul;

TEST(SideWork, AProductHidesItsIdleShare) {
  // Ten seconds of a product are two of the update, which takes two; then it is done.
  SideWork whole = workOf("step", {1, 2, 10, 1}, {kVector, kVector, kMatmul, kVector}, true);
  EXPECT_DOUBLE_EQ(whole.seconds, 2);
  EXPECT_NEAR(whole.hidden, 10 * kIdleBesideProducts, 1e-9);
  // Of six seconds two thirds are left at its end, for which the last launch waits.
  SideWork part = workOf("step", {1, 6, 10, 1}, {kVector, kVector, kMatmul, kVector}, true);
  EXPECT_NEAR(part.hidden, 10 * kIdleBesideProducts, 1e-9);
}

TEST(SideWork, AKernelHidesNothing) {
  SideWork none = workOf("step", {1, 2, 10, 1}, {kVector, kVector, kVector, kVector}, true);
  EXPECT_DOUBLE_EQ(none.seconds, 2);
  EXPECT_NEAR(none.hidden, 0, 1e-9);
}

TEST(SideWork, WhatIsLeftAtTheEndRunsAlone) {
  SideWork left = workOf("step", {1, 6, 10, 1}, {kVector, kVector, kMatmul, kVector}, false);
  EXPECT_NEAR(left.hidden, 10 * kIdleBesideProducts, 1e-9);
}

TEST(SideWork, FunctionsCountAsOftenAsTheyRun) {
  EXPECT_NEAR(workOf("micro", {1, 2, 10, 1}, {kVector, kVector, kMatmul, kVector}, true, 3).hidden,
              3 * 10 * kIdleBesideProducts, 1e-9);
  EXPECT_EQ(workOf("eval", {1, 2, 10, 1}, {kVector, kVector, kMatmul, kVector}, true).seconds, 0);
}

} // namespace
