// Decides which values to keep, which to recompute, and in which order to run, under a byte budget. Without
// MLIR, so that `kedge-bench remat` can use it, too. Instead of the fixed T x T stages of Checkmate (Jain et
// al., MLSys 2020) it uses a sequence in which a node may occur several times, as Moccasin and FastSA do.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace kedge::solver {

/// A value is live from the run that makes it to its last read before it is made again.
struct RematValue {
  int64_t bytes = 0;
  bool given = false;     ///< exists at the start; no node makes it
  bool keptToEnd = false; ///< must still be live after the last step

  bool operator==(const RematValue &) const = default;
};

/// One kernel launch.
struct RematNode {
  double cost = 0;                  ///< of one run, in any unit
  int64_t workspace = 0;            ///< bytes that are live during the run only
  std::vector<int> inputs, outputs; ///< values, each once
  /// Output `output` may take over the bytes of input `input` (positions in the lists above) if the input is
  /// not read later and is not smaller. Each input serves one output; entries earlier in the list go first.
  struct Reuse {
    int output, input;

    bool operator==(const Reuse &) const = default;
  };
  std::vector<Reuse> reuses;
  /// False: an alternative way to make values that a required node makes, too (one result of a kernel with
  /// several, or a copy back from the host). Runs only where that helps, and only after the required node.
  bool required = true;
  bool repeatable = true; ///< false: runs exactly once (at most once, where not required)
  /// Nodes that must not run after this one, because it overwrites state that they read.
  std::vector<int> overwrites;

  bool operator==(const RematNode &) const = default;
};

struct RematProblem {
  std::vector<RematNode> nodes;
  std::vector<RematValue> values;
  std::vector<int> order; ///< of the required nodes; must be executable

  bool operator==(const RematProblem &) const = default;
};

struct RematOptions {
  int64_t budget = 0;    ///< bytes; the peak of a plan never exceeds it
  bool freeOrder = true; ///< false: first runs keep the order of the problem
  int64_t effort =
      0;            ///< search steps, 0: a default for the size of the problem; plans depend on nothing else
  double share = 1; ///< of that default
  double timeLimit =
      0; ///< seconds of processor time, 0: no limit; for benchmarks, as plans depend on the machine
  uint64_t seed = 1;
  std::vector<std::vector<int>> starts; ///< valid sequences to start from, such as those of named policies
  std::function<void(double)> progress; ///< called with the finished share of the search; may be empty
};

struct RematPlan {
  bool feasible = false;
  std::vector<int>
      sequence;          ///< node indices; if no plan is feasible, the sequence with the smallest peak found
  int64_t peak = 0;      ///< bytes, of `sequence`
  double addedCost = 0;  ///< cost of `sequence` minus the cost of running each required node once
  double lowerBound = 0; ///< proven: no plan within the budget adds less; infinite if there is no such plan
  int64_t peakLowerBound = 0; ///< proven: no plan has a smaller peak
  int foldedNodes =
      0; ///< nodes of the problem with fewer equal layers that was solved first; 0: there was none
};

/// Bytes at the highest step of a sequence; -1 if an input is missing or a rule of the problem is broken.
int64_t peakOf(const RematProblem &problem, const std::vector<int> &sequence);

/// Bytes live at each step of a valid sequence.
std::vector<int64_t> bytesPerStep(const RematProblem &problem, const std::vector<int> &sequence);

/// The cheapest plan found within the budget. Throws std::invalid_argument if the problem
/// contradicts itself or its order cannot be executed. For budgets that differ while all other
/// options are equal, without a time limit, a larger budget never gives a more expensive plan.
RematPlan rematerialize(const RematProblem &problem, const RematOptions &options);

/// The plans from which `rematerialize` chooses when it has no time limit, by falling peak and rising cost.
/// Each is the cheapest found for budgets from its peak up to the peak of the plan before it. The last has
/// the smallest peak found. The budget in the options is ignored. Lower bounds are left at 0; rematBound
/// computes them.
std::vector<RematPlan> rematFront(const RematProblem &problem, const RematOptions &options);

/// The smallest plan that some short walks from the starts find, in a part of the time of a front, whose last
/// plan may be smaller or larger. The budget in the options is ignored but for `feasible`.
RematPlan rematSmallest(const RematProblem &problem, const RematOptions &options);

/// The last few fronts and smallest plans by what was asked for: the plan of a size that was looked for is
/// planned again when it is shown. For several threads at once. With a time limit each call searches.
class RematMemo {
public:
  static RematMemo &ofProcess();

  std::vector<RematPlan> front(const RematProblem &problem, const RematOptions &options);
  RematPlan smallest(const RematProblem &problem, const RematOptions &options);

private:
  struct Entry {
    RematProblem problem;
    RematOptions options;
    std::vector<RematPlan> plans;
    bool answers(const RematProblem &problem, const RematOptions &options) const;
  };
  using Entries = std::deque<Entry>;
  using Search = std::vector<RematPlan> (*)(const RematProblem &, const RematOptions &);

  std::vector<RematPlan> plans(Entries &entries, Search search, const RematProblem &problem,
                               const RematOptions &options);

  static constexpr size_t mostEntries = 6;

  std::mutex mutex;
  Entries fronts, smallestPlans;
};

/// Another order of a sequence's runs, or of runs that cost no more, with no larger peak; each seed has its
/// own. What packs badly in one order may pack well in another.
std::vector<int> rematOtherOrder(const RematProblem &problem, const std::vector<int> &sequence,
                                 uint64_t seed);

/// Only the lower bounds for this budget: `lowerBound` and `peakLowerBound` of the result.
RematPlan rematBound(const RematProblem &problem, int64_t budget, bool freeOrder);

/// `lowerBound` by budget, for many of them: what they have in common is found once, here. The problem must
/// outlive what is returned, which may be called from several threads.
std::function<double(int64_t budget)> rematBounds(const RematProblem &problem, bool freeOrder);

} // namespace kedge::solver
