// Finds the fastest of many ways to train on several devices, with a bound that none of them beats. Without
// MLIR: what a way costs, an oracle tells.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kedge::solver {

/// One decision: "zero" with the values "0" to "3".
struct JointAxis {
  std::string name;
  std::vector<std::string> values;
};

/// A value of each axis, by number.
using JointChoice = std::vector<int>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct JointPlan {
  bool fits = false;
  double seconds = kNever;    ///< of a step
  double lowerBound = kNever; ///< no plan of this choice takes less; infinite: none fits
  int64_t peakBytes = 0;
};

/// What is known of choices. Answers depend on nothing but the choice.
class JointOracle {
public:
  virtual ~JointOracle() = default;
  /// How many bounds there are, from the cheapest.
  virtual int bounds() const = 0;
  /// Those of them that are always asked for.
  virtual int cheapBounds() const { return 1; }
  /// Seconds that no plan of the choice is below; infinite when none fits.
  virtual double bound(const JointChoice &choice, int which) = 0;
  virtual JointPlan plan(const JointChoice &choice) = 0;
  /// What answers have cost so far, in any unit that does not depend on the machine.
  virtual int64_t spent() const { return 0; }
};

struct JointOptions {
  /// The search ends when no choice can be faster by this share than the best plan.
  double tolerance = 0;
  int64_t plans = 0; ///< made at most; 0: as many as it takes
  /// What the oracle may spend once a plan fits; 0: any amount. Cheap bounds are always asked for.
  int64_t spend = 0;
  JointChoice first; ///< planned before all others; empty: none
};

/// A choice, and how it fared.
struct JointRow {
  JointChoice choice;
  double bound = 0; ///< the best known
  bool planned = false;
  JointPlan plan; ///< if planned

  /// What it takes at least.
  double least() const { return planned ? plan.lowerBound : bound; }
};

struct JointResult {
  std::vector<JointRow> rows; ///< by seconds: plans that fit, then the others by what they take at least
  int64_t planned = 0;
  double lowerBound = kNever; ///< no plan of any choice takes less

  bool found() const { return !rows.empty() && rows.front().plan.fits; }
  /// Share by which the best plan is above the bound.
  double gap() const { return rows.front().plan.seconds / lowerBound - 1; }
};

/// All choices of the axes for which `stands` holds, in the order of their values.
template <typename Predicate>
std::vector<JointChoice> choicesOf(const std::vector<JointAxis> &axes, Predicate stands) {
  std::vector<JointChoice> all{{}};
  for (const JointAxis &axis : axes) {
    std::vector<JointChoice> longer;
    for (const JointChoice &choice : all)
      for (size_t value = 0; value < axis.values.size(); ++value) {
        longer.push_back(choice);
        longer.back().push_back(static_cast<int>(value));
      }
    all = std::move(longer);
  }
  std::erase_if(all, [&](const JointChoice &choice) { return !stands(choice); });
  return all;
}

/// Best first: of the choice with the smallest bound the next bound is asked for, and after the last one a
/// plan is made; so dear answers are asked for few choices. Equal bounds: in the order of `choices`, which
/// thus begins with what is preferred. Throws std::logic_error if a plan is faster than a bound of its
/// choice.
JointResult searchJointly(JointOracle &oracle, const std::vector<JointChoice> &choices,
                          const JointOptions &options);

} // namespace kedge::solver
