// Which values to keep and which to compute again, and in which order, under a byte budget. No MLIR: also the
// engine of `kedge-bench remat`. Replaces the fixed T x T stages of Checkmate (Jain et al., MLSys 2020) by an
// execution sequence in which a node may occur more than once, as Moccasin and FastSA do.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace kedge::solver {

/// A value lives from the execution that makes it to its last read before it is made again.
struct RematValue {
  int64_t bytes = 0;
  bool given = false;     ///< is there at the start, with no node to make it
  bool keptToEnd = false; ///< must still be there after the last step
};

/// One kernel launch.
struct RematNode {
  double cost = 0;       ///< of one execution, in any unit
  int64_t workspace = 0; ///< bytes that live during the execution only
  std::vector<int> inputs, outputs; ///< values, each once
  /// Output `output` may take the bytes of input `input` (positions in the lists above) where the input dies and is
  /// not smaller; each input serves one output, in the order of the list.
  struct Reuse {
    int output, input;
  };
  std::vector<Reuse> reuses;
  /// False: another way to make values that a required node makes too (one result of a kernel with several, a
  /// copy back from the host). Runs only where that helps, and only after the required one.
  bool required = true;
  bool repeatable = true; ///< false: runs exactly once (at most once, where not required)
  /// Nodes that must not run after this one, because it overwrites state that they read.
  std::vector<int> overwrites;
};

struct RematProblem {
  std::vector<RematNode> nodes;
  std::vector<RematValue> values;
  std::vector<int> order; ///< of the required nodes; a valid execution
};

struct RematOptions {
  int64_t budget = 0;      ///< bytes; the peak of a plan never exceeds it
  bool freeOrder = true;   ///< false: first executions keep the order of the problem
  int64_t effort = 0;      ///< search steps, 0: a default that follows from the problem; plans depend on it alone
  double timeLimit = 0;    ///< seconds of processor time, 0: none; for benchmarks, since it makes plans depend on the machine
  uint64_t seed = 1;
  std::vector<std::vector<int>> starts; ///< valid sequences to begin from, such as those of named policies
  std::function<void(double)> progress; ///< told the share of the search that is done; may be empty
};

struct RematPlan {
  bool feasible = false;
  std::vector<int> sequence; ///< of node indices; without a feasible plan that of the smallest peak found
  int64_t peak = 0;          ///< bytes, of `sequence`
  double addedCost = 0;      ///< cost of `sequence` less that of the required nodes once
  double lowerBound = 0;     ///< proven: no plan within the budget adds less; infinite when none exists
  int64_t peakLowerBound = 0; ///< proven: no plan has a smaller peak
  int foldedNodes = 0; ///< of the few layers that were solved in place of all that are alike; 0: none are
};

/// Bytes at the worst step of a sequence; -1 where an input is not there, or a rule of the problem is broken.
int64_t peakOf(const RematProblem &problem, const std::vector<int> &sequence);

/// Bytes that live at each step of a valid sequence.
std::vector<int64_t> bytesPerStep(const RematProblem &problem, const std::vector<int> &sequence);

/// Throws std::invalid_argument where the problem contradicts itself or its order is no execution.
/// The cheapest plan found within the budget. Over a sweep of budgets with the same other options (and no time
/// limit) the added cost never rises with the budget.
RematPlan rematerialize(const RematProblem &problem, const RematOptions &options);

/// The plans among which `rematerialize` without a time limit chooses, by falling peak and rising cost: each is the
/// cheapest found for budgets from its peak up to that of the plan before it, and the last has the smallest peak
/// found. The budget of the options does not matter. Lower bounds are left at 0: rematBound tells them.
std::vector<RematPlan> rematFront(const RematProblem &problem, const RematOptions &options);

/// Lower bounds alone: `lowerBound` and `peakLowerBound` of a plan for this budget.
RematPlan rematBound(const RematProblem &problem, int64_t budget, bool freeOrder);

} // namespace kedge::solver
