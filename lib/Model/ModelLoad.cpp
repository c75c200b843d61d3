// The way from a path to a checked model.
#include "lib/Model/ModelCheck.h"
#include "lib/Model/ModelParse.h"
#include "lib/Support/Error.h"
#include "runtime/format/GraphHash.h"

namespace kedge::model {
namespace {

/// A file that is often given for a model. None of these beginnings begins an ONNX file.
struct ForeignFile {
  size_t place;
  std::string_view bytes, what, help;
};

using namespace std::string_view_literals;
constexpr std::string_view kExport =
    "export the model with torch.onnx.export(..., dynamo=True), and give that file";
constexpr ForeignFile kForeignFiles[] = {
    {0, "PK\x03\x04"sv, "a zip archive, as torch.save, torch.export.save, numpy.savez and Keras write them",
     kExport},
    {0, "\x93NUMPY"sv, "an array that numpy.save wrote (.npy)",
     "give the model's ONNX file; the program that compile makes takes data, by --data INPUT=FILE.npy"},
    {0, "import "sv, "a Python program", kExport},
    {0, "\x80\x02"sv, "a Python pickle, as older versions of torch.save write them", kExport},
    {0, "\x80\x04\x95"sv, "a Python pickle", kExport},
    {8, "{\""sv, "a safetensors file, which holds weights and no graph",
     "give the model's ONNX file, and this file with --weights"},
    {0, "GGUF"sv, "a GGUF file, which holds weights and no graph", kExport},
    {0, "\x89HDF\r\n"sv, "an HDF5 file, as Keras writes them",
     "export the model to ONNX, and give that file"},
    {4, "TFL3"sv, "a TensorFlow Lite model", "export the model to ONNX, and give that file"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format", "give the ONNX file that it was made from"},
    {0, "\x1f\x8b"sv, "a gzip archive", "unpack it, and give the ONNX file in it"},
    {0, "version https://git-lfs"sv, "a pointer of Git LFS in place of the file",
     "fetch the file with git lfs pull"},
    {0, "<"sv, "a text that begins with '<', such as a web page or ONNX's text form",
     "download the model again, or write it in ONNX's binary form"},
    {0, "ir_version:"sv, "a protobuf in text form", "write the model in ONNX's binary form"},
    {0, "{"sv, "a JSON text", "write the model in ONNX's binary form"},
};

void checkNotForeign(const MappedFile &file) {
  const std::string_view content(reinterpret_cast<const char *>(file.data()), file.size());
  for (const ForeignFile &kind : kForeignFiles)
    if (content.size() >= kind.place && content.substr(kind.place).starts_with(kind.bytes))
      fail("{}: expected an ONNX model, found {}; {}", file.path(), kind.what, kind.help);
}

} // namespace

static Model load(std::shared_ptr<const MappedFile> file, const LoadOptions &options) {
  if (file->size() == 0)
    fail("{}: expected an ONNX model, found an empty file", file->path());
  checkNotForeign(*file);
  ParseContext context{file, options};
  Model model = parseModelProto(context);
  assignOpsets(model);
  if (options.inlineFunctions) {
    inlineFunctions(model);
  } else {
    checkAndSort(model);
    numberNodes(model);
  }
  for (const ValueInfo *input : model.graph.feeds())
    model.fileInputs.push_back(input->name);
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
  std::vector<rt::WeightBytes> places;
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
    tensor.dtype = ElementType::String;
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
