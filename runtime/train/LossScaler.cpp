#include "runtime/train/LossScaler.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <cmath>

namespace kedge::rt {
namespace {

const double kSmallest = std::ldexp(1.0, -24);

} // namespace

LossScaler::LossScaler(Executor &executor)
    : executor(executor), scale(executor.program().state("scaler.loss_scale")),
      growthCounter(executor.program().state("scaler.growth_counter")),
      hysteresis(executor.program().state("scaler.hysteresis")),
      optimizerSteps(executor.program().state("scaler.optimizer_steps")) {}

double LossScaler::load(const State &state) const {
  return loadAsDouble(state.desc.type, executor.read(state), 0);
}

void LossScaler::store(const State &state, double value) {
  executor.write(state, [&](char *place) { storeDouble(state.desc.type, place, 0, value); });
}

LossScale LossScaler::read() const {
  return {load(*scale), static_cast<int64_t>(load(*growthCounter)), static_cast<int64_t>(load(*hysteresis)),
          static_cast<int64_t>(load(*optimizerSteps))};
}

void LossScaler::write(const LossScale &values) {
  store(*scale, values.scale);
  store(*growthCounter, static_cast<double>(values.growthCounter));
  store(*hysteresis, static_cast<double>(values.hysteresis));
  store(*optimizerSteps, static_cast<double>(values.optimizerSteps));
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
