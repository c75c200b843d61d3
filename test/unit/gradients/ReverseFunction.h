// The gradients of a function's arguments, built behind its ops.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/support/CompiledFunction.h"
#include <map>
#include <set>
#include <string>

namespace kedge::test {

class ReverseFunction {
public:
  explicit ReverseFunction(mlir::func::FuncOp function) : function(function), block(function.front()) {}

  /// Appends an argument for the gradient of each float result. Says why when a gradient cannot be built.
  std::string build();

  /// Null when none reaches the value.
  mlir::Value gradient(mlir::Value value) const { return gradients.lookup(value); }
  /// The appended argument of each result; null for one that is no float.
  llvm::ArrayRef<mlir::Value> seeds() const { return seedArguments; }
  /// Names of the ops that took part.
  const std::set<std::string> &differentiated() const { return names; }

  /// The function's results, then the gradients of its arguments, through the CPU path.
  std::unique_ptr<CompiledFunction> compile();
  /// The output that the gradient of an argument is, once compiled.
  std::string outputOf(unsigned argument) const { return std::to_string(outputs.at(argument)); }

private:
  void accumulate(mlir::OpBuilder &builder, mlir::Value value, mlir::Value gradient);
  std::string differentiate(mlir::OpBuilder &builder, mlir::Operation *op);

  mlir::func::FuncOp function;
  mlir::Block &block;
  std::string error;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::SmallVector<mlir::Value> seedArguments;
  std::set<std::string> names;
  std::map<unsigned, size_t> outputs;
};

} // namespace kedge::test
