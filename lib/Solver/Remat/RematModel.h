// What the rematerialization solver derives from a problem once.
#pragma once
#include "lib/Solver/Remat/Rematerialization.h"
#include <span>

namespace kedge::solver {

/// Deterministic on every machine: no std:: distributions.
class RematRandom {
public:
  explicit RematRandom(uint64_t seed) : state(seed) { state = next() ^ (seed << 32); }
  uint64_t next();
  int below(int count) { return static_cast<int>((next() >> 32) * static_cast<uint64_t>(count) >> 32); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }

private:
  uint64_t state;
};

/// What each change of a sequence asks of a node, side by side.
struct RematStep {
  /// An output that takes the bytes of an input where that dies; each is one bit of those of the node.
  struct Reuse {
    int value; ///< the input
    int64_t bytes;
    uint64_t inputBit, outputBit;
  };
  double cost = 0;
  int64_t workspace = 0, made = 0; ///< bytes, of all outputs
  std::span<const int> inputs, outputs;
  std::span<const Reuse> reuses;
  bool required = true, repeatable = true;
  bool hasRules = false; ///< on when it may run, besides those of its values
};

struct RematModel {
  /// Throws std::invalid_argument where the problem contradicts itself.
  RematModel(const RematProblem &problem, bool freeOrder);
  RematModel(const RematModel &) = delete;

  const RematProblem &problem;
  bool freeOrder;
  int nodeCount, valueCount;
  double requiredCost = 0;                     ///< of the required nodes once
  std::vector<RematStep> steps;                ///< of a node
  std::vector<int64_t> bytes;                  ///< of a value
  std::vector<std::vector<int>> producers;     ///< of a value, the required one first
  std::vector<int> classOf;                    ///< of a value: values of one class have the same producers
  std::vector<std::vector<int>> classes;       ///< values of a class
  std::vector<int> classesMade;                ///< by a node: how many classes its outputs are of
  std::vector<std::vector<int>> readers;       ///< of a value
  std::vector<int> orderPosition;              ///< of a required node, else -1
  std::vector<std::vector<int>> runAfter;      ///< required nodes that must run once before this optional one
  std::vector<std::vector<int>> optionalAfter; ///< the other way round
  std::vector<std::vector<int>> overwrittenBy; ///< nodes after which this one must not run

private:
  void classify();
  void flatten();

  std::vector<int> lists; ///< what the spans of the steps are of
  std::vector<RematStep::Reuse> reuses;
};

/// The largest number of which every cost is a multiple, 0 where costs are no whole numbers: sums of costs
/// are multiples too, so a bound may be rounded up.
double costGrid(const RematProblem &problem);

} // namespace kedge::solver
