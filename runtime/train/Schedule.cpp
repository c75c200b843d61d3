#include "runtime/train/Schedule.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace kedge::rt {
namespace {

template <typename T> T firstOf(const std::optional<T> &given, const std::optional<T> &saved, T fallback) {
  return given ? *given : saved ? *saved : fallback;
}

/// Inputs of the scalars' formulas.
struct Context {
  const Program &program;
  const CompiledOptions &options;
  const RunScalars &scalars;
  const StepPoint &point;

  double lr() const { return learningRate(scalars, point.step); }
  double update() const { return static_cast<double>(point.optimizerSteps + 1); }
  double correction1() const { return 1 - std::pow(scalars.beta1, update()); }
  double correction2() const { return 1 - std::pow(scalars.beta2, update()); }
};

struct Formula {
  const char *name;
  double (*value)(const Context &);
};

// Integers stay exact in double up to 2^53; the seed is written apart.
constexpr Formula kFormulas[] = {
    {"lr", [](const Context &c) { return c.lr(); }},
    {"beta1", [](const Context &c) { return c.scalars.beta1; }},
    {"beta2", [](const Context &c) { return c.scalars.beta2; }},
    // For Adam's corrections on the device, in f64.
    {"exact_lr", [](const Context &c) { return c.lr(); }},
    {"exact_beta1", [](const Context &c) { return c.scalars.beta1; }},
    {"exact_beta2", [](const Context &c) { return c.scalars.beta2; }},
    {"one_minus_beta1", [](const Context &c) { return 1 - c.scalars.beta1; }},
    {"one_minus_beta2", [](const Context &c) { return 1 - c.scalars.beta2; }},
    {"eps", [](const Context &c) { return c.scalars.eps; }},
    {"weight_decay", [](const Context &c) { return c.scalars.weightDecay; }},
    {"dpo_beta", [](const Context &c) { return c.scalars.dpoBeta; }},
    {"momentum", [](const Context &c) { return c.options.momentum; }},
    {"lr_decay", [](const Context &c) { return c.lr() * c.scalars.weightDecay; }},
    {"step", [](const Context &c) { return static_cast<double>(c.point.step); }},
    {"optimizer_step", [](const Context &c) { return c.update(); }},
    {"bias_correction1", [](const Context &c) { return c.correction1(); }},
    {"bias_correction2_sqrt", [](const Context &c) { return std::sqrt(c.correction2()); }},
    {"step_size", [](const Context &c) { return c.lr() / c.correction1(); }},
    // Adafactor's: how much of the new mean enters, and the largest relative step.
    {"adafactor_mix", [](const Context &c) { return std::pow(c.update(), -0.8); }},
    {"inverse_sqrt_step", [](const Context &c) { return 1 / std::sqrt(c.update()); }},
    {"adopt_clip", [](const Context &c) { return std::pow(c.update() - 1, 0.25); }},
    // The place among ranks with rows of their own, and along the axes whose ranks have the same rows.
    {"rank", [](const Context &c) { return static_cast<double>(c.point.world.rank); }},
    {"place_tensor", [](const Context &c) { return static_cast<double>(c.program.tensorPlace); }},
    {"place_pipeline", [](const Context &c) { return static_cast<double>(c.program.pipelinePlace); }},
    {"micro", [](const Context &c) { return static_cast<double>(c.point.micro); }},
    {"row_base",
     [](const Context &c) {
       const int64_t ofPart = c.options.accumulate / c.options.parts;
       return static_cast<double>(rowsOfStep(c.point.world, c.options.batch, c.point.micro, c.options.parts,
                                             ofPart, c.options.joinedMicroBatches)
                                      .first);
     }},
    {"nominal_items", [](const Context &c) { return c.options.nominalItems; }},
    {"items", [](const Context &c) { return c.point.items; }},
    {"item_scale",
     [](const Context &c) { return c.point.items > 0 ? c.options.nominalItems / c.point.items : 0.0; }},
    {"clip_norm", [](const Context &c) { return c.options.clipNorm; }},
};

const Formula *findFormula(const std::string &name) {
  for (const Formula &formula : kFormulas)
    if (name == formula.name)
      return &formula;
  return nullptr;
}

} // namespace

