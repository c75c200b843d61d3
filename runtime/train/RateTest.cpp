#include "runtime/train/RateTest.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {
namespace {

constexpr double kKept = 0.9;   // of the mean, at each step
constexpr double kTooFar = 4.0; // times the lowest: the rate is too high by then
constexpr size_t kFirst = 5;    // steps before a mean says anything
constexpr size_t kLines = 20, kBar = 40;

} // namespace

double RateTest::rate(int64_t step) const {
  const double share = steps < 2 ? 0 : static_cast<double>(step) / static_cast<double>(steps - 1);
  return kLowest * std::pow(kHighest / kLowest, share);
}

bool RateTest::add(double loss) {
  if (!std::isfinite(loss))
    return false;
  mean = kKept * mean + (1 - kKept) * loss;
  losses.push_back(mean / (1 - std::pow(kKept, static_cast<double>(losses.size() + 1))));
  lowest = losses.size() == 1 ? losses[0] : std::min(lowest, losses.back());
  // A loss may be below 0: what counts is how far it fell.
  const double fell = losses.front() - lowest,
               bound = std::max(kTooFar * std::abs(lowest), lowest + kTooFar * fell);
  return losses.size() <= kFirst || losses.back() <= bound;
}

std::optional<double> RateTest::suggestion() const {
  std::optional<size_t> steepest;
  double most = 0;
  const auto lowestAt = static_cast<size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  for (size_t step = kFirst; step < lowestAt; ++step)
    if (const double fall = losses[step - 1] - losses[step + 1]; fall > most) {
      most = fall;
      steepest = step;
    }
  return steepest ? std::optional(rate(static_cast<int64_t>(*steepest))) : std::nullopt;
}

std::string RateTest::report() const {
  std::string text = "rate        loss\n";
  const auto [low, high] = std::minmax_element(losses.begin(), losses.end());
  const size_t each = std::max<size_t>(1, losses.size() / kLines);
  for (size_t step = 0; step < losses.size(); step += each) {
    const double share = *high > *low ? (losses[step] - *low) / (*high - *low) : 0;
    text += fmt::format("{:<10.3g}  {:<10.6g}  {}\n", rate(static_cast<int64_t>(step)), losses[step],
                        std::string(static_cast<size_t>(std::lround(share * kBar)), '#'));
  }
  const std::optional<double> suggested = suggestion();
  return text + (suggested ? fmt::format("the loss falls fastest at --lr {:.2g}", *suggested)
                           : std::string("the loss does not fall at any of these rates"));
}

} // namespace kedge::rt
