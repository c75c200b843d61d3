// A library call that is a product of matrices, as the passes of level 3 see it.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::analysis {

/// Y = alpha op(A) op(B) + beta C, of onnx.MatMul or onnx.Gemm.
class MatmulCall {
public:
  static constexpr unsigned kA = 0, kB = 1, kC = 2;

  /// None where `op` (null, too) is no such call.
  static std::optional<MatmulCall> of(mlir::Operation *op);

  sched::LibraryOp call() const { return library; }
  mlir::Value a() const { return operand(kA); }
  mlir::Value b() const { return operand(kB); }
  mlir::Value y() const { return library->getResult(0); }
  /// Null without C.
  mlir::Value c() const { return hasC() ? operand(kC) : mlir::Value(); }
  bool hasC() const { return library->getNumOperands() > kC + (unpacksB() ? 1 : 0); }
  bool transA() const { return flag("transA"); }
  bool transB() const { return flag("transB"); }
  double alpha() const { return factor("alpha"); }
  double beta() const { return factor("beta"); }
  /// B is in few bits, with scales as the last operand (kedge-unpack-in-products).
  bool unpacksB() const;
  /// What counts of a row of A, B and Y, where rows are padded (kedge-pad-rows).
  void setWidth(unsigned tensor, int64_t width);

private:
  explicit MatmulCall(sched::LibraryOp library) : library(library) {}
  mlir::Value operand(unsigned number) const { return library->getOperand(number); }
  mlir::DictionaryAttr attributes() const;
  bool flag(llvm::StringRef name) const;
  double factor(llvm::StringRef name) const;

  mutable sched::LibraryOp library;
};

} // namespace kedge::analysis
