#include "GraphPlaces.h"
#include "mlir/IR/Builders.h"

using namespace kedge;

namespace {
/// The strings of a Python list literal such as ['', 'h.0', 'h.0.attn', 'matmul'].
std::vector<std::string> pythonStrings(llvm::StringRef text) {
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size(); ++at) {
    char quote = text[at];
    if (quote != '\'' && quote != '"')
      continue;
    size_t end = text.find(quote, at + 1);
    if (end == llvm::StringRef::npos)
      break;
    result.push_back(text.slice(at + 1, end).str());
    at = end;
  }
  return result;
}

std::string nodeName(const model::Node &node) {
  if (!node.name.empty())
    return node.name;
  for (const std::string &output : node.outputs)
    if (!output.empty())
      return output;
  return node.opType;
}
} // namespace

std::string kedge::modulePath(const model::Node &node) {
  // The last scope is the call itself, the one before it the innermost module.
  auto scopes = pythonStrings(node.meta("pkg.torch.onnx.name_scopes"));
  if (scopes.size() >= 2)
    return scopes[scopes.size() - 2];
  llvm::StringRef name(node.name);
  if (!name.consume_front("/") || !name.contains('/'))
    return "";
  std::string path = name.rsplit('/').first.str();
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

mlir::Location kedge::nodeLocation(mlir::MLIRContext &context, const model::Node &node) {
  mlir::Location inner = mlir::NameLoc::get(mlir::StringAttr::get(&context, nodeName(node)));
  std::string path = modulePath(node);
  return path.empty() ? inner : mlir::NameLoc::get(mlir::StringAttr::get(&context, path), inner);
}

std::string kedge::describePlace(const model::Node &node) {
  std::string path = modulePath(node);
  return path.empty() ? node.describe() : node.describe() + " in module " + path;
}
