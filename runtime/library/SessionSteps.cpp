// The steps of a session: whole, or in two parts with the caller between them.
#include "runtime/io/Say.h"
#include "runtime/library/AppliedGradients.h"
#include "runtime/library/LearningSession.h"
#include "runtime/train/CompletedStep.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace kedge::rt {
namespace {

const World kOneRank;

} // namespace

/// Of the next step; without what only its end shows.
kedge_step_result LearningSession::beginStep() const {
  requireWhole();
  if (scalars.steps != 0 && progress.step >= scalars.steps)
    throw WrongCall(
        fmt::format("all {} steps of --steps are done: open the session with more", scalars.steps));
  kedge_step_result result{};
  result.step = progress.step;
  result.learning_rate = program.options.trainingInfo ? std::numeric_limits<double>::quiet_NaN()
                                                      : learningRate(scalars, progress.step);
  return result;
}

/// The rows of the next step are checked.
Dataset LearningSession::rowsOfStep() {
  Dataset data = takeInputs(true);
  data.shuffle(scalars.shuffle);
  checkIntegers(data,
                {progress.samples, rowsInStep(kOneRank, program.options.batch, program.options.accumulate)});
  return data;
}

kedge_step_result LearningSession::ended(kedge_step_result result, const StepResult &done,
                                         bool skipped) const {
  if (done.items == 0)
    say(fmt::format("kedge: warning: step {} has no item: every label is ignored, or its weight is 0; loss "
                    "and gradient are 0",
                    result.step));
  result.loss = done.loss;
  result.gradient_norm = done.gradNorm.value_or(std::numeric_limits<double>::quiet_NaN());
  result.skipped = skipped;
  return result;
}

kedge_step_result LearningSession::step() {
  const InputsOfCall released{*this};
  kedge_step_result result = beginStep();
  const Dataset data = rowsOfStep();
  StepRunner runner(*executor, data, scalars, kOneRank, whenNonFinite(*scaler, options.continueOnNan));
  if (gradients.isKept())
    runner.watch(&gradients.begin(*executor));
  broken = true;
  const CompletedStep done = completeStep(runner, *executor, *scaler, kOneRank, progress);
  broken = false;
  gradients.end();
  savedStep = -1;
  return ended(result, done.result, done.skipped);
}

const StepParts &LearningSession::partsOfStep() {
  if (!parts)
    parts.emplace(program);
  return *parts;
}

kedge_step_result LearningSession::computeGradients() {
  const InputsOfCall released{*this};
  kedge_step_result result = beginStep();
  const StepParts &ofStep = partsOfStep();
  const Dataset data = rowsOfStep();
  StepRunner runner(*executor, data, scalars, kOneRank, whenNonFinite(*scaler, options.continueOnNan));
  runner.leaveUpdatesOut(ofStep);
  runner.watch(&gradients.begin(*executor));
  broken = true;
  const StepResult done = runner.run(progress);
  broken = false;
  gradients.found();
  savedStep = -1;
  return ended(result, done, done.skipped);
}

/// Where a step can skip its update, one with such gradients is skipped.
void LearningSession::checkGiven(const float *values) const {
  for (const Described &parameter : describedParameters) {
    const SessionGradients::Place place = gradients.placeOf(*parameter.state);
    const std::span<const float> given(values + place.first, place.count);
    const auto isNot = [&](auto &&holds) { return !std::all_of(given.begin(), given.end(), holds); };
    if (!options.continueOnNan && !scaler->isActive() &&
        isNot([](float value) { return std::isfinite(value); }))
      throw WrongCall(fmt::format("the gradient of '{}' that was given is not finite", parameter.name));
    if (!parts->hasGradient(parameter.state->name) && isNot([](float value) { return value == 0; }))
      throw WrongCall(
          fmt::format("a gradient of '{}' was given, and the loss does not depend on it: expected zeros",
                      parameter.name));
  }
}

kedge_step_result LearningSession::applyGradients(const float *values, size_t bytes) {
  kedge_step_result result = beginStep();
  gradients.checkPlace(values, bytes);
  const StepParts &ofStep = partsOfStep();
  checkGiven(values);
  AppliedGradients source(*executor, ofStep, scalars,
                          [&](const std::string &state) { return values + gradients.placeOf(state).first; });
  broken = true;
  const CompletedStep done = completeStep(source, *executor, *scaler, kOneRank, progress);
  broken = false;
  savedStep = -1;
  return ended(result, done.result, done.skipped);
}

} // namespace kedge::rt
