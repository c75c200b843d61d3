#include "passes/Import/ConstantStates.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <fstream>

using namespace mlir;
using namespace kedge;

namespace {
constexpr int64_t largest = int64_t(64) << 20;

std::optional<interpret::HostTensor> readState(train::StateOp state) {
  auto type = cast<RankedTensorType>(state.getType());
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(state.getInitAttr()))
    return interpret::HostTensor::fromAttribute(dense);
  auto weight = dyn_cast_or_null<train::WeightAttr>(state.getInitAttr());
  if (!weight || weight.getLength() > largest || tune::resizedOf(state))
    return std::nullopt;
  std::ifstream file(weight.getFile().str(), std::ios::binary);
  interpret::HostTensor tensor{type, std::vector<char>(weight.getLength())};
  if (!file.seekg(weight.getOffset()) || !file.read(tensor.bytes.data(), weight.getLength()))
    return std::nullopt;
  return tensor;
}

/// The state behind a function argument when no step changes it; null otherwise.
train::StateOp fixedState(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function ? train::stateOfArgument(function, argument.getArgNumber()) : FlatSymbolRefAttr();
  if (!name)
    return {};
  for (unsigned k = 0; k < function.getNumResults(); ++k)
    if (train::stateOfResult(function, k) == name)
      return {};
  auto state = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(function, name);
  bool fixed = state && (state.getRole() == train::Role::Constant || state.getRole() == train::Role::Buffer);
  return fixed ? state : train::StateOp();
}
} // namespace

void raise::bindConstantStates(Value root, interpret::ConstantEvaluator &evaluator) {
  SmallVector<Value> pending = {root};
  llvm::SmallPtrSet<void *, 32> seen;
  while (!pending.empty()) {
    Value v = pending.pop_back_val();
    if (!seen.insert(v.getAsOpaquePointer()).second || evaluator.knows(v))
      continue;
    if (Operation *op = v.getDefiningOp()) {
      pending.append(op->operand_begin(), op->operand_end());
      continue;
    }
    if (auto state = fixedState(cast<BlockArgument>(v)))
      if (auto tensor = readState(state))
        evaluator.bind(v, std::move(*tensor));
  }
}
