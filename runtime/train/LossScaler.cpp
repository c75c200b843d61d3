#include "runtime/train/LossScaler.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <cmath>

namespace kedge::rt {
namespace {

constexpr const char *kScale = "scaler.loss_scale", *kCounter = "scaler.growth_counter",
                     *kHysteresis = "scaler.hysteresis", *kSteps = "scaler.optimizer_steps";
const double kSmallest = std::ldexp(1.0, -24);

double load(const Executor &executor, const char *name) {
  const State &state = *executor.program().state(name);
  return loadAsDouble(state.desc.type, executor.read(state), 0);
}

void store(Executor &executor, const char *name, double value) {
  const State &state = *executor.program().state(name);
  executor.write(state, [&](char *place) { storeDouble(state.desc.type, place, 0, value); });
}

} // namespace

bool LossScaler::isActive() const { return executor.program().state(kScale) != nullptr; }

LossScale LossScaler::read() const {
  return {load(executor, kScale), static_cast<int64_t>(load(executor, kCounter)),
          static_cast<int64_t>(load(executor, kHysteresis)), static_cast<int64_t>(load(executor, kSteps))};
}

void LossScaler::write(const LossScale &values) {
  store(executor, kScale, values.scale);
  store(executor, kCounter, static_cast<double>(values.growthCounter));
  store(executor, kHysteresis, static_cast<double>(values.hysteresis));
  store(executor, kSteps, static_cast<double>(values.optimizerSteps));
}

void LossScaler::checkNotCollapsed(const LossScale &before, const LossScale &after, int64_t step) const {
  if (after.optimizerSteps != before.optimizerSteps)
    return;
  constexpr const char *remedy = "gradients overflow at any scale: a lower --lr, a longer --warmup, --clip-norm, or --precision "
                                 "bf16 may help; the last checkpoint is whole";
  const double minimum = executor.program().options.lossScaleMin;
  if (minimum > 0 && before.scale <= minimum && before.hysteresis <= 1)
    fail("step {} overflowed at the smallest loss scale, {} (--loss-scale-min); {}", step, before.scale, remedy);
  if (after.scale < kSmallest)
    fail("step {} overflowed and the loss scale fell to {}; {}", step, after.scale, remedy);
}

} // namespace kedge::rt
