#include "driver/options/CompileOptions.h"
#include "driver/program/GpuTarget.h"
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include "passes/Autodiff/Optimizers.h"

namespace kedge::driver {

using pipelines::Precision;

/// What --target says of the device where --device does not.
static std::string deviceOf(const CompileOptions &options) {
  if (!options.device.empty() || !options.onGpu())
    return options.device;
  const std::string arch = architectureOf(options.machine.target);
  return arch == "sm_80" ? "a100" : arch == "sm_86" || arch == "sm_89" ? "rtx4090" : "h200";
}

std::string CompileOptions::deviceName() const {
  return deviceOf(*this) + (machine.link.empty() ? "" : analysis::kWithLinks + machine.link);
}

static void checkFloat8(const CompileOptions &options) {
  if (options.precisionPolicy == "autocast")
    fail("--precision fp8: not available with --precision-policy autocast, whose weights stay fp32; expected "
         "master or a file");
  if (options.onGpu() && (options.machine.target == "cuda:sm_80" || options.machine.target == "cuda:sm_86"))
    fail("--precision fp8: --target {} has no tensor cores of 8-bit floats; expected cuda:sm_89 or newer, or "
         "--precision bf16",
         options.machine.target);
}

static void checkAverages(const CompileOptions &options) {
  const bool hasParts =
      options.partition.stage != 0 && (options.partition.stage != 3 || options.partition.persistBytes > 0);
  if (options.update.averageDecay.value > 0 && hasParts && options.isPipelined())
    fail("--ema {}: not available yet with --master-weights {} where the stages of a pipeline hold whole "
         "weights and parts of their averages; give --zero 0, or --zero 3 without --persist-bytes",
         options.update.averageDecay.value, wordOf(options.masterWeights));
}

static void checkSplitMasters(const CompileOptions &options) {
  if ((options.precision != Precision::Bf16 && options.precision != Precision::Fp8) ||
      options.precisionPolicy == "autocast")
    fail("--master-weights split: expected --precision bf16 or fp8 under the policy master, found {} under "
         "{}; "
         "a master is a bf16 weight and the rest",
         wordOf(options.precision), options.precisionPolicy);
}

void checkPrecision(const CompileOptions &options) {
  if (options.precision == Precision::Fp8)
    checkFloat8(options);
  if (options.masterWeights == pipelines::MasterWeights::On)
    return;
  checkAverages(options);
  if (options.masterWeights == pipelines::MasterWeights::Split)
    return checkSplitMasters(options);
  if (options.precision != Precision::Bf16 || options.precisionPolicy == "autocast")
    fail("--master-weights off: expected --precision bf16 under the policy master, found {} under {}; "
         "stochastic rounding "
         "needs bf16 weights, and autocast keeps its weights in fp32",
         wordOf(options.precision), options.precisionPolicy);
  if (options.partition.stage > 0)
    fail("--master-weights off: not available with --zero {}; expected --zero 0", options.partition.stage);
}

void checkOptimizer(const CompileOptions &options) {
  using autodiff::Optimizer;
  const Optimizer optimizer = options.update.optimizer;
  const bool averages = optimizer == Optimizer::ScheduleFreeAdamW;
  if (autodiff::factsOf(optimizer).hasEigenvectors && options.onGpu())
    fail("--optimizer {}: not available yet with --target {}, which has no kernel for eigenvectors; expected "
         "--target cpu",
         wordOf(optimizer), options.machine.target);
  const autodiff::Moments moments = options.update.moments;
  if (options.update.caution != autodiff::Caution::None &&
      (moments == autodiff::Moments::Int8 || moments == autodiff::Moments::Int4))
    fail("--cautious {}: not available yet with --moments {}; give --moments bf16 or leave it out",
         wordOf(options.update.caution), wordOf(moments));
  if (averages && options.update.averageDecay.value > 0)
    fail("--ema {}: --optimizer {} has an average of the weights, which is what it evaluates and exports; "
         "leave it "
         "out",
         options.update.averageDecay.value, wordOf(optimizer));
  if (averages && options.betasOrDefault()[0] <= 0)
    fail("--betas: --optimizer {} needs a first beta above 0: with 0 the weights do not tell their average",
         wordOf(optimizer));
  if ((averages || optimizer == Optimizer::Prodigy) && options.isPipelined())
    fail("--optimizer {}: not available yet with the stages of a pipeline, which would share a number of the "
         "run; give --mesh without 'pipeline'",
         wordOf(optimizer));
}

double CompileOptions::lrOrDefault() const {
  return run.lr.value_or(autodiff::defaultsOf(update.optimizer).lr);
}

double CompileOptions::weightDecayOrDefault() const {
  return run.weightDecay.value_or(autodiff::defaultsOf(update.optimizer).weightDecay);
}

double CompileOptions::momentumOrDefault() const {
  return run.momentum.value_or(autodiff::defaultsOf(update.optimizer).momentum);
}

double CompileOptions::epsOrDefault() const {
  return run.eps.value_or(autodiff::defaultsOf(update.optimizer).eps);
}

std::vector<double> CompileOptions::betasOrDefault() const {
  const autodiff::OptimizerDefaults &defaults = autodiff::defaultsOf(update.optimizer);
  return run.betas.empty() ? std::vector<double>{defaults.beta1, defaults.beta2} : run.betas;
}

} // namespace kedge::driver
