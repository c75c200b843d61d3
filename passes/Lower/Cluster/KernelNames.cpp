#include "passes/Lower/Cluster/KernelNames.h"
#include "kedge/Dialect/Kedge/Place.h"
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

/// Attributes and types are unique in a context, so that their addresses tell them apart.
std::string kedge::lower::kernelKey(sched::ClusterOp op) {
  std::string key;
  const auto add = [&](const void *address) {
    key.append(reinterpret_cast<const char *>(&address), sizeof address);
  };
  const auto addTypes = [&](TypeRange types) {
    for (Type type : types)
      add(type.getAsOpaquePointer());
    add(nullptr);
  };
  for (Attribute attribute : {Attribute(op.getDomainAttr()), Attribute(op.getReducedAttr()),
                              Attribute(op.getInputMaps()), Attribute(op.getOutputMaps())})
    add(attribute.getAsOpaquePointer());
  addTypes(op.getInputs().getTypes());
  addTypes(op.getOutputs().getTypes());
  DenseMap<Value, uintptr_t> numbers;
  for (BlockArgument argument : op.getBody().getArguments())
    numbers.try_emplace(argument, numbers.size() + 1);
  for (Operation &inner : op.getBody().front()) {
    add(inner.getName().getAsOpaquePointer());
    add(inner.getAttrDictionary().getAsOpaquePointer());
    for (Value operand : inner.getOperands())
      add(reinterpret_cast<const void *>(numbers.lookup(operand)));
    addTypes(inner.getResultTypes());
    for (Value result : inner.getResults())
      numbers.try_emplace(result, numbers.size() + 1);
  }
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
