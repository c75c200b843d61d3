#include "driver/options/StepOptions.h"
#include "driver/LossWeights.h"

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

} // namespace

pipelines::StepOptions stepOptions(const CompileOptions &options, const model::Model &model) {
  pipelines::StepOptions step = options;
  const ModelOptions &m = options.model;
  step.loss = m;
  step.loss.kind = !m.loss.empty() ? m.loss : m.lossOutput.empty() ? "cross-entropy" : "none";
  if (!model.trainingInfo.empty()) {
    step.loss.kind = "none";
    if (m.lossOutput.empty())
      step.loss.lossOutput = derivedValue(model);
  }
  step.loss.classWeights = lossWeights("--class-weights", m.classWeights);
  step.loss.posWeight = lossWeights("--pos-weight", m.posWeight);
  step.mesh = m.meshOfRanks().text();
  step.device = options.deviceName();
  step.update.momentum = options.momentumOrDefault();
  step.update.nesterov |= options.update.optimizer == "muon";
  step.lossScale.scales |= options.precision == "fp16";
  return step;
}

} // namespace kedge::driver
