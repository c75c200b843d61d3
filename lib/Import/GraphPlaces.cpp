#include "lib/Import/GraphPlaces.h"
#include "lib/Lint/Lint.h"
#include "mlir/IR/Builders.h"

using namespace kedge;
using namespace kedge::importer;

namespace {
std::string nodeName(const model::Node &node) {
  if (!node.name.empty())
    return node.name;
  for (const std::string &output : node.outputs)
    if (!output.empty())
      return output;
  return node.opType;
}
} // namespace

std::string kedge::importer::modulePath(const model::Node &node) {
  if (std::string path = lint::moduleOf(node); !path.empty())
    return path;
  llvm::StringRef name(node.name);
  if (!name.consume_front("/") || !name.contains('/'))
    return "";
  std::string path = name.rsplit('/').first.str();
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

mlir::Location kedge::importer::nodeLocation(mlir::MLIRContext &context, const model::Node &node) {
  mlir::Location inner = mlir::NameLoc::get(mlir::StringAttr::get(&context, nodeName(node)));
  std::string path = modulePath(node);
  return path.empty() ? inner : mlir::NameLoc::get(mlir::StringAttr::get(&context, path), inner);
}

PlaceAttr kedge::importer::nodePlace(mlir::MLIRContext &context, const model::Node &node) {
  return PlaceAttr::get(&context, TrainingPhase::Forward, modulePath(node), nodeName(node));
}

std::string kedge::importer::describePlace(const model::Node &node) {
  std::string path = modulePath(node);
  return path.empty() ? node.describe() : node.describe() + " in module " + path;
}
