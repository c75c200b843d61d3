// Annealing over execution sequences: run a node again before a read, drop a run, move a step.
#pragma once
#include "lib/Solver/Remat/RematSequence.h"
#include <functional>

namespace kedge::solver {

struct AnnealOptions {
  int64_t work = 0;                       ///< RematSequence::work
  double startHeat = 0.5, endHeat = 0.01; ///< in mean costs of a node
  /// What a sequence may be over the budget while it is hot: a share of the budget in each block, times the
  /// heat. With a hard limit what is decided first stays, since each way from one plan to another leads over
  /// plans that do not fit.
  double slack = 0;
  /// Of the sequences that cost the least, the last one and not the first: another order of the same runs.
  bool last = false;
  std::function<double()>
      progress;                    ///< share of the time that is over, at most that of the work; may be empty
  std::function<bool()> outOfTime; ///< asked now and then; may be empty
};

/// Best sequence that an annealing run met.
struct AnnealResult {
  bool feasible = false;
  double cost = 0;   ///< of all steps; only where feasible
  double excess = 0; ///< the smallest met, where not feasible
  std::vector<int> sequence;
};

class RematSearch {
public:
  RematSearch(const RematModel &model, uint64_t seed);

  /// Anneals from `start` under `budget`.
  AnnealResult anneal(const std::vector<int> &start, int64_t budget, const AnnealOptions &options);

private:
  bool propose(RematSequence &sequence);
  bool runAgain(RematSequence &sequence);
  bool runAgainAcrossPeak(RematSequence &sequence);
  bool runAgainBefore(RematSequence &sequence, int value, int read);
  bool runInputsAgain(RematSequence &sequence, int slot, double probability, int &left);
  bool dropRun(RematSequence &sequence);
  bool moveStep(RematSequence &sequence);
  bool moveBranch(RematSequence &sequence);
  bool collectBranch(const RematSequence &sequence, int slot, int target);
  bool postponeOverwrites(RematSequence &sequence, int node, int slot);
  int pickStep(const RematSequence &sequence);
  bool mayRunAgain(const RematSequence &sequence, int node) const;

  const RematModel &model;
  RematRandom random;
  std::vector<char> inBranch; ///< of a value: read (or made) by the steps that moveBranch moves
  std::vector<int> branch;    ///< their slots
  double branchShare = 0;     ///< of the moves
  double costLimit = 0;       ///< of a sequence that the current move could still be accepted with
};

} // namespace kedge::solver
