// kedge-model-roundtrip IN.onnx OUT.onnx [--external]: takes every numeric initializer of IN as a state of a
// program and writes OUT from the skeleton; the tests compare both files with ONNX's own tools.
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Support/Error.h"
#include "runtime/format/OnnxWriter.h"
#include <cstdio>
#include <map>

using namespace kedge;

static rt::DType runtimeType(model::ElementType type) {
  static const std::map<model::ElementType, rt::DType> types = {
      {model::ElementType::Float, rt::DType::F32},   {model::ElementType::Double, rt::DType::F64},
      {model::ElementType::Float16, rt::DType::F16}, {model::ElementType::BFloat16, rt::DType::BF16},
      {model::ElementType::Int64, rt::DType::I64},   {model::ElementType::Int32, rt::DType::I32},
      {model::ElementType::Bool, rt::DType::Bool},   {model::ElementType::UInt8, rt::DType::U8}};
  auto entry = types.find(type);
  if (entry == types.end())
    fail("initializers of type {} are not tested here", model::dtypeName(type));
  return entry->second;
}

static void roundTrip(const std::string &from, const std::string &to, bool external) {
  model::Model source = model::loadModel(from);
  exporter::Edits edits;
  std::map<std::string, model::Bytes> bytes;
  std::map<std::string, rt::ExportedState> states;
  for (const model::Tensor &tensor : source.graph.initializers) {
    edits.fromState(tensor, tensor.name);
    bytes[tensor.name] = tensor.bytes();
    states[tensor.name] = {bytes[tensor.name].data, {runtimeType(tensor.dtype), tensor.dims}, {}};
  }
  exporter::ExportTemplateOptions options;
  if (external)
    options.maxModelBytes = 1;
  std::vector<uint8_t> blob;
  nlohmann::json skeleton = exporter::buildExportTemplate(source, edits, options).toJson(source, blob);
  rt::writeOnnx(skeleton, blob.data(), blob.size(), from, to,
                [&](const std::string &name) { return states.at(name); });
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 1;
  try {
    roundTrip(argv[1], argv[2], argc > 3 && std::string(argv[3]) == "--external");
  } catch (const std::exception &e) {
    std::fprintf(stderr, "kedge-model-roundtrip: error: %s\n", e.what());
    return 1;
  }
  return 0;
}
