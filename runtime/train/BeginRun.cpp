#include "runtime/train/BeginRun.h"
#include "runtime/io/Error.h"
#include "runtime/train/weights/Averages.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {
namespace {

/// A checkpoint of a run without loss scaling leaves the scale at its first value.
void setLossScale(LossScaler &scaler, const RunProgress &progress, const Checkpoint *checkpoint) {
  if (!scaler.isActive())
    return;
  LossScale values = checkpoint && checkpoint->lossScale ? *checkpoint->lossScale : scaler.read();
  // A scale below that of the program's beginning has come down by overflows, which end the run at 2^-24.
  if (const double least = std::min(scaler.read().scale, std::ldexp(1.0, -24)); values.scale < least)
    fail("{}: 'loss_scale' is {}, expected at least {}", checkpoint->folder, values.scale, least);
  values.optimizerSteps = progress.optimizerSteps;
  scaler.write(values);
}

void writeScalars(Executor &executor, const RunScalars &scalars, const RunProgress &progress,
                  const World &world) {
  StepPoint point;
  point.step = progress.step;
  point.optimizerSteps = progress.optimizerSteps;
  point.world = world;
  ScalarWriter(executor.program()).write(executor, scalars, point);
}

} // namespace

std::unique_ptr<LossScaler> beginRun(Executor &executor, const RunScalars &scalars,
                                     const RunProgress &progress, const World &world,
                                     const Checkpoint *checkpoint) {
  auto scaler = std::make_unique<LossScaler>(executor);
  setLossScale(*scaler, progress, checkpoint);
  writeScalars(executor, scalars, progress, world);
  if (!checkpoint && executor.program().function("init"))
    executor.run("init");
  if (executor.program().function("restore"))
    executor.run("restore");
  if (!checkpoint)
    startAverages(executor);
  return scaler;
}

void restoreDerived(Executor &executor, const RunScalars &scalars, const RunProgress &progress,
                    const World &world) {
  if (!executor.program().function("restore"))
    return;
  writeScalars(executor, scalars, progress, world);
  executor.run("restore");
}

} // namespace kedge::rt
