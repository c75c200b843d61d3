// Which first runs must come before which, and what that alone holds at each of them.
#pragma once
#include "lib/Solver/Remat/ProgramPoint.h"

namespace kedge::solver {

class RematPrecedence {
public:
  explicit RematPrecedence(const RematModel &model);

  /// Whether the first runs of the others must be before or after that of `node`.
  std::vector<ProgramPoint::When> around(int node) const;

  /// About what the first run of each required node takes in any order where nothing is made again: what
  /// nodes before it make and nodes after it read, and what it reads and makes itself.
  std::vector<int64_t> heldAt() const;

private:
  using Row = std::vector<uint64_t>;
  static bool has(const Row &row, int node) { return row[node / 64] >> (node % 64) & 1; }
  void addAll(int node);

  const RematModel &model;
  std::vector<Row> before, after; ///< [node], bits of the others: those that must run before it, and after it
};

} // namespace kedge::solver
