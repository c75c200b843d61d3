#include "driver/reduce/ModelPart.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include <fmt/format.h>
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {

using train::BindingAttr;
using train::BindingKind;

/// Edits a copy of the module in place.
class Cutter {
public:
  Cutter(ModuleOp module, const KeptOps &kept)
      : module(module), function(train::functionOf(module, train::FunctionKind::Model)),
        ops(opsOfModel(module)), kept(kept) {}

  void run() {
    keepResults();
    addResults();
    removeOps();
    removeArguments();
    removeStates();
  }

private:
  Operation *terminator() { return function.getBody().front().getTerminator(); }

  bool isKept(Value value) const {
    Operation *op = value.getDefiningOp();
    for (size_t i = 0; i < ops.size(); ++i)
      if (ops[i] == op)
        return kept[i];
    return false; // arguments, too: a model computes its outputs
  }

  /// Results of ops that stay.
  void keepResults() {
    llvm::BitVector gone(function.getNumResults());
    SmallVector<Value> values;
    for (auto [index, value] : llvm::enumerate(terminator()->getOperands()))
      if (isKept(value))
        values.push_back(value);
      else
        gone.set(index);
    (void)function.eraseResults(gone);
    terminator()->setOperands(values);
  }

  bool isReadByKept(Operation *op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>() ||
             (user->getNumResults() > 0 ? isKept(user->getResult(0)) : false);
    });
  }

  void addResults() {
    for (size_t i = 0; i < ops.size(); ++i) {
      Operation *op = ops[i];
      if (!kept[i] || op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>() || isReadByKept(op))
        continue;
      const Value value = op->getResult(0);
      auto binding = BindingAttr::get(op->getContext(), BindingKind::Output, fmt::format("end.{}", i));
      (void)function.insertResult(function.getNumResults(), value.getType(), train::boundTo(binding));
      terminator()->insertOperands(terminator()->getNumOperands(), value);
    }
  }

  void removeOps() {
    for (size_t i = ops.size(); i-- > 0;) {
      if (kept[i])
        continue;
      for (Value result : ops[i]->getResults())
        if (!result.use_empty())
          result.replaceAllUsesWith(newInput(result));
      ops[i]->erase();
    }
  }

  Value newInput(Value like) {
    const unsigned index = function.getNumArguments();
    auto binding = BindingAttr::get(function.getContext(), BindingKind::Input, fmt::format("cut.{}", index));
    (void)function.insertArgument(index, like.getType(), train::boundTo(binding), like.getLoc());
    return function.getArgument(index);
  }

  void removeArguments() {
    llvm::BitVector gone(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        gone.set(argument.getArgNumber());
    (void)function.eraseArguments(gone);
  }

  void removeStates() {
    std::set<StringRef> read;
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (FlatSymbolRefAttr state = train::stateOfArgument(function, index))
        read.insert(state.getValue());
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (FlatSymbolRefAttr state = train::stateOfResult(function, index))
        read.insert(state.getValue());
    for (auto state : llvm::make_early_inc_range(module.getOps<train::StateOp>()))
      if (!read.contains(state.getSymName()))
        state.erase();
  }

  ModuleOp module;
  func::FuncOp function;
  std::vector<Operation *> ops;
  const KeptOps &kept;
};

} // namespace

std::vector<Operation *> opsOfModel(ModuleOp module) {
  std::vector<Operation *> ops;
  if (func::FuncOp function = train::functionOf(module, train::FunctionKind::Model))
    for (Operation &op : function.getBody().front().without_terminator())
      ops.push_back(&op);
  return ops;
}

OwningOpRef<ModuleOp> partOf(ModuleOp module, const KeptOps &kept) {
  OwningOpRef<ModuleOp> part = module.clone();
  Cutter(*part, kept).run();
  return part;
}

} // namespace kedge::driver
