// What onnx.MatMul and onnx.Gemm have in common once shapes are read: a list of equal products.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::cpu {

struct Product {
  int64_t m, n, k;
  bool transA, transB; ///< A lies as [k, m], B as [n, k]
  /// Elements from the operand's start to the matrix of each batch; the i-th C is at i * m * n.
  std::vector<int64_t> offsetsA, offsetsB;

  int64_t batches() const { return static_cast<int64_t>(offsetsA.size()); }
  KernelWork work() const {
    double points = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(batches());
    return {KernelWork::Kind::Product, 2 * points * static_cast<double>(k), 0, {}, {}, 0};
  }
};

/// Y = alpha A B + beta C, where element (i, j) of C is at i * rowStride + j * columnStride.
struct Addend {
  double alpha = 1, beta = 1;
  int index = -1; ///< among the inputs; -1: no C
  int64_t rowStride = 0, columnStride = 0;

  bool isBias() const { return index >= 0 && rowStride == 0 && columnStride == 1 && beta == 1; }
  bool isPlain() const { return alpha == 1 && (index < 0 || isBias()); }
};

/// Shapes as numpy's matmul; attributes transA and transB.
Product readMatMul(const LibraryCall &call);
Product readGemm(const LibraryCall &call);
Addend readGemmAddend(const LibraryCall &call, const Product &product);

} // namespace kedge::rt::cpu
