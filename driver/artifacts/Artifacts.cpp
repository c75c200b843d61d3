#include "driver/artifacts/Artifacts.h"
#include "driver/WriteModel.h"
#include "driver/artifacts/ForwardModel.h"
#include "driver/artifacts/OptimizerModel.h"
#include "lib/Model/Specialize.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/ToolRun.h"
#include <algorithm>
#include <filesystem>

namespace kedge::driver {
namespace {

namespace fs = std::filesystem;

/// Of a file that generate_artifacts() writes.
std::string pathIn(const std::string &folder, const char *name) {
  const fs::path path = fs::path(folder) / name;
  if (!fs::exists(path))
    fail(
        "{}: expected the folder that onnxruntime's generate_artifacts() wrote, with training_model.onnx and "
        "checkpoint; there is no {}",
        folder, name);
  return path.string();
}

int64_t elementsOf(const std::vector<model::Tensor> &tensors) {
  int64_t elements = 0;
  for (const model::Tensor &tensor : tensors)
    elements += tensor.numElements();
  return elements;
}

std::string shapesOf(const model::Model &model) {
  std::string options;
  for (const model::ValueInfo *input : model.graph.feeds()) {
    std::vector<std::string> sizes;
    for (const model::Dim &dim : input->dims)
      sizes.push_back(dim.isValue() ? std::to_string(dim.value) : "N");
    if (std::find(sizes.begin(), sizes.end(), "N") != sizes.end())
      options +=
          fmt::format(" --shape {}", shellWord(fmt::format("{}={}", input->name, fmt::join(sizes, "x"))));
  }
  return options;
}

} // namespace

std::string readArtifacts(const std::string &folder, const std::string &output) {
  const std::string path = pathIn(folder, "training_model.onnx");
  const TrainedValues checkpoint = readCheckpoint(pathIn(folder, "checkpoint"));
  const model::Model training = model::loadModel(path);
  const std::vector<model::Node> &nodes = training.graph.nodes;
  if (std::none_of(nodes.begin(), nodes.end(), model::isGradientBuffer))
    fail("{}: expected gradients that onnxruntime's generate_artifacts() made (InPlaceAccumulatorV2), found "
         "none; kedge compile takes a model without them",
         path);
  const fs::path optimizerPath = fs::path(folder) / "optimizer_model.onnx";
  OptimizerWords optimizer;
  if (fs::exists(optimizerPath))
    optimizer = readOptimizerModel(optimizerPath.string());
  const ForwardModel forward = forwardModel(training, checkpoint);
  writeModel(forward.model, output);
  for (const std::string &difference : optimizer.notes)
    note("{}: {}", optimizerPath.string(), difference);
  if (checkpoint.holdsOptimizer)
    note("{}/checkpoint: the optimizer's moments are left out: training begins with new ones", folder);
  std::string text = fmt::format("{}: {} numbers train, {} are frozen; the loss is '{}'\n", output,
                                 elementsOf(checkpoint.trained), elementsOf(checkpoint.frozen), forward.loss);
  text += fmt::format("kedge compile {} --loss-output {}{}{} -o PROGRAM\n", shellWord(output),
                      shellWord(forward.loss), optimizer.options.empty() ? "" : " " + optimizer.options,
                      shapesOf(forward.model));
  return text;
}

} // namespace kedge::driver
