// What the progress bar says of the time that is left, by a clock of the test's own.
#include "runtime/train/report/Display.h"
#include <cmath>
#include <gtest/gtest.h>

namespace kedge::test {
namespace {

using rt::TimeLeft;

struct Timing {
  const char *name;
  double slowFirst;                   ///< what the first step takes, in steps
  double noise;                       ///< share of a step
  int evaluateEvery, checkpointEvery; ///< steps; each takes five
};

double stepTime(const Timing &run, int step) {
  double seconds = step == 0 ? run.slowFirst : 1 + run.noise * std::sin(step * 12.9898);
  if (run.evaluateEvery != 0 && (step + 1) % run.evaluateEvery == 0)
    seconds += 5;
  if (run.checkpointEvery != 0 && step != 0 && step % run.checkpointEvery == 0)
    seconds += 5;
  return seconds;
}

TEST(RuntimeDisplay, TimeLeftIsWithinATenthAfterATenthOfTheRun) {
  constexpr int kSteps = 1000;
  for (const Timing &run :
       {Timing{"even", 1, 0, 0, 0}, Timing{"slow first step", 20, 0, 0, 0}, Timing{"noise", 3, 0.5, 0, 0},
        Timing{"evaluations", 10, 0.3, 20, 0}, Timing{"evaluations and checkpoints", 10, 0.3, 20, 25}}) {
    double now = 1000, rest = 0;
    TimeLeft left(now);
    for (int step = 0; step < kSteps; ++step) {
      const double seconds = stepTime(run, step);
      if (step >= kSteps / 10)
        rest += seconds;
      else
        left.step(now += seconds);
    }
    EXPECT_NEAR(left.seconds(kSteps - kSteps / 10), rest, 0.1 * rest) << run.name;
  }
}

TEST(RuntimeDisplay, TheFirstStepIsAllThatIsKnownBehindIt) {
  TimeLeft left(5);
  EXPECT_EQ(left.seconds(10), 0);
  left.step(8);
  EXPECT_EQ(left.seconds(10), 30);
  left.step(9);
  EXPECT_EQ(left.seconds(10), 10);
}

TEST(RuntimeDisplay, WritesDurations) {
  char text[32];
  for (const auto &[seconds, wanted] :
       {std::pair{0.2, "0:01"}, {59.5, "1:00"}, {123.0, "2:03"}, {3723.0, "1:02:03"}}) {
    rt::writeDuration(text, sizeof(text), seconds);
    EXPECT_STREQ(text, wanted);
  }
}

} // namespace
} // namespace kedge::test
