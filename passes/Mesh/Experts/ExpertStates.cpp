#include "passes/Mesh/Experts/ExpertStates.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Mesh/Experts/ExpertRows.h"

using namespace mlir;

namespace kedge::mesh {

ExpertStates::ExpertStates(ModuleOp module, dist::RankGroup group)
    : module(module), symbols(module), group(group) {
  for (auto function : module.getOps<func::FuncOp>())
    findChoices(function);
  for (auto function : module.getOps<func::FuncOp>())
    findChains(function);
  findStates();
  settle();
  for (auto state : module.getOps<train::StateOp>())
    if (dimOf(state.getSymNameAttr()))
      states.push_back(state);
}

/// A parameter and its working copy are cut together.
StringAttr ExpertStates::groupOf(train::StateOp state) const {
  return state.getRole() == train::Role::WorkingCopy ? state.getOfAttr().getAttr() : state.getSymNameAttr();
}

StringAttr ExpertStates::ownerOf(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto name = function ? train::stateOfArgument(function, argument.getArgNumber()) : FlatSymbolRefAttr();
  return name ? groupOf(symbols.lookup<train::StateOp>(name.getAttr())) : StringAttr();
}

const ExpertDim *ExpertStates::dimOf(StringAttr state) const {
  StringAttr owner = groupOf(symbols.lookup<train::StateOp>(state));
  auto found = owners.find(owner);
  return found == owners.end() || whole.contains(owner) ? nullptr : &found->second;
}

const ExpertDim *ExpertStates::dimOf(Value value) const {
  auto found = dims.find(value);
  return found == dims.end() ? nullptr : &found->second;
}

void ExpertStates::findChoices(func::FuncOp function) {
  function.walk([&](train::GroupedMatmulOp product) {
    experts.try_emplace(ExpertRows::rootOf(product.getExperts()), shapeOf(product.getW())[0]);
  });
}

void ExpertStates::findChains(func::FuncOp function) {
  function.walk([&](Operation *op) {
    auto product = dyn_cast<train::GroupedMatmulOp>(op);
    auto gather = dyn_cast<onnx::GatherOp>(op);
    Value tensor = product ? product.getW() : gather ? gather.getData() : Value();
    if (!tensor || !isRead(op->getOpOperand(product ? 2 : 0), StringAttr()))
      return;
    follow(tensor, {shapeOf(tensor)[0]}, chains.emplace_back());
  });
}

/// All that a rank's part of `value` is made of.
void ExpertStates::follow(Value value, ExpertDim at, Chain &chain) {
  chain.values.push_back(value);
  auto [known, isNew] = dims.try_emplace(value, at);
  chain.whole |= known->second != at;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0) {
    StringAttr owner = ownerOf(value);
    chain.whole |= !owner || owners.try_emplace(owner, at).first->second != at;
    return;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    const auto need = needOf(operand, at, group);
    chain.whole |= !need;
    if (need && need->kind == ExpertNeed::Part)
      follow(operand.get(), need->at, chain);
  }
}

/// What has no reader of that kind in one function is cut with what it has in others.
void ExpertStates::findStates() {
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto owner = owners.find(ownerOf(argument)); owner != owners.end()) {
        dims.try_emplace(argument, owner->second);
        if (!isReadInParts(argument, owner->first))
          whole.insert(owner->first);
      }
  for (Chain &chain : chains)
    for (Value value : chain.values)
      chain.whole |= !isReadInParts(value, ownerOf(value));
}

/// A tensor of which one product needs all is whole for all.
void ExpertStates::settle() {
  bool changes = true;
  while (changes) {
    changes = false;
    for (Chain &chain : chains) {
      const auto isWhole = [&](Value value) {
        StringAttr owner = ownerOf(value);
        return owner && whole.contains(owner);
      };
      chain.whole |= llvm::any_of(chain.values, isWhole);
      for (Value value : chain.values)
        if (StringAttr owner = ownerOf(value); owner && chain.whole)
          changes |= whole.insert(owner).second;
    }
  }
  for (const Chain &chain : chains)
    for (Value value : chain.values)
      if (chain.whole)
        dims.erase(value);
  for (StringAttr owner : whole)
    for (auto function : module.getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments())
        if (ownerOf(argument) == owner)
          dims.erase(argument);
}

bool ExpertStates::isReadInParts(Value value, StringAttr owner) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) { return isRead(use, owner); });
}

bool ExpertStates::isRead(OpOperand &use, StringAttr owner) {
  Operation *user = use.getOwner();
  Value value = use.get();
  if (auto end = dyn_cast<func::ReturnOp>(user)) { // a working copy is made anew
    auto made = train::stateOfResult(end->getParentOfType<func::FuncOp>(), use.getOperandNumber());
    return made && owner && groupOf(symbols.lookup<train::StateOp>(made.getAttr())) == owner;
  }
  if (user->getNumResults() == 1 && dims.contains(user->getResult(0)))
    return true;
  if (isa<onnx::CastOp>(user) && owner && isReadInParts(user->getResult(0), owner)) {
    dims[user->getResult(0)] = dims.lookup(value);
    return true;
  }
  const bool isPlain = !dims.contains(value) || dims.lookup(value).isPlain();
  if (auto gather = dyn_cast<onnx::GatherOp>(user))
    return isPlain && use.getOperandNumber() == 0 && gather.getAxis() == 0 && rankOf(value) > 1 &&
           experts.lookup(ExpertRows::rootOf(gather.getIndices())) == shapeOf(value)[0];
  return isPlain && isa<train::GroupedMatmulOp>(user) && use.getOperandNumber() == 2;
}

LogicalResult ExpertStates::check() {
  const auto isUneven = [&](train::GroupedMatmulOp product) {
    const int64_t count = shapeOf(product.getW())[0];
    if (count % group.ranks == 0)
      return WalkResult::advance();
    product.emitError() << "has a matrix for each of " << count << " experts, which " << group.ranks
                        << " ranks along 'expert' do not divide: not available yet";
    return WalkResult::interrupt();
  };
  if (module.walk(isUneven).wasInterrupted())
    return failure();
  if (states.empty())
    return module.emitError()
           << "mesh expert=" << group.ranks
           << ": the model has no experts that ranks could share out (parameters that grouped "
              "products read, as kedge-raise-experts makes them)";
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](train::GroupedMatmulOp product) {
      if (!dimOf(product.getW()))
        product.emitRemark() << "has its experts whole on each of " << group.ranks
                             << " ranks: " << bytesOf(product.getW().getType())
                             << " bytes; only parameters in their own form, adapters and codes in few bits "
                                "are shared out, blocks of codes not between two ranks";
    });
  return success();
}

void ExpertStates::cut(train::StateOp state) const {
  auto whole = cast<RankedTensorType>(state.getType());
  const ExpertDim &at = *dimOf(state.getSymNameAttr());
  state.setType(at.partOf(whole, group));
  state.setShardingAttr(dist::ShardingAttr::get(state.getContext(), whole.getShape(),
                                                {at.cutOf(whole, group)}, StringAttr(), 1));
}

} // namespace kedge::mesh
