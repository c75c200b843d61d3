#include "passes/Mesh/ExpertStates.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Mesh/ExpertRows.h"

using namespace mlir;

namespace kedge::mesh {

ExpertStates::ExpertStates(ModuleOp module, dist::RankGroup group) : module(module), group(group) {
  for (auto function : module.getOps<func::FuncOp>())
    findChoices(function);
  DenseMap<StringAttr, bool> slices; // by parameter: whether all readers want but slices
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto name = train::stateOfArgument(function, argument.getArgNumber())) {
        auto state = module.lookupSymbol<train::StateOp>(name.getAttr());
        bool any = false;
        const bool onlySlices = readsSlices(argument, groupOf(state), any);
        if (!argument.use_empty() && (any || slices.contains(groupOf(state))))
          slices.try_emplace(groupOf(state), true).first->second &= onlySlices;
        else if (!argument.use_empty() && !onlySlices)
          slices[groupOf(state)] = false;
      }
  for (auto state : module.getOps<train::StateOp>()) {
    auto found = slices.find(groupOf(state));
    if (found == slices.end() || cast<RankedTensorType>(state.getType()).getRank() < 2)
      continue;
    if (found->second)
      states.push_back(state), names.insert(state.getSymNameAttr());
  }
}

/// A parameter and its working copy are cut together.
StringAttr ExpertStates::groupOf(train::StateOp state) const {
  return state.getOfAttr() ? state.getOfAttr().getAttr() : state.getSymNameAttr();
}

void ExpertStates::findChoices(func::FuncOp function) {
  function.walk([&](train::GroupedMatmulOp product) {
    experts.try_emplace(ExpertRows::rootOf(product.getExperts()), shapeOf(product.getW())[0]);
  });
}

/// `any`: whether there is a reader of that kind.
bool ExpertStates::readsSlices(Value tensor, StringAttr owner, bool &any) const {
  for (OpOperand &use : tensor.getUses()) {
    Operation *user = use.getOwner();
    if (auto cast = dyn_cast<onnx::CastOp>(user)) {
      if (!readsSlices(cast.getResult(), owner, any))
        return false;
      continue;
    }
    if (auto end = dyn_cast<func::ReturnOp>(user)) { // a working copy is made anew
      auto function = end->getParentOfType<func::FuncOp>();
      auto made = train::stateOfResult(function, use.getOperandNumber());
      auto state = made ? function->getParentOfType<ModuleOp>().lookupSymbol<train::StateOp>(made.getAttr())
                        : train::StateOp();
      if (!state || groupOf(state) != owner)
        return false;
      continue;
    }
    auto product = dyn_cast<train::GroupedMatmulOp>(user);
    auto gather = dyn_cast<onnx::GatherOp>(user);
    const bool isMatrices = product && use.getOperandNumber() == 2,
               isRows = gather && use.getOperandNumber() == 0 && gather.getAxis() == 0 &&
                        rankOf(tensor) > 1 &&
                        experts.lookup(ExpertRows::rootOf(gather.getIndices())) == shapeOf(tensor)[0];
    if (!isMatrices && !isRows)
      return false;
    any = true;
  }
  return true;
}

LogicalResult ExpertStates::check() {
  if (states.empty())
    return module.emitError()
           << "mesh expert=" << group.ranks
           << ": the model has no experts that ranks could share out (parameters that grouped "
              "products read, as kedge-raise-experts makes them)";
  for (train::StateOp state : states)
    if (const int64_t all = cast<RankedTensorType>(state.getType()).getDimSize(0); all % group.ranks != 0)
      return state.emitError() << "@" << state.getSymName() << " has " << all << " experts, which "
                               << group.ranks << " ranks along 'expert' do not divide: not available yet";
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](train::GroupedMatmulOp product) {
      Value w = product.getW();
      while (auto cast = w.getDefiningOp<onnx::CastOp>())
        w = cast.getX();
      auto argument = dyn_cast<BlockArgument>(w);
      auto state = argument ? train::stateOfArgument(function, argument.getArgNumber()) : FlatSymbolRefAttr();
      if (!state || !isCut(state.getAttr()))
        product.emitRemark() << "has its experts whole on each of " << group.ranks
                             << " ranks: " << bytesOf(product.getW().getType())
                             << " bytes; only parameters in their own form are shared out";
    });
  return success();
}

RankedTensorType ExpertStates::partOf(Type whole) const {
  auto tensor = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[0] /= group.ranks;
  return RankedTensorType::get(shape, tensor.getElementType());
}

void ExpertStates::cut(train::StateOp state) const {
  auto whole = cast<RankedTensorType>(state.getType());
  auto cut = dist::CutAttr::get(state.getContext(), 0, group.axis, group.ranks, {}, 1);
  state.setType(partOf(whole));
  state.setShardingAttr(
      dist::ShardingAttr::get(state.getContext(), whole.getShape(), {cut}, StringAttr(), 1));
}

} // namespace kedge::mesh
