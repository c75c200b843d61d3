// Parameters with their 16-bit working copies, for passes that put something else in the masters' place.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::precision {

struct MasterPair {
  train::StateOp master, working;
  int64_t id = 0; ///< of its random numbers
};

/// Parameters with a 16-bit working copy. Frozen tensors keep their values: nothing rounds them twice.
llvm::SmallVector<MasterPair> masterPairs(mlir::ModuleOp module);

std::optional<unsigned> argumentOf(mlir::func::FuncOp function, train::StateOp state);
std::optional<unsigned> resultOf(mlir::func::FuncOp function, train::StateOp state);
PlaceAttr updateOf(train::StateOp state);

/// What restored the copy is gone with the master.
void forgetRestored(mlir::func::FuncOp restore, MasterPair pair);
/// The copy takes the master's place among the arguments: readers of the master read what `widened` makes of
/// it, at the function's beginning.
void readCopy(mlir::func::FuncOp function, MasterPair pair,
              llvm::function_ref<mlir::Value(PlacedBuilder &, mlir::Value narrow)> widened);
/// The function returns no copy any more.
void eraseCopyResult(mlir::func::FuncOp function, MasterPair pair);
void updateType(mlir::func::FuncOp function);

} // namespace kedge::precision
