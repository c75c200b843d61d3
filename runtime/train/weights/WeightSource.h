// A place that values of the model's tensors come from. A run asks its sources one after the other.
#pragma once
#include "runtime/program/Program.h"
#include "runtime/train/weights/StateValues.h"
#include <optional>

namespace kedge::rt {

class WeightSource {
public:
  virtual ~WeightSource() = default;
  /// The source looks for these states' values before it gives any. Throws rt::RuntimeError if it has others
  /// only.
  virtual void match(const std::vector<const State *> & /*states*/) {}
  /// Fills `destination`, the state's bytes; false if the source has no values for the state.
  virtual bool fill(const State &state, char *destination) = 0;
  /// The same for `codes`, the state that holds the codes of a weight in few bits, or one that adds to them;
  /// `whole` is that weight in f32.
  virtual bool fillCodes(const State &codes, const State &whole, char *destination);

protected:
  /// All values of `whole`, valid until the next call; none if the source does not have them.
  virtual std::optional<TensorSource> valuesOf(const State & /*whole*/) { return std::nullopt; }
};

} // namespace kedge::rt
