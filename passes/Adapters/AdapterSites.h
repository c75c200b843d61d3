// Where a weight is multiplied: the places that an adapter joins.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace kedge::adapters {

/// A product or a convolution with the weight, or products with the matrix of each expert.
struct Site {
  mlir::Operation *op;
  bool outFirst; ///< the weight lies as [out, in, ...], or [experts, out, in]
};

/// A weight among the arguments of @model, with its uses.
struct AdaptedWeight {
  train::StateOp state;
  mlir::Value value; ///< what products read: the state's argument, or the values of its codes
  llvm::SmallVector<Site> sites;
  mlir::Operation *other = nullptr; ///< reads it as something else than a weight

  llvm::StringRef name();
  /// The name; of codes that the model's file has, the weight's, which of experts is a parameter of its
  /// module.
  std::string weightName();
  /// Module path: the name without ".weight".
  std::string path();
  /// By its name: expressions name modules, and so their weights.
  bool isBias();
  bool isConvolution() const;
  /// How many matrices it consists of.
  int64_t experts() const;
  /// [out, in, kernel...], of each expert, whatever the storage order.
  llvm::SmallVector<int64_t> shape() const;
};

/// The name of a weight, or of its codes, without what says so.
std::string modulePath(llvm::StringRef name);

/// All states that @model reads, in the order of its arguments; frozen or trained.
llvm::SmallVector<AdaptedWeight> weightsOf(mlir::func::FuncOp model);

/// Calls `change` with each weight and the rule that `ruleFor` finds for it, if any, until one fails. The
/// rule that no weight had; null: each had one.
template <typename Rule>
mlir::FailureOr<const Rule *>
applyRules(mlir::func::FuncOp model, llvm::ArrayRef<Rule> rules,
           llvm::function_ref<const Rule *(AdaptedWeight &)> ruleFor,
           llvm::function_ref<mlir::LogicalResult(AdaptedWeight &, const Rule &)> change) {
  llvm::SmallPtrSet<const Rule *, 8> used;
  for (AdaptedWeight &weight : weightsOf(model))
    if (const Rule *rule = ruleFor(weight)) {
      if (failed(change(weight, *rule)))
        return mlir::failure();
      used.insert(rule);
    }
  for (const Rule &rule : rules)
    if (!used.contains(&rule))
      return &rule;
  return nullptr;
}

} // namespace kedge::adapters
