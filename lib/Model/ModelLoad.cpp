// The way from a path to a checked model.
#include "lib/Model/ModelCheck.h"
#include "lib/Model/ModelParse.h"
#include "lib/Support/Error.h"
#include "runtime/format/GraphHash.h"

namespace kedge::model {

static Model load(std::shared_ptr<const MappedFile> file, const LoadOptions &options) {
  if (file->size() == 0)
    fail("{}: expected an ONNX model, found an empty file", file->path());
  ParseContext context{file, options};
  Model model = parseModelProto(context);
  assignOpsets(model);
  if (options.inlineFunctions) {
    inlineFunctions(model);
  } else {
    checkAndSort(model);
    numberNodes(model);
  }
  std::vector<const Tensor *> weights;
  for (const Tensor &tensor : model.graph.initializers)
    if (tensor.storage == Tensor::Storage::Inline || tensor.storage == Tensor::Storage::External)
      weights.push_back(&tensor);
  model.graphHash = hashGraph(model, weights);
  return model;
}

Model loadModel(const std::string &path, const LoadOptions &options) {
  return load(MappedFile::open(path), options);
}

Model parseModel(std::vector<uint8_t> bytes, const std::string &path, const LoadOptions &options) {
  return load(MappedFile::fromBytes(std::move(bytes), path), options);
}

std::string hashGraph(const Model &model, const std::vector<const Tensor *> &weights) {
  std::vector<rt::WeightPlace> places;
  for (const Tensor *tensor : weights)
    if (tensor->storage == Tensor::Storage::Inline || tensor->storage == Tensor::Storage::External)
      places.push_back({tensor->offset, tensor->length, tensor->externalLocation});
  return rt::hashGraph(model.file->data(), model.file->size(), std::move(places));
}

Tensor constantValue(const Node &node) {
  if (!node.is("Constant"))
    fail("{}: expected a Constant", node.describe());
  if (node.attributes.size() != 1)
    fail("{}: expected one attribute that holds the value, found {}", node.describe(),
         node.attributes.size());
  const Attribute &a = node.attributes.front();
  const std::string &name = node.output(0);
  if (a.name == "value") {
    Tensor tensor = node.attrTensor("value");
    tensor.name = name;
    return tensor;
  }
  if (a.name == "value_int")
    return Tensor::makeInts(name, {}, {node.attrInt("value_int")});
  if (a.name == "value_float")
    return Tensor::makeFloats(name, {}, {node.attrFloat("value_float")});
  if (a.name == "value_ints") {
    std::vector<int64_t> values = node.attrInts("value_ints");
    return Tensor::makeInts(name, {static_cast<int64_t>(values.size())}, values);
  }
  if (a.name == "value_floats") {
    std::vector<float> values = node.attrFloats("value_floats");
    return Tensor::makeFloats(name, {static_cast<int64_t>(values.size())}, values);
  }
  if (a.name == "value_string" || a.name == "value_strings") {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = DType::String;
    bool single = a.name == "value_string";
    tensor.strings = single ? std::vector{node.attrString(a.name)} : node.attrStrings(a.name);
    if (!single)
      tensor.dims = {static_cast<int64_t>(tensor.strings.size())};
    return tensor;
  }
  fail("{}: its value is given by '{}'; expected value, value_float(s), value_int(s) or value_string(s). "
       "Sparse constants have to be made dense before export",
       node.describe(), a.name);
}

} // namespace kedge::model
