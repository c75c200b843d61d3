#include "driver/options/StepOptions.h"
#include "driver/LossWeights.h"
#include "lib/Analysis/DeviceModel.h"
#include "passes/Autodiff/Optimizers.h"

namespace kedge::driver {
namespace {

/// What the first Gradient of training_info differentiates: the loss, when nothing else is named.
std::string derivedValue(const model::Model &model) {
  for (const model::TrainingInfo &info : model.trainingInfo)
    for (const model::Node &node : info.algorithm->nodes)
      if (node.is("Gradient", "ai.onnx.preview.training"))
        return node.attrString("y");
  return "";
}

/// Shares of a peak are known when stages are.
int64_t roomOfRank(const CompileOptions &options) {
  const MemoryBudget &budget = options.memory.plan.budget;
  if (budget.kind == MemoryBudget::Kind::Bytes)
    return budget.bytes;
  if (budget.kind != MemoryBudget::Kind::Device)
    return 0;
  const std::string device = options.deviceName();
  return analysis::loadDevice(device).memoryBytes;
}

} // namespace

static void readLossWeights(const ModelOptions &options, autodiff::AddLossOptions &loss) {
  loss.classWeights = lossWeights("--class-weights", options.classWeights);
  loss.posWeight = lossWeights("--pos-weight", options.posWeight);
}

void checkLossWeights(const ModelOptions &options) {
  autodiff::AddLossOptions ignored;
  readLossWeights(options, ignored);
}

pipelines::StepOptions stepOptions(const CompileOptions &options, const model::Model &model) {
  pipelines::StepOptions step = options;
  const ModelOptions &m = options.model;
  step.loss = m;
  step.loss.kind =
      m.loss.value_or(LossSpec(m.lossOutput.empty() ? LossFunction::CrossEntropy : LossFunction::None));
  if (const auto output = step.loss.kind.onlyOutput())
    step.loss.logits = *output;
  if (!model.trainingInfo.empty()) {
    step.loss.kind = LossFunction::None;
    if (m.lossOutput.empty())
      step.loss.lossOutput = LossOutputs(derivedValue(model));
  }
  readLossWeights(m, step.loss);
  step.mesh = m.meshOfRanks();
  step.device = options.deviceName();
  step.followsRanges = m.adapters.fakeQuantizes();
  if (options.isPipelined())
    step.stages.room = roomOfRank(options);
  step.update.momentum = options.momentumOrDefault();
  const autodiff::OptimizerFacts &optimizer = autodiff::factsOf(options.update.optimizer);
  step.update.nesterov |= optimizer.hasMatrices && optimizer.hasMomentum;
  step.lossScale.scales |= options.precision == pipelines::Precision::Fp16;
  return step;
}

} // namespace kedge::driver
