#include "runtime/train/report/Effects.h"
#include "runtime/io/Error.h"

namespace kedge::rt {
namespace {

void expect(bool given, const char *flag, bool acts, const char *needs) {
  if (given && !acts)
    fail("{} would have no effect: {}", flag, needs);
}

void checkStep(const char *flag, int64_t step, int64_t first, int64_t end) {
  if (step < first || step >= end)
    fail("{} {}: expected a step of this run, which takes the steps {} to {}", flag, step, first, end - 1);
}

} // namespace

void checkEffects(const Options &options, const RunScalars &scalars, const CompiledOptions &program,
                  int64_t first) {
  const ScalarOptions &given = options.scalars;
  const bool declines = scalars.schedule != ScheduleKind::Constant, isSgd = program.optimizer == "sgd";
  expect(given.minLr.has_value(), "--min-lr", declines,
         "--schedule constant keeps the rate; give another schedule with it");
  expect(given.decaySteps.has_value(), "--decay-steps", declines,
         "--schedule constant keeps the rate; give another schedule with it");
  expect(given.warmupStart.has_value(), "--warmup-start",
         scalars.warmup > 0 || scalars.schedule == ScheduleKind::OneCycle,
         "there is no warm-up; give --warmup N with it");
  expect(given.beta1.has_value(), "--betas", !isSgd,
         "the program was compiled with --optimizer sgd, which has none");
  expect(given.eps.has_value(), "--eps", !isSgd,
         "the program was compiled with --optimizer sgd, which has none");
  expect(given.dpoBeta.has_value(), "--dpo-beta", program.dpoBeta.has_value(),
         "the program's loss has no such scalar; compile it with --loss dpo, ipo, orpo, simpo or kto");
  const char *ownUpdates = "the model's training_info says how it trains";
  expect(given.lr.has_value(), "--lr", !program.trainingInfo, ownUpdates);
  expect(given.schedule.has_value(), "--schedule", !program.trainingInfo, ownUpdates);
  expect(given.warmup.has_value(), "--warmup", !program.trainingInfo, ownUpdates);
  expect(given.weightDecay.has_value(), "--weight-decay", !program.trainingInfo, ownUpdates);
  if (!options.dumpGradients.empty() && first < scalars.steps)
    checkStep("--dump-step", options.dumpStep, first, scalars.steps);
}

std::string aboutStretched(const RunScalars &now, const RunScalars &before, int64_t step) {
  const bool same = now.schedule == before.schedule && now.lr == before.lr && now.minLr == before.minLr &&
                    now.warmup == before.warmup && now.decaySteps != before.decaySteps;
  constexpr double kRises = 1.01;
  if (step == 0 || !same || now.decayStepsGiven || now.schedule == ScheduleKind::Constant ||
      learningRate(now, step) <= kRises * learningRate(before, step))
    return "";
  return fmt::format("--steps {}: the schedule '{}' of this run was to end at step {}, and now ends at step "
                     "{}: the rate of the next step is {:.3g}, and was to be {:.3g}; --decay-steps {} keeps "
                     "it, and a new --checkpoint-dir begins anew",
                     now.steps, scheduleName(now.schedule), before.decaySteps, now.decaySteps,
                     learningRate(now, step), learningRate(before, step), before.decaySteps);
}

std::string aboutSchedule(const RunScalars &scalars) {
  if (scalars.warmup > 0 && scalars.warmup >= scalars.steps)
    return fmt::format("--warmup {} is not below --steps {}: the whole run warms up, and its largest rate is "
                       "{:.3g} of --lr {:.3g}",
                       scalars.warmup, scalars.steps, learningRate(scalars, scalars.steps - 1), scalars.lr);
  const bool decays = scalars.schedule == ScheduleKind::Linear || scalars.schedule == ScheduleKind::Cosine;
  if (decays && scalars.decayStepsGiven && scalars.decaySteps <= scalars.warmup)
    return fmt::format("--decay-steps {} is not above --warmup {}: the rate falls to --min-lr {:.3g} at the "
                       "step after the warm-up",
                       scalars.decaySteps, scalars.warmup, scalars.minLr);
  return "";
}

} // namespace kedge::rt