RunScalars resolveScalars(const ScalarOptions &given, const ScalarOptions &saved,
                          const CompiledOptions &program) {
  RunScalars r;
  r.steps = firstOf<int64_t>(given.steps, saved.steps, 0);
  const ScalarOptions &compiled = program.schedule;
  r.decayStepsGiven = given.decaySteps || saved.decaySteps || compiled.decaySteps;
  r.decaySteps = firstOf<int64_t>(given.decaySteps, saved.decaySteps, compiled.decaySteps.value_or(r.steps));
  r.warmup = firstOf<int64_t>(given.warmup, saved.warmup, compiled.warmup.value_or(0));
  r.seed = firstOf<int64_t>(given.seed, saved.seed, program.seed);
  r.lr = firstOf(given.lr, saved.lr, program.lr);
  r.minLr = firstOf(given.minLr, saved.minLr, compiled.minLr.value_or(0));
  r.warmupStart = firstOf(given.warmupStart, saved.warmupStart, compiled.warmupStart.value_or(0));
  r.weightDecay = firstOf(given.weightDecay, saved.weightDecay, program.weightDecay);
  r.beta1 = firstOf(given.beta1, saved.beta1, program.beta1);
  r.beta2 = firstOf(given.beta2, saved.beta2, program.beta2);
  r.eps = firstOf(given.eps, saved.eps, program.eps);
  r.dpoBeta = program.dpoBeta ? firstOf(given.dpoBeta, saved.dpoBeta, *program.dpoBeta) : 0;
  r.schedule = firstOf(given.schedule, saved.schedule, compiled.schedule.value_or(ScheduleKind::Constant));
  if (r.schedule == ScheduleKind::OneCycle) { // PyTorch's 25 and 1e4
    r.warmupStart = firstOf(given.warmupStart, saved.warmupStart, compiled.warmupStart.value_or(0.04));
    r.minLr = firstOf(given.minLr, saved.minLr, compiled.minLr.value_or(r.lr * r.warmupStart / 1e4));
  }
  r.shuffle = given.shuffle ? given.shuffle : saved.shuffle;
  if (r.schedule == ScheduleKind::Wsd && !r.decayStepsGiven)
    fail("--schedule wsd needs --decay-steps: the length of the decay at the end of --steps");
  if (r.schedule == ScheduleKind::Wsd && r.decaySteps > r.steps)
    fail("--schedule wsd: a decay of {} steps does not fit into --steps {}", r.decaySteps, r.steps);
  return r;
}

/// PyTorch's OneCycleLR: half a cosine up, and another down to the end.
static double oneCycleRate(const RunScalars &c, double step) {
  const auto halfCosine = [](double from, double to, double share) {
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
  };
  constexpr double kRise = 0.3; // of all steps
  const double all = static_cast<double>(c.decaySteps), last = all - 1,
               top = (c.warmup > 0 ? static_cast<double>(c.warmup) : kRise * all) - 1;
  if (step <= top)
    return halfCosine(c.lr * c.warmupStart, c.lr, top > 0 ? step / top : 1);
  return halfCosine(c.lr, c.minLr, last > top ? std::min(1.0, (step - top) / (last - top)) : 1);
}

double learningRate(const RunScalars &c, int64_t step) {
  const double s = static_cast<double>(step), warmup = static_cast<double>(c.warmup);
  if (c.schedule == ScheduleKind::OneCycle)
    return oneCycleRate(c, s);
  if (step < c.warmup)
    return c.lr * (c.warmupStart + (1 - c.warmupStart) * (s + 1) / warmup);
  const double decay = static_cast<double>(c.decaySteps);
  if (c.schedule == ScheduleKind::Wsd) {
    const double begin = static_cast<double>(c.steps - c.decaySteps);
    return s < begin || decay == 0 ? c.lr : c.lr - (c.lr - c.minLr) * (s - begin) / decay;
  }
  const double r = std::min(1.0, (s - warmup) / std::max(1.0, decay - warmup));
  if (c.schedule == ScheduleKind::Linear)
    return c.minLr + (c.lr - c.minLr) * (1 - r);
  if (c.schedule == ScheduleKind::Cosine)
    return c.minLr + (c.lr - c.minLr) * (1 + std::cos(std::numbers::pi * r)) / 2;
  return c.lr;
}

ScalarWriter::ScalarWriter(const Program &program) : program(program) {
  for (const ScalarSlot &slot : program.scalars)
    if (slot.name != "seed" && !findFormula(slot.name))
      fail("the program needs the scalar '{}', which its runtime does not know: compile it again with the "
           "kedge that the runtime belongs to",
           slot.name);
}

void ScalarWriter::write(Executor &executor, const RunScalars &scalars, const StepPoint &point) const {
  const Context context{program, program.options, scalars, point};
  for (const ScalarSlot &slot : program.scalars) {
    char *place = executor.device().scalar(slot);
    if (slot.name == "seed")
      convert(place, slot.type, 1, &scalars.seed, DType::I64, 1, 1);
    else
      storeDouble(slot.type, place, 0, findFormula(slot.name)->value(context));
  }
}

} // namespace kedge::rt
