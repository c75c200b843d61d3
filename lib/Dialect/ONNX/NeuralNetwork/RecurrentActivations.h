// The activation functions that LSTM, GRU and RNN name, as ops.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kedge::onnx {

class RecurrentActivations {
public:
  /// ONNX's attributes, null where absent; `missing` are the functions of a direction without names.
  RecurrentActivations(mlir::ArrayAttr names, llvm::ArrayRef<float> alphas, llvm::ArrayRef<float> betas,
                       llvm::ArrayRef<llvm::StringRef> missing, int64_t directions);

  /// Whether all names are known.
  bool known() const;
  /// Function number `k` of a direction.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc, int64_t direction, int64_t k,
                    mlir::Value x) const;

private:
  struct Function {
    std::string name; // in lower case
    double alpha, beta;
  };
  int64_t perDirection;
  llvm::SmallVector<Function> functions;
};

} // namespace kedge::onnx
