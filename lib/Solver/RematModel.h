// What the rematerialization solver derives from a problem once.
#pragma once
#include "kedge/Solver/Rematerialization.h"

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

struct RematModel {
  /// Throws std::invalid_argument where the problem contradicts itself.
  RematModel(const RematProblem &problem, bool freeOrder);

  const RematProblem &problem;
  bool freeOrder;
  int nodeCount, valueCount;
  double requiredCost = 0;                     ///< of the required nodes once
  std::vector<std::vector<int>> producers;     ///< of a value, the required one first
  std::vector<int> classOf;                    ///< of a value: values of one class have the same producers
  std::vector<std::vector<int>> classes;       ///< values of a class
  std::vector<int> classesMade;                ///< by a node: how many classes its outputs are of
  std::vector<char> mayReuse;                  ///< of a node: an output may take the bytes of an input
  std::vector<std::vector<int>> readers;       ///< of a value
  std::vector<int> orderPosition;              ///< of a required node, else -1
  std::vector<std::vector<int>> runAfter;      ///< required nodes that must run once before this optional one
  std::vector<std::vector<int>> optionalAfter; ///< the other way round
  std::vector<std::vector<int>> overwrittenBy; ///< nodes after which this one must not run

private:
  void classify();
};

} // namespace kedge::solver
