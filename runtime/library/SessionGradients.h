// All parameters of a session as one array of fp32, and the gradients of its last step in the same order.
#pragma once
#include "runtime/library/WrongCall.h"
#include "runtime/train/Step.h"
#include <map>

namespace kedge::rt {

class SessionGradients : public GradientWatch {
public:
  /// Elements of the array.
  struct Place {
    size_t first = 0, count = 0;
  };

  /// The next parameter of the array.
  void add(const State &state, const std::vector<int64_t> &shape);
  Place placeOf(const State &state) const { return placeOf(state.name); }
  Place placeOf(const std::string &state) const { return places.at(state); }
  Place whole() const { return {0, total}; }
  /// Throws WrongCall unless all parameters fit exactly.
  void checkPlace(const float *values, size_t bytes) const;

  void keep(bool wanted);
  bool isKept() const { return kept; }
  /// Around a step.
  GradientWatch &begin(Executor &executor);
  void end() { known = kept; }
  /// They are of the last call, whether steps keep theirs or not.
  void found() { known = true; }
  /// Throws WrongCall if no step has kept them, or if `bytes` are not those of the place. `name` is for
  /// messages.
  void copy(Place place, const std::string &name, float *values, size_t bytes) const;

  void visit(const Function &function, int launch, int64_t step, double items) override;
  bool wants(int64_t) const override { return true; }

private:
  Executor *executor = nullptr;
  std::map<std::string, Place> places; ///< by the name of the state
  size_t total = 0;
  std::vector<float> values;
  bool kept = false, known = false;
};

} // namespace kedge::rt
