// Second states of parameters, in the type that the model reads, and @restore, which computes them when a run
// starts.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::precision {

struct CopiedState {
  train::StateOp master, working;
};

train::BindingAttr bindingOf(train::StateOp state);
/// The state `NAME.working` behind its master, of the same shape and this element type.
train::StateOp makeWorkingCopy(train::StateOp master, mlir::Type element);
/// Adds to @restore, which is made behind @model where there is none, how these copies follow from their
/// masters.
void addToRestore(mlir::func::FuncOp model, llvm::ArrayRef<CopiedState> made);

} // namespace kedge::precision
