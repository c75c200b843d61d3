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
  pipelines::StepOptions step;
  const ModelOptions &m = options.model;
  step.loss = !m.loss.empty() ? m.loss : m.lossOutput.empty() ? "cross-entropy" : "none";
  step.logits = m.logits;
  step.labels = m.labels;
  step.lossOutput = m.lossOutput;
  if (!model.trainingInfo.empty()) {
    step.loss = "none";
    if (m.lossOutput.empty())
      step.lossOutput = derivedValue(model);
  }
  step.classAxis = m.classAxis.value_or(-100);
  step.ignoreIndex = m.ignoreIndex;
  step.labelSmoothing = m.labelSmoothing;
  step.classWeights = lossWeights("--class-weights", m.classWeights);
  step.posWeight = lossWeights("--pos-weight", m.posWeight);
  step.sampleWeights = m.sampleWeights;
  step.accumulate = options.accumulate;
  step.mesh = m.meshOfRanks().text();
  step.shards = options.shards;
  step.layoutsOnly = options.layoutsOnly;
  step.stages = options.stages;
  step.stage = options.stage;
  step.pipelineSchedule = options.pipelineSchedule;
  step.device = options.deviceName();
  step.sequenceParallel = options.sequenceParallel != "off";
  step.sameBits = options.sameBits;
  step.zero = options.zero;
  step.bucketBytes = options.bucketBytes;
  step.persistBytes = options.persistBytes;
  step.syncBatchNorm = options.syncBatchNorm;
  step.optimizer = options.optimizer;
  step.muon = options.muon;
  step.momentum = options.momentumOrDefault();
  step.nesterov = options.nesterov || options.optimizer == "muon";
  step.clipNorm = options.clipNorm;
  step.moments = options.moments;
  step.averageDecay = options.averageDecay;
  step.logitsChunk = options.logitsChunk;
  step.precision = options.precision;
  step.precisionPolicy = options.precisionPolicy;
  step.gradientType = options.gradientType;
  step.accumulatorType = options.accumulatorType;
  step.masterWeights = options.masterWeights != "off";
  step.splitMasters = options.masterWeights == "split";
  step.lossScale = options.lossScale;
  step.lossScale.scales |= options.precision == "fp16";
  return step;
}

} // namespace kedge::driver
