#include "runtime/library/AppliedGradients.h"
#include "runtime/format/Convert.h"
#include "runtime/train/output/Gradients.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::rt {

AppliedGradients::AppliedGradients(Executor &executor, const StepParts &parts, const RunScalars &scalars,
                                   Given given)
    : executor(executor), program(executor.program()), parts(parts), scalars(scalars),
      given(std::move(given)), writer(program), items(program.result(parts.function().name, "items")),
      norm(program.result(parts.function().name, "grad_norm")) {}

/// Gradients are of as many items as the program was compiled for, so that it divides by nothing.
void AppliedGradients::begin(const RunProgress &progress) {
  StepPoint point;
  point.step = progress.step;
  point.optimizerSteps = progress.optimizerSteps;
  point.micro = program.options.accumulate - 1;
  point.items = program.options.nominalItems;
  writer.write(executor, scalars, point);
  if (items)
    executor.write(items->offset, items->desc.bytes(),
                   [&](char *to) { storeDouble(items->desc.type, to, 0, program.options.nominalItems); });
}

bool AppliedGradients::watches(const Function &function, int launch) const {
  return launch == function.normReady ||
         std::any_of(function.gradients.begin(), function.gradients.end(),
                     [&](const GradientSlot &place) { return place.afterLaunch == launch; });
}

bool AppliedGradients::afterLaunch(const Function &function, int launch) {
  const double ofItems =
      items || function.name == "update" ? program.options.nominalItems : program.options.itemsPerBatch;
  for (const GradientSlot &place : function.gradients)
    if (place.afterLaunch == launch)
      placeGradient(executor, function, place, given(place.parameter), ofItems);
  return launch != function.normReady || !norm || std::isfinite(readResult(executor, *norm));
}

StepResult AppliedGradients::run(const RunProgress &progress) {
  begin(progress);
  StepResult result;
  result.skipped = !executor.run(parts.function().name, this);
  result.loss = result.items = std::numeric_limits<double>::quiet_NaN();
  if (norm)
    result.gradNorm = readResult(executor, *norm);
  return result;
}

void AppliedGradients::explainOverflow(const RunProgress &, const StepResult &, const std::string &head,
                                       const std::string &help) {
  throw NotFinite(fmt::format("{}: the gradients that were given are not finite; {}", head, help));
}

} // namespace kedge::rt
