// Any bytes, read as an ONNX model: either a model whose parts can be used, or one kedge::Error.
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Support/Error.h"
#include <cstdlib>

using namespace kedge;

static void useTensor(const model::Tensor &tensor) {
  try {
    if (model::isFloat(tensor.dtype))
      tensor.floats();
    else if (tensor.dtype != model::ElementType::String)
      tensor.ints();
  } catch (const Error &) {
  }
}

static void useModel(const model::Model &model) {
  for (const model::Tensor &tensor : model.graph.initializers)
    useTensor(tensor);
  size_t ids = 0;
  model::forEachNode(model.graph, [&](const model::Node &node) {
    if (node.id != static_cast<int64_t>(ids++))
      std::abort(); // numbered in visiting order
    node.describe();
    if (!node.is("Constant"))
      return;
    try {
      useTensor(model::constantValue(node));
    } catch (const Error &) {
    }
  });
  for (const model::ValueInfo &value : model.graph.inputs)
    value.describe();
}

static void exportModel(const model::Model &model) {
  exporter::Edits edits;
  for (const model::Tensor &tensor : model.graph.initializers)
    if (model::isFloat(tensor.dtype))
      edits.fromState(tensor, tensor.name);
  exporter::setInferenceMode(model, edits);
  std::vector<uint8_t> blob;
  exporter::buildExportTemplate(model, edits).toJson(model, blob);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    model::Model model =
        model::parseModel({data, data + size}, "/nowhere/fuzz.onnx", {.requireExternalData = false});
    useModel(model);
    exportModel(model);
  } catch (const Error &) {
  }
  return 0;
}
