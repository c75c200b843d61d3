// What a training step is made by: the passes' options, the loss, and each parameter's own.
#include "driver/Compilation.h"
#include "driver/LossWeights.h"
#include "driver/options/LossChoice.h"
#include "driver/options/ProgramOptions.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Support/Error.h"
#include "runtime/format/NearMisses.h"

using namespace mlir;

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

/// An expression that matches no parameter is a mistake.
void Compilation::forParameters(const char *option, const std::string &text, const rt::NamePattern &pattern,
                                llvm::function_ref<void(train::StateOp)> apply) {
  std::vector<std::string> names;
  bool used = false;
  for (auto state : ir->getOps<train::StateOp>()) {
    if (state.getRole() != train::Role::Parameter)
      continue;
    names.push_back(state.getOnnxName().value_or(state.getSymName()).str());
    if (pattern.isIn(names.back())) {
      apply(state);
      used = true;
    }
  }
  if (!used)
    fail("{}: {} '{}' matches no parameter{}", options.model.model, option, text,
         rt::nearMisses(text, names));
}

void Compilation::applyParameterOptions() {
  auto excluded = patterns(options.weightDecayExclude, "--weight-decay-exclude");
  auto scales = scaledPatterns(options.lrScale);
  Builder builder(&context);
  for (size_t i = 0; i < excluded.size(); ++i)
    forParameters("--weight-decay-exclude", options.weightDecayExclude[i], excluded[i],
                  [&](train::StateOp state) { state.setDecayAttr(builder.getBoolAttr(false)); });
  for (size_t i = 0; i < scales.size(); ++i)
    forParameters("--lr-scale", options.lrScale[i], scales[i].first, [&](train::StateOp state) {
      state.setLrScaleAttr(builder.getF64FloatAttr(scales[i].second));
    });
}

pipelines::StepOptions Compilation::stepOptions() const {
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
  step.stages = options.stages;
  step.stage = options.stage;
  step.pipelineSchedule = options.pipelineSchedule;
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
  step.logitsChunk = options.logitsChunk;
  step.precision = options.precision;
  step.precisionPolicy = options.precisionPolicy;
  step.gradientType = options.gradientType;
  step.accumulatorType = options.accumulatorType;
  step.masterWeights = options.masterWeights == "on";
  step.lossScale = options.lossScale;
  step.lossScale.scales |= options.precision == "fp16";
  return step;
}

/// Nothing is a default that the user did not see.
void Compilation::chooseLoss() {
  if (namesLoss(options.model) || !model.trainingInfo.empty())
    return;
  const std::string why =
      whyCrossEntropyFits(train::functionOf(*ir, train::FunctionKind::Model), options.model);
  if (!why.empty() && !options.isTrial)
    fprintf(stderr, "kedge: note: %s\n", why.c_str());
}

void Compilation::checkMicroBatch() {
  if (const int64_t rows = facts["batch"].get<int64_t>() * options.parts;
      options.microBatch.value_or(rows) != rows)
    fail("--deepspeed-config {}: a micro-batch of {} rows is asked for ('train_micro_batch_size_per_gpu', or "
         "what "
         "'train_batch_size' leaves), but the model's has {}; make them agree, by --shape or in the file",
         options.deepSpeedConfig, *options.microBatch, rows);
}

} // namespace kedge::driver
