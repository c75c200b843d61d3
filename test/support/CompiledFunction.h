// A level-1 function through the whole CPU path - clusters, kernels, arena, launch table - in this process.
#pragma once
#include "lib/Interpret/ConstantEvaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace kedge::test {

/// Compiles @model of a module at optimization level 1 and runs it on two threads. Arguments carry
/// `train.input` or `train.state` (initial values are embedded), results `train.output`.
class CompiledFunction {
public:
  /// `modelPath` is the file that weights lie in, if any do. The module is used up. Throws kedge::Error with
  /// the diagnostics of the phase that failed.
  explicit CompiledFunction(mlir::OwningOpRef<mlir::ModuleOp> module, const std::string &modelPath = "");
  ~CompiledFunction();

  /// A copy of a function in a module of its own: argument k becomes the input "k", result k the output "k".
  static mlir::OwningOpRef<mlir::ModuleOp> isolate(mlir::func::FuncOp function);

  /// Whether the program reads an input of that name.
  bool hasInput(const std::string &name) const;
  /// Throws kedge::Error unless the sizes agree. Inputs must be set before each run: their bytes are reused.
  void setInput(const std::string &name, const interpret::HostTensor &tensor);
  void run();
  /// What the last run computed, by its name and its type in the function.
  interpret::HostTensor output(const std::string &name) const;
  /// Kernels and library calls of a run.
  size_t launches() const;

private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded;
};

} // namespace kedge::test
