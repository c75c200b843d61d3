// What of a step's collectives passes beside computing, on schedules small enough to run by hand.
#include "lib/Analysis/Overlap.h"
#include "kedge/InitAllDialects.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kedge;
using namespace kedge::analysis;

namespace {

/// Launches take so many seconds, in order; the second is a collective, the others compute.
StepOverlap overlapOfThree(const std::string &kind, const std::string &waits, std::vector<double> seconds,
                           int64_t accumulate) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const std::string text = R"(
    exec.arena 1024 persistent 0 align 64
    exec.function @)" + kind +
                           " kind <" + kind + R"(> {
      %g = exec.buffer "g" at 0 size 32 live [0, 1] tensor<8xf32>
      %p = exec.buffer "p" at 64 size 16 live [1, 2] tensor<4xf32>
      %x = exec.buffer "x" at 128 size 16 live [2, 2] tensor<4xf32>
      exec.launch "k" reads() writes(%g) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<8xf32>]
      exec.launch library "dist.reduce_scatter" reads(%g) writes(%p) iterations 1 grain 1 stream 3 waits [0] records 1
          types [tensor<8xf32>] -> [tensor<4xf32>] with {ranks = 2 : i64} {collective}
      exec.launch "k" reads() writes(%x) iterations 1 grain 1 stream 0 )" +
                           waits + R"( types [] -> [tensor<4xf32>]
    })";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the test's text does not parse";
    return {};
  }
  std::vector<ScheduledLaunch> launches(3);
  for (size_t i = 0; i < 3; ++i)
    launches[i].seconds = seconds[i];
  return overlapOf(*module, launches, accumulate);
}

TEST(Overlap, WhatNobodyWaitsForIsHiddenAsFarAsComputingLasts) {
  StepOverlap shorter = overlapOfThree("step", "", {1, 2, 5}, 1);
  EXPECT_EQ(shorter.seconds, 2);
  EXPECT_EQ(shorter.hidden, 2);
  StepOverlap longer = overlapOfThree("step", "", {1, 7, 5}, 1);
  EXPECT_EQ(longer.seconds, 7);
  EXPECT_EQ(longer.hidden, 5);
}

TEST(Overlap, WhatIsWaitedForIsNotHidden) {
  StepOverlap step = overlapOfThree("step", "waits [1]", {1, 2, 5}, 1);
  EXPECT_EQ(step.seconds, 2);
  EXPECT_EQ(step.hidden, 0);
}

TEST(Overlap, MicroStepsCountAsOftenAsTheyRunAndEvaluationNever) {
  StepOverlap micro = overlapOfThree("micro", "", {1, 2, 5}, 3);
  EXPECT_EQ(micro.seconds, 6);
  EXPECT_EQ(micro.hidden, 6);
  EXPECT_EQ(overlapOfThree("eval", "", {1, 2, 5}, 1).seconds, 0);
}

} // namespace
