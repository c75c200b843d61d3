#include "tools/flags/OptionEffects.h"
#include "driver/program/GpuTarget.h"
#include "lib/Support/Error.h"
#include "passes/Autodiff/Optimizers.h"
#include <algorithm>

namespace kedge::tool {
namespace {

using driver::CompileOptions;
using pipelines::Precision;

struct Rule {
  std::vector<const char *> flags;
  bool acts; ///< beside the other options that were given
  std::string needs;
};

bool givenAny(const CLI::App &command, const std::vector<const char *> &flags, std::string &first) {
  for (const char *flag : flags)
    if (const CLI::Option *option = command.get_option_no_throw(flag); option && option->count() > 0) {
      first = flag;
      return true;
    }
  return false;
}

bool has(const std::vector<Precision> &list, Precision value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<Rule> optimizerRules(const CompileOptions &o) {
  using autodiff::Optimizer;
  const bool isSgd = o.update.optimizer == Optimizer::Sgd,
             isMuon = autodiff::factsOf(o.update.optimizer).hasMatrices;
  const autodiff::OptimizerFacts &facts = autodiff::factsOf(o.update.optimizer);
  const char *name = wordOf(o.update.optimizer);
  return {{{"--momentum"},
           facts.hasMomentum || o.run.momentum == 0.0,
           fmt::format("--optimizer {} has no momentum; give --optimizer sgd with it", name)},
          {{"--nesterov"},
           !isMuon || facts.hasBases,
           "muon's and normuon's momentum is always Nesterov's; leave it out"},
          {{"--nesterov"},
           (isMuon && facts.hasMomentum) || (isSgd && o.momentumOrDefault() > 0),
           "it is a form of momentum; give --optimizer sgd and --momentum with it"},
          {{"--moments"},
           o.update.moments == autodiff::Moments::Fp32 || facts.hasMoments ||
               (isSgd && o.momentumOrDefault() > 0),
           fmt::format(
               "--optimizer {} has no such moments; give adamw, adam, lion, or sgd and --momentum with it",
               name)},
          {{"--moments"},
           o.update.moments != autodiff::Moments::Int4 || facts.has4bits,
           fmt::format("--optimizer {} has no moments of 4 bits; give adamw or adam with it", name)},
          {{"--cautious"},
           o.update.caution == autodiff::Caution::None || facts.hasCaution,
           fmt::format("--optimizer {} has no such form; give --optimizer adamw with it", name)},
          {{"--muon"},
           isMuon,
           "it names the matrices that muon updates; give --optimizer muon, normuon, soap, galore or apollo "
           "with it"},
          {{"--precondition-frequency", "--max-precondition-dim", "--shampoo-beta"},
           facts.hasBases,
           "it is of soap; give --optimizer soap with it"},
          {{"--proj-rank", "--update-proj-gap", "--proj-scale"},
           facts.projects(),
           "it is of projections; give --optimizer galore or apollo with it"},
          {{"--scale-type"},
           o.update.optimizer == Optimizer::Apollo,
           "it is of apollo's factors; give --optimizer apollo with it"},
          {{"--min-lr", "--decay-steps"},
           o.run.schedule.kind.value_or("constant") != "constant",
           "--schedule constant keeps the rate; give another schedule with it"},
          {{"--warmup-start"},
           o.run.schedule.warmup.value_or(0) > 0 || o.run.schedule.kind == "one-cycle",
           "there is no warm-up; give --warmup N with it"},
          {{"--betas", "--eps"}, !isSgd, "--optimizer sgd has none; leave it out"},
          {{"--batchnorm"},
           o.batchNorm != pipelines::BatchNorm::Exact || o.accumulate > 1,
           "without --accumulate a step has one micro-batch; give --accumulate N with it"},
          {{"--accumulate-dtype"},
           o.accumulate > 1,
           "without --accumulate there are no accumulators; give --accumulate N with it"}};
}

std::vector<Rule> lossRules(const CompileOptions &o) {
  const driver::ModelOptions &m = o.model;
  const bool inGraph = (!m.lossOutput.empty() && !m.loss) || m.loss == LossFunction::None,
             classes = !m.loss || m.loss->any([](LossFunction loss) {
               return labelsOf(loss) == LossLabels::Classes || labelsOf(loss) == LossLabels::Own;
             }),
             smooths =
                 !m.loss || m.loss->any([](LossFunction loss) { return loss == LossFunction::CrossEntropy; }),
             positive =
                 m.loss && m.loss->any([](LossFunction loss) { return loss == LossFunction::BceWithLogits; });
  return {{{"--logits", "--labels", "--class-axis", "--ignore-index", "--label-smoothing", "--class-weights",
            "--pos-weight", "--sample-weights"},
           !inGraph,
           "the graph computes its loss itself; leave it out"},
          {{"--class-axis"},
           classes || m.loss->any(
                          [](LossFunction loss) { return loss == LossFunction::Dice || readsTeacher(loss); }),
           fmt::format("--loss {} has no classes; leave it out, or give --loss cross-entropy",
                       m.loss ? m.loss->text() : "")},
          {{"--ignore-index"},
           classes,
           fmt::format("--loss {} has no classes; leave it out, or give --loss cross-entropy",
                       m.loss ? m.loss->text() : "")},
          {{"--label-smoothing"},
           smooths,
           fmt::format("--loss {} has no classes; leave it out, or give --loss cross-entropy",
                       m.loss ? m.loss->text() : "")},
          {{"--class-weights"},
           !m.loss || m.loss->any(weighsClasses),
           fmt::format("--loss {} has no classes; leave it out, or give --loss cross-entropy",
                       m.loss ? m.loss->text() : "")},
          {{"--pos-weight"}, positive, "it is for --loss bce-with-logits; leave it out, or give that"}};
}

/// A script that tries several worlds and stages says --ranks 1 and --zero 0 itself.
std::vector<Rule> rankRules(const CLI::App &command, const CompileOptions &o) {
  std::string given;
  const bool several = givenAny(command, {"--ranks", "--mesh"}, given);
  return {{{"--bucket-bytes", "--persist-bytes", "--sync-batchnorm", "--link"},
           several,
           "it is for several ranks; give --ranks N with it"},
          {{"--persist-bytes"},
           o.partition.stage == 3 || givenAny(command, {"--zero"}, given),
           "parameters are in parts with --zero 3 alone; give that with it"}};
}

std::vector<Rule> precisionRules(const CompileOptions &o) {
  const bool narrow = has(o.precisions, Precision::Bf16) || has(o.precisions, Precision::Fp16) ||
                      has(o.precisions, Precision::Fp8);
  const bool scales = o.lossScale.scales || has(o.precisions, Precision::Fp16);
  return {{{"--precision-policy"}, narrow, "it is for 16 bits; give --precision bf16 or fp16 with it"},
          {{"--loss-scale-init", "--loss-scale-growth", "--loss-scale-backoff", "--loss-scale-min",
            "--loss-scale-window", "--loss-scale-hysteresis"},
           scales,
           fmt::format("--precision {} does not scale its loss; give --loss-scale dynamic with it",
                       wordOf(o.precision))},
          {{"--host-memory-budget"},
           !o.memory.offload.empty(),
           "nothing goes to host memory; give --offload with it"}};
}

/// A program for a GPU that lacks what the option is about has nothing to switch.
std::vector<Rule> deviceRules(const CompileOptions &o) {
  return {{{"--side-stream", "--dependent-launch", "--gelu-sums"},
           o.onGpu(),
           "it is for GPUs; give --target cuda with it"},
          {{"--dependent-launch"},
           o.onGpu() && driver::startsDependents(driver::architectureOf(o.machine.target)),
           "GPUs before sm_90 start no kernel before the one in front of it is done; leave it out"}};
}

} // namespace

void checkEffects(const CLI::App &command, const CompileOptions &options) {
  for (const auto &rules : {optimizerRules(options), lossRules(options), rankRules(command, options),
                            precisionRules(options), deviceRules(options)})
    for (const Rule &rule : rules)
      if (std::string flag; !rule.acts && givenAny(command, rule.flags, flag))
        fail("{} would have no effect: {}", flag, rule.needs);
}

} // namespace kedge::tool
