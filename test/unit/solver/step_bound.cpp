// The bound of a step against every schedule of small ones.
#include "lib/Solver/Mesh/StepBound.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace kedge::solver;

namespace {

/// The least time of all orders of the tasks, each begun as soon as its stream and what it needs allow.
double leastOf(const std::vector<StepTask> &tasks, std::vector<double> ends, double computed, double sent) {
  double least = std::numeric_limits<double>::infinity();
  bool done = true;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (ends[i] >= 0)
      continue;
    done = false;
    double begin = tasks[i].sends ? sent : computed;
    bool ready = true;
    for (int needed : tasks[i].after) {
      ready &= ends[static_cast<size_t>(needed)] >= 0;
      begin = std::max(begin, ends[static_cast<size_t>(needed)]);
    }
    if (!ready)
      continue;
    std::vector<double> next = ends;
    next[i] = begin + tasks[i].seconds;
    least = std::min(
        least, leastOf(tasks, next, tasks[i].sends ? computed : next[i], tasks[i].sends ? next[i] : sent));
  }
  return done ? std::max(computed, sent) : least;
}

double leastOf(const std::vector<StepTask> &tasks) {
  return leastOf(tasks, std::vector<double>(tasks.size(), -1), 0, 0);
}

TEST(StepBound, WhatNothingHides) {
  EXPECT_EQ(stepLowerBound({}), 0);
  EXPECT_EQ(stepLowerBound({{2, false, {}}, {3, false, {0}}}), 5);
  // Backward of two layers, each gradient summed, then updates: only the first sum is hidden.
  const std::vector<StepTask> step{{5, false, {}}, {3, true, {0}},  {4, false, {0}},
                                   {3, true, {2}}, {1, false, {1}}, {1, false, {3}}};
  EXPECT_EQ(stepLowerBound(step), 5 + 4 + 3 + 1);
  EXPECT_EQ(leastOf(step), 13);
  // More to send than to compute: all of it, after the first gradient and before the last update.
  EXPECT_EQ(
      stepLowerBound({{1, false, {}}, {9, true, {0}}, {1, false, {0}}, {9, true, {2}}, {1, false, {3}}}),
      1 + 9 + 9); // that an update follows one of both is not seen
}

TEST(StepBound, CollectivesThatFollowEachOther) {
  // Forward of two layers, each summed before the next; backward the same, with gradients of weights besides.
  const std::vector<StepTask> step{{5, false, {}},  {2, true, {0}},  {5, false, {1}},
                                   {2, true, {2}},  {5, false, {3}}, {2, true, {4}},
                                   {5, false, {5}}, {4, false, {3}}, {4, false, {5}}};
  EXPECT_EQ(stepLowerBound(step), leastOf(step));
  EXPECT_EQ(leastOf(step), 28 + 2 + 2); // the last sum is hidden by the first gradient of weights
  const StepChain chain = longestChain(step);
  EXPECT_EQ(chain.sending - chain.besides, 4);
  EXPECT_EQ(longestChain({{5, false, {}}}).sending, 0);
}

TEST(StepBound, NoScheduleOfRandomStepsIsBelow) {
  std::mt19937 random(7);
  int tight = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<StepTask> tasks(2 + random() % 5);
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].seconds = 1 + random() % 5;
      tasks[i].sends = random() % 3 == 0;
      for (size_t other = 0; other < i; ++other)
        if (random() % 3 == 0)
          tasks[i].after.push_back(static_cast<int>(other));
    }
    const double bound = stepLowerBound(tasks), least = leastOf(tasks);
    EXPECT_LE(bound, least) << "round " << round;
    tight += bound == least;
  }
  EXPECT_GT(tight, 200);
}

} // namespace
