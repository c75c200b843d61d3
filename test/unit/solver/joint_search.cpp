// The joint search against planning everything, on made-up costs.
#include "lib/Solver/Mesh/JointSearch.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <stdexcept>

using namespace kedge::solver;

namespace {

const std::vector<JointAxis> kAxes{
    {"mesh", {"1x4", "2x2"}}, {"zero", {"0", "1", "2", "3"}}, {"rows", {"4", "2", "1"}}};

/// Bounds are shares of the true time; some choices do not fit.
class Made : public JointOracle {
public:
  explicit Made(unsigned seed) : random(seed) {}

  int bounds() const override { return 2; }
  double bound(const JointChoice &choice, int which) override {
    ++asked[static_cast<size_t>(which)];
    const Truth &truth = of(choice);
    return truth.seconds * (which == 0 ? truth.first : truth.second);
  }
  JointPlan plan(const JointChoice &choice) override {
    ++asked[2];
    const Truth &truth = of(choice);
    return truth.fits ? JointPlan{true, truth.seconds, truth.seconds * 0.99, 1} : JointPlan{};
  }
  bool fits(const JointChoice &choice) { return of(choice).fits; }
  double seconds(const JointChoice &choice) { return of(choice).seconds; }

  int asked[3] = {0, 0, 0};

private:
  struct Truth {
    double seconds, first, second;
    bool fits;
  };
  const Truth &of(const JointChoice &choice) {
    auto found = known.find(choice);
    if (found != known.end())
      return found->second;
    const auto share = [&](double least) {
      return least + (1 - least) * static_cast<double>(random() % 100) / 100;
    };
    return known[choice] = {1 + static_cast<double>(random() % 1000) / 100, share(0.5), share(0.9),
                            random() % 3 != 0};
  }
  std::mt19937 random;
  std::map<JointChoice, Truth> known;
};

TEST(JointSearch, FindsWhatPlanningEverythingFinds) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::vector<JointChoice> choices = choicesOf(kAxes, [](const JointChoice &) { return true; });
    ASSERT_EQ(choices.size(), 24u);
    Made all(seed), some(seed);
    double best = kNever;
    for (const JointChoice &choice : choices) // draws the costs in one order for both
      some.fits(choice), best = all.fits(choice) ? std::min(best, all.seconds(choice)) : best;
    const JointResult result = searchJointly(some, choices, {});
    ASSERT_TRUE(result.found());
    EXPECT_EQ(result.rows.front().plan.seconds, best) << "seed " << seed;
    EXPECT_LE(result.lowerBound, best);
    EXPECT_EQ(result.planned, some.asked[2]);
    EXPECT_LT(result.planned, 24);
  }
}

TEST(JointSearch, TheBoundHoldsWhereTheSearchEndsEarly) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<JointChoice> choices =
        choicesOf(kAxes, [](const JointChoice &choice) { return choice[1] != 2; });
    ASSERT_EQ(choices.size(), 18u);
    Made some(seed);
    double best = kNever;
    for (const JointChoice &choice : choices)
      best = some.fits(choice) ? std::min(best, some.seconds(choice)) : best;
    const JointResult few = searchJointly(some, choices, {.tolerance = 0, .plans = 1});
    EXPECT_EQ(few.planned, 1);
    EXPECT_LE(few.lowerBound, best);
    const JointResult loose = searchJointly(some, choices, {.tolerance = 0.1, .plans = 0});
    EXPECT_LE(loose.rows.front().plan.seconds, best * 1.1 + 1e-9);
    EXPECT_LE(loose.lowerBound, best);
    EXPECT_GE(loose.gap(), 0);
  }
}

TEST(JointSearch, ABrokenBoundIsNoCertificate) {
  struct Broken : JointOracle {
    int bounds() const override { return 1; }
    double bound(const JointChoice &, int) override { return 2; }
    JointPlan plan(const JointChoice &) override { return {true, 1, 1, 1}; }
  } broken;
  EXPECT_THROW(searchJointly(broken, {{0}}, {}), std::logic_error);
}

} // namespace
