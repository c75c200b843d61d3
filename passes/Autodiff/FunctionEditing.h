// Functions whose arguments and results carry bindings that say what they are for.
#pragma once
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::autodiff {

/// The argument bound to `name`, made (with `type`) when there is none.
mlir::Value argumentFor(mlir::func::FuncOp function, train::BindingKind kind, llvm::StringRef name,
                        mlir::Type type);
/// Appends a result with its binding.
void addResult(mlir::func::FuncOp function, mlir::Value value, train::BindingAttr binding);
void addResult(mlir::func::FuncOp function, mlir::Value value, train::BindingKind kind, llvm::StringRef name);
/// The returned value that is bound to `name`; null when there is none.
mlir::Value findResult(mlir::func::FuncOp function, train::BindingKind kind, llvm::StringRef name);
/// Erases the results for which `unwanted` says so.
void eraseResults(mlir::func::FuncOp function, llvm::function_ref<bool(unsigned)> unwanted);
/// Erases the results bound as `kind`.
void eraseResults(mlir::func::FuncOp function, train::BindingKind kind);
/// Erases pure ops and then arguments that nobody uses.
void eraseUnused(mlir::func::FuncOp function);
mlir::Operation *returnOf(mlir::func::FuncOp function);
/// The 16-bit value that a cast to f32 gave `value`; `value` itself when none did.
mlir::Value withoutWidening(mlir::Value value);

/// A function that takes thousands of arguments and results one after the other: bound ones are found by
/// name, and new ones enter the function's type together, when this ends. Until then nothing else asks for
/// the function's type.
class BoundFunction {
public:
  explicit BoundFunction(mlir::func::FuncOp function);
  ~BoundFunction();
  BoundFunction(const BoundFunction &) = delete;

  /// As argumentFor and addResult.
  mlir::Value argument(train::BindingKind kind, llvm::StringRef name, mlir::Type type);
  void addResult(mlir::Value value, train::BindingKind kind, llvm::StringRef name);

  mlir::func::FuncOp function;

private:
  llvm::DenseMap<train::BindingAttr, mlir::Value> bound;
  llvm::SmallVector<mlir::DictionaryAttr> newArguments, newResults;
  llvm::SmallVector<mlir::Value> values; ///< of the new results
};

/// A parameter with its gradient.
struct Trained {
  train::StateOp state;
  mlir::Value gradient;
};
/// The gradients that the function returns, which it returns no longer.
llvm::SmallVector<Trained> takeGradients(mlir::func::FuncOp function);
/// A state symbol beside the parameter that it belongs to, of the parameter's type, starting at zero.
train::StateOp makeStateOf(train::StateOp parameter, train::Role role, llvm::StringRef suffix);

} // namespace kedge::autodiff
