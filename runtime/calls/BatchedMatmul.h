// The common form of onnx.MatMul and onnx.Gemm: a list of equally large matrix products.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::calls {

/// Where the matrices of a batch are in A and B: dimensions, innermost first. Neighbouring dimensions
/// are merged if both operands have equal distances in them, so any plain batch is one dimension.
struct BatchLayout {
  struct Dim {
    int64_t size, strideA, strideB; ///< strides in elements; 0: the same matrix is used again
  };
  std::vector<Dim> dims;

  void addOuter(Dim dim) {
    if (dim.size == 1)
      return;
    if (!dims.empty() && dims.back().size * dims.back().strideA == dim.strideA &&
        dims.back().size * dims.back().strideB == dim.strideB)
      dims.back().size *= dim.size;
    else
      dims.push_back(dim);
  }

  int64_t count() const {
    int64_t result = 1;
    for (const Dim &dim : dims)
      result *= dim.size;
    return result;
  }
};

struct BatchedMatmul {
  int64_t m, n, k;
  bool transA, transB; ///< A is stored as [k, m], B as [n, k]
  BatchLayout layout;  ///< the i-th C starts at i * m * n

  int64_t batches() const { return layout.count(); }
  /// Offset in elements of the operand's matrix number `batch`.
  int64_t offsetA(int64_t batch) const { return offset(batch, &BatchLayout::Dim::strideA); }
  int64_t offsetB(int64_t batch) const { return offset(batch, &BatchLayout::Dim::strideB); }
  CallWork work() const {
    double points = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(batches());
    return {CallWork::Kind::Matmul, 2 * points * static_cast<double>(k), 0, {}, {}, 0};
  }

private:
  int64_t offset(int64_t batch, int64_t BatchLayout::Dim::*stride) const {
    int64_t result = 0;
    for (const BatchLayout::Dim &dim : layout.dims) {
      result += batch % dim.size * dim.*stride;
      batch /= dim.size;
    }
    return result;
  }
};

/// Y = alpha A B + beta C; element (i, j) of C is at i * rowStride + j * columnStride.
struct Addend {
  double alpha = 1, beta = 1;
  int index = -1; ///< position among the inputs; -1: no C
  int64_t rowStride = 0, columnStride = 0;

  bool isBias() const { return index >= 0 && rowStride == 0 && columnStride == 1 && beta == 1; }
  bool isPlain() const { return alpha == 1 && (index < 0 || isBias()); }
};

/// Shapes as in numpy's matmul, with the attributes transA and transB.
BatchedMatmul readMatMul(const LibraryCall &call);
BatchedMatmul readGemm(const LibraryCall &call);
Addend readGemmAddend(const LibraryCall &call, const BatchedMatmul &product);

/// A Gemm with the attribute `wide`: 16-bit A and B, f32 C and result.
bool isWideSum(const LibraryCall &call);

/// A product whose rows are longer in memory than what is multiplied has the attribute `widths`: elements of
/// a row of A, B and Y that count. This is the same product with dense rows.
LibraryCall withDenseRows(const LibraryCall &call);
bool hasPaddedRows(const LibraryCall &call);

/// train.fused_product without its epilogue, train.accumulate_product without its sum: an onnx.Gemm of the
/// same operands. Other calls are as they were.
LibraryCall withoutEpilogue(const LibraryCall &call);
/// exp, tanh and the like that the epilogue of a train.fused_product computes.
double specialFunctionsOfEpilogue(const LibraryCall &call);

/// train.scaled_product: inputs A and B of 8-bit floats, a factor for each, and optionally C. alpha is
/// applied, too. The result is of bf16, or without C of f32.
struct ScaledOperands {
  BatchedMatmul product;
  Addend addend;
};
ScaledOperands readScaledMatmul(const LibraryCall &call);

} // namespace kedge::rt::calls
