// Parameters that adapters consist of.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Adapters/AdapterSites.h"

namespace kedge::adapters {

/// The type that a state's first values have in their file, where it is another.
void noteStored(train::StateOp state, mlir::Type stored);

/// Says of what weight a state is; no scale, and neither a bias nor rows.
tune::AdapterAttr markOf(AdaptedWeight &weight, tune::Factor factor, llvm::StringRef path);

/// A parameter of this name right behind its weight, as the last argument of @model.
mlir::Value addParameter(mlir::func::FuncOp model, tune::AdapterAttr mark, const std::string &name,
                         mlir::RankedTensorType type, mlir::Attribute init, mlir::Type stored);

/// An error where the weight trains, has an adapter, or is in few bits in the file. `option` asks for it.
mlir::LogicalResult checkTrainsNot(mlir::ModuleOp module, AdaptedWeight &weight, llvm::StringRef option);

} // namespace kedge::adapters
