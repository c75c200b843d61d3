// What several ranks traced, as one rank would have it.
#pragma once
#include "driver/diff/Trace.h"
#include <deque>
#include <functional>
#include <memory>

namespace kedge::driver {

/// The traces of a run. Of several ranks, a state is put together from its parts, and a value from what the
/// program says that ranks have of it along `tensor`. Rows along other axes and in several micro-batches may
/// be copies, blocks in a row or terms of a sum: each reading whose shape is wanted is given, with one
/// `origin`.
class GatheredTrace {
public:
  /// Which shapes are of use: they are asked for by their keys, without data.
  using Wanted = std::function<bool(const TracedTensor &)>;

  /// Of the files that runTraced() names after `file`.
  GatheredTrace(const std::string &file, int64_t ranks);
  /// Of one rank all that it traced; of several, and where micro-batches are joined, what has a name.
  std::vector<TracedTensor> tensors(const Wanted &wanted, bool joinsMicros);
  int64_t ranks() const { return static_cast<int64_t>(traces.size()); }
  /// Micro-batches of a step.
  int64_t micros() const;
  /// What tensors() left out: values without a name, and parts that make nothing wanted.
  int64_t leftOut() const { return without; }

private:
  std::vector<std::unique_ptr<Trace>> traces;
  std::deque<std::vector<char>> storage;
  int64_t without = 0;
};

} // namespace kedge::driver
