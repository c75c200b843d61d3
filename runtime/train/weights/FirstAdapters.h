// Values that adapters begin with and that follow from their weights.
#pragma once
#include "runtime/exec/Executor.h"
#include <functional>

namespace kedge::rt {

/// The norms of a weight's outputs (DoRA); a part of it as A and B, and the rest as the weight (PiSSA,
/// OLoRA); rows of it.
class FirstAdapters {
public:
  /// The values of a whole weight, as the file has them.
  using WholeWeight = std::function<std::vector<float>(const State &base)>;

  FirstAdapters(Executor &executor, WholeWeight wholeWeight)
      : executor(executor), wholeWeight(std::move(wholeWeight)) {}
  /// Whether the weight is what an adapter's first values leave of it.
  bool isRest(const State &state) const;
  void fillRest(const State &base, char *destination);
  /// A, B or a magnitude that no file gives. False if its values do not follow from a weight.
  bool fill(const State &state, char *destination);

private:
  const State *splitFactor(const State &base, bool isB) const;
  void split(const State &base);
  void norms(const State &base, const AdapterFactor &factor);

  Executor &executor;
  WholeWeight wholeWeight;
  std::string splitBase; ///< whose parts these are
  std::vector<float> a, b, rest, magnitudes;
};

} // namespace kedge::rt
