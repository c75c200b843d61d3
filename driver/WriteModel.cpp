#include "driver/WriteModel.h"
#include "lib/Export/Template/ExportTemplateProto.h"
#include "lib/Support/Error.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/program/Version.h"
#include <limits>

namespace kedge::driver {
namespace {

using namespace exporter;

/// A TensorProto whose bytes are in another file.
std::string encodeExternal(const model::Tensor &tensor) {
  std::string out;
  for (int64_t size : tensor.dims)
    putVarint(out, 1, static_cast<uint64_t>(size));
  putVarint(out, 2, static_cast<uint64_t>(tensor.dtype));
  putBytes(out, 8, tensor.name);
  putEntry(out, 13, "location", tensor.externalLocation);
  putEntry(out, 13, "offset", std::to_string(tensor.offset));
  putEntry(out, 13, "length", std::to_string(tensor.length));
  putVarint(out, 14, 1);
  return out;
}

/// "0.1.0" of "kedge 0.1.0 (commit ...)".
std::string versionNumber() {
  const std::string text = rt::version();
  const size_t first = text.find(' ') + 1;
  return text.substr(first, text.find(' ', first) - first);
}

} // namespace

void writeModel(const model::Model &model, const std::string &path) {
  model::Graph graph = model.graph;
  std::string weights, out;
  for (const model::Tensor &tensor : graph.initializers)
    putBytes(weights, 5,
             tensor.storage == model::Tensor::Storage::External ? encodeExternal(tensor)
                                                                : encodeTensor(tensor));
  graph.initializers.clear();
  putVarint(out, 1, static_cast<uint64_t>(model.irVersion));
  putBytes(out, 2, model.producer);
  putBytes(out, 3, versionNumber());
  putBytes(out, 7, encodeGraph(graph) + weights);
  for (const auto &[domain, version] : model.opsets) {
    std::string opset;
    putBytes(opset, 1, domain);
    putVarint(opset, 2, static_cast<uint64_t>(version));
    putBytes(out, 8, opset);
  }
  constexpr size_t kMost = std::numeric_limits<int32_t>::max(); // of a protobuf message
  if (out.size() > kMost)
    fail("{}: the model has {} bytes, and a file of ONNX at most {}; weights in a file of their own are not "
         "available yet",
         path, out.size(), kMost);
  rt::AtomicFile file(path);
  file.write(out);
  file.commit();
}

} // namespace kedge::driver
