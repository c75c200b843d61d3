#include "runtime/library/SessionGradients.h"
#include "runtime/train/output/Gradients.h"
#include <algorithm>

namespace kedge::rt {

void SessionGradients::add(const State &state, const std::vector<int64_t> &shape) {
  const auto count = static_cast<size_t>(TensorDesc{DType::F32, shape}.elements());
  places[state.name] = {total, count};
  total += count;
}

void SessionGradients::checkPlace(const float *array, size_t bytes) const {
  if (!array || bytes != total * sizeof(float))
    throw WrongCall(
        fmt::format("all parameters together take {} bytes (f32[{}]; kedge_parameter_at lists them), and "
                    "the place for them has {}",
                    total * sizeof(float), total, array ? bytes : 0));
}

void SessionGradients::keep(bool wanted) {
  kept = wanted;
  if (!wanted) {
    known = false;
    values = {};
  }
}

/// Parameters that the loss does not depend on keep their zeros.
GradientWatch &SessionGradients::begin(Executor &ofStep) {
  executor = &ofStep;
  known = false;
  values.assign(total, 0);
  return *this;
}

void SessionGradients::visit(const Function &function, int launch, int64_t, double items) {
  for (const GradientSlot &place : function.gradients) {
    const auto found = places.find(place.parameter);
    if (place.afterLaunch != launch || found == places.end())
      continue;
    const uint64_t bytes = found->second.count * dtypeSize(place.type);
    copyGradient(*executor, function, place, executor->read(place.space, place.offset, bytes), items,
                 values.data() + found->second.first);
  }
}

void SessionGradients::copy(Place place, const std::string &name, float *to, size_t bytes) const {
  if (!known)
    throw WrongCall(
        "no step has kept its gradients: call kedge_keep_gradients(session, 1), then kedge_step; or "
        "kedge_compute_gradients");
  if (!to || bytes != place.count * sizeof(float))
    throw WrongCall(fmt::format("the gradient of '{}' takes {} bytes (f32[{}]), and the place for it has {}",
                                name, place.count * sizeof(float), place.count, to ? bytes : 0));
  std::copy_n(values.begin() + static_cast<ptrdiff_t>(place.first), place.count, to);
}

} // namespace kedge::rt
