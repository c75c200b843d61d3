#include "runtime/train/LossScaler.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <cmath>

namespace kedge::rt {
namespace {

const double kSmallest = std::ldexp(1.0, -24);

/// As many halvings take a dynamic scale from its first value, 2^16, to below the smallest.
constexpr int64_t kMostSkipsInRow = 41;

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

std::optional<ScaleCollapse> LossScaler::collapse(const LossScale &before, const LossScale &after,
                                                  int64_t step) {
  const bool skipped = after.optimizerSteps == before.optimizerSteps;
  skipsInRow = skipped ? skipsInRow + 1 : 0;
  if (!skipped)
    return std::nullopt;
  constexpr const char *remedy =
      "; no scale is small enough: a lower --lr, a longer --warmup, --clip-norm, or --precision bf16 may "
      "help";
  const CompiledOptions &options = executor.program().options;
  if (options.lossScaleFixed && skipsInRow >= kMostSkipsInRow)
    return ScaleCollapse{
        fmt::format("step {} overflowed, the {}th step in a row, and --loss-scale {} stays as it is", step,
                    skipsInRow, before.scale),
        "; a smaller one, --loss-scale dynamic, a lower --lr or --precision bf16 may help"};
  if (options.lossScaleMin > 0 && before.scale <= options.lossScaleMin && before.hysteresis <= 1)
    return ScaleCollapse{fmt::format("step {} overflowed at the smallest loss scale, {} (--loss-scale-min)",
                                     step, before.scale),
                         remedy};
  if (after.scale < kSmallest)
    return ScaleCollapse{fmt::format("step {} overflowed and the loss scale fell to {}", step, after.scale),
                         remedy};
  return std::nullopt;
}

} // namespace kedge::rt
