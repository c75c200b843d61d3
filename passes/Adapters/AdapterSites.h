// Where a weight is multiplied: the places that an adapter joins.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::adapters {

/// A product or a convolution with the weight.
struct Site {
  mlir::Operation *op;
  bool outFirst; ///< the weight lies as [out, in, ...]
};

/// A weight among the arguments of @model, with its uses.
struct AdaptedWeight {
  train::StateOp state;
  mlir::Value value; ///< what products read: the state's argument, or the values of its codes
  llvm::SmallVector<Site> sites;
  mlir::Operation *other = nullptr; ///< reads it as something else than a weight

  llvm::StringRef name();
  /// The name; of codes that the model's file has, the weight's.
  std::string weightName();
  /// Module path: the name without ".weight".
  std::string path();
  bool isConvolution() const;
  /// [out, in, kernel...], whatever the storage order.
  llvm::SmallVector<int64_t> shape() const;
};

/// All states that @model reads, in the order of its arguments; frozen or trained.
llvm::SmallVector<AdaptedWeight> weightsOf(mlir::func::FuncOp model);

} // namespace kedge::adapters
