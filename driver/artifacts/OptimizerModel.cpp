#include "driver/artifacts/OptimizerModel.h"
#include "lib/Model/Model.h"
#include "lib/Support/Error.h"
#include <algorithm>

namespace kedge::driver {
namespace {

/// Defaults are those of onnxruntime's schema. PyTorch's form corrects epsilon with the moments and lets
/// weights decay before the update; the other form, of Hugging Face, does neither.
OptimizerWords adamW(const model::Node &node, const std::string &path) {
  if (node.attrInt("correct_bias", 1) == 0)
    fail("{}: {}: AdamW without correction of the moments' bias is not available yet", path, node.describe());
  OptimizerWords words;
  words.options = fmt::format("--optimizer adamw --betas {},{} --eps {} --weight-decay {}",
                              node.attrFloat("alpha", 0.9F), node.attrFloat("beta", 0.999F),
                              node.attrFloat("epsilon", 1e-8F), node.attrFloat("weight_decay", 1e-2F));
  if (node.attrInt("adam_mode", 0) == 1)
    words.notes.push_back("its AdamW adds epsilon before it corrects the second moment, and lets weights "
                          "decay after the update; here both are PyTorch's");
  return words;
}

} // namespace

OptimizerWords readOptimizerModel(const std::string &path) {
  const model::Model model = model::loadModel(path);
  for (const model::Node &node : model.graph.nodes) {
    if (node.is("AdamWOptimizer", "com.microsoft"))
      return adamW(node, path);
    if (node.is("SGDOptimizerV2", "com.microsoft"))
      return {.options = "--optimizer sgd", .notes = {}};
  }
  fail(
      "{}: expected AdamWOptimizer or SGDOptimizerV2, which onnxruntime's generate_artifacts() writes, found "
      "neither",
      path);
}

} // namespace kedge::driver
