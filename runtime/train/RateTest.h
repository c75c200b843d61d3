// --find-lr: which learning rate a run bears, by a rate that rises from step to step.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt {

class RateTest {
public:
  static constexpr double kLowest = 1e-7, kHighest = 10;

  explicit RateTest(int64_t steps) : steps(steps) {}

  /// Of step s from 0: equal factors from one step to the next.
  double rate(int64_t step) const;
  /// What the step at the next rate lost. Returns whether to go on: not where the loss has left its lowest
  /// far behind.
  bool add(double loss);
  /// Where the loss falls fastest, per factor of the rate; nothing where it never fell.
  std::optional<double> suggestion() const;
  /// A line for about each twentieth rate with its loss as a bar, and the suggestion.
  std::string report() const;

private:
  int64_t steps;
  double mean = 0, lowest = 0;
  std::vector<double> losses; ///< smoothed
};

} // namespace kedge::rt
