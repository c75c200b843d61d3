#include "passes/Lower/Cluster/KernelNames.h"
#include "lib/Dialect/Kedge/Place.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kedge;

namespace {

/// The last word of a place in the model: "transformer.h.0.ln_1" and "/transformer/h.0/ln_1/Add" give "ln_1"
/// and "Add"; "" when no such word is left.
std::string hintOf(sched::ClusterOp op) {
  SmallVector<StringRef> parts;
  if (PlaceAttr place = placeOf(op))
    place.label().split(parts, '/');
  std::string hint;
  for (StringRef part : llvm::reverse(parts)) {
    part = part.rsplit('.').second.empty() ? part : part.rsplit('.').second;
    hint.clear();
    for (char c : part.take_front(32))
      hint += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
    if (!hint.empty() && llvm::any_of(hint, llvm::isAlpha))
      return hint + "_";
  }
  return "";
}

} // namespace

std::string kedge::lower::kernelText(sched::ClusterOp op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op.getDomainAttr() << op.getReducedAttr() << op.getInputMaps() << op.getOutputMaps();
  os << op.getInputs().getTypes() << "->" << op.getOutputs().getTypes() << "\n";
  printBody(os, op);
  return key;
}

void kedge::lower::printBody(llvm::raw_ostream &os, sched::ClusterOp op) {
  DenseMap<Value, unsigned> numbers;
  for (BlockArgument argument : op.getBody().getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &inner : op.getBody().front()) {
    os << inner.getName() << inner.getAttrDictionary();
    for (Value operand : inner.getOperands())
      os << " " << numbers.lookup(operand);
    os << ":" << inner.getResultTypes() << "\n";
    for (Value result : inner.getResults())
      numbers.try_emplace(result, numbers.size());
  }
}

std::string kedge::lower::kernelHint(sched::ClusterOp op) {
  std::string sizes;
  for (int64_t size : op.getDomain())
    sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
  return hintOf(op) + (sizes.empty() ? "scalar" : sizes);
}
