// What the verifiers of levels have in common.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::levels {

/// One verification of a module: reports everything that is wrong, each with a note at the other place.
class Border {
public:
  /// `level` names what is verified in messages; `belongs` says which ops of functions it consists of.
  Border(mlir::ModuleOp module, llvm::StringRef level, llvm::function_ref<bool(mlir::Operation *)> belongs)
      : module(module), level(level), belongs(belongs) {}

  /// Ops of the level alone, static shapes, a place on each that computes something, bound arguments and
  /// results.
  void checkFunctions();
  mlir::InFlightDiagnostic error(mlir::Operation *op) {
    failed = true;
    return op->emitOpError();
  }

  /// Whether the op is of the dialects that levels 1 and 2 consist of.
  static bool isOfModel(mlir::Operation *op);

  bool failed = false;
  int64_t checked = 0;

private:
  void checkBindings(mlir::func::FuncOp function);
  void checkOp(mlir::Operation &op);
  void checkPlace(mlir::Operation &op);

  mlir::ModuleOp module;
  llvm::StringRef level;
  llvm::function_ref<bool(mlir::Operation *)> belongs;
};

} // namespace kedge::levels
