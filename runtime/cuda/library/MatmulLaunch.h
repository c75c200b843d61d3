// One product of a program (rt::calls::isMatmul), as calls of cublasLtMatmul.
#pragma once
#include "runtime/calls/PaddedMatmul.h"
#include "runtime/cuda/library/CublasLt.h"

namespace kedge::rt::cuda {
using namespace calls;

class MatmulLaunch final : public LibraryLaunch {
public:
  /// With `padded` the product of wide matrices is computed; it needs setWorkspace if that has copies.
  MatmulLaunch(CublasLt &library, Gpu &gpu, MatmulCalls calls, const LaunchPointers &pointers,
               std::optional<PaddedMatmul> padded = {});
  ~MatmulLaunch() override;
  void enqueue() override;
  bool leavesKernels() const override { return calls.apart; }
  uint64_t wantedWorkspaceBytes() const override { return padded ? padded->bytes : 0; }
  void setWorkspace(CUdeviceptr workspace, uint64_t) override { copies = workspace; }
  /// Of B, which all chunks of a head's logits share.
  std::optional<LeftCopy> leftCopy() const override;
  void reuseCopy() override { hasCopyOfB = true; }

private:
  friend class CublasLt;
  struct State;
  void multiply(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, CUdeviceptr y);
  const MatmulShape &multiplied() const { return padded ? padded->shape : calls.shape; }
  /// Where a matrix of a padded product is, and what makes it wide.
  CUdeviceptr placeOf(const WideMatrix &matrix, CUdeviceptr own) const {
    return matrix.isCopied ? copies + matrix.offset : own;
  }
  void prepare(const WideMatrix &matrix, CUdeviceptr own);
  void clear(CUdeviceptr at, int64_t row, int64_t width, int64_t rows);
  void multiplyPadded();
  void broadcastAddend();
  void doubleColumns(CUdeviceptr y, uint64_t element, int64_t rows);
  void doubleRows(CUdeviceptr y, uint64_t element);
  void copyRows(CUdeviceptr destination, uint64_t destinationPitch, CUdeviceptr source, uint64_t sourcePitch,
                uint64_t width, int64_t rows);
  /// Median time of several runs in microseconds; nothing if the
  /// library refuses to run it. Throws rt::RuntimeError if the GPU fails.
  std::optional<double> measure();
  /// Microseconds for `count` runs between two events.
  double measure(const std::array<CUevent, 2> &events, int count);

  CublasLt &library;
  Gpu &gpu;
  MatmulCalls calls;
  LaunchPointers pointers;
  std::optional<PaddedMatmul> padded;
  CUdeviceptr copies = 0;       ///< of matrices that are wide only there
  bool hasCopyOfB = false;      ///< an earlier launch made it
  std::unique_ptr<State> state; ///< null: there is nothing to multiply
};

/// Median time of a copy within the GPU, after one that warms up.
double copyMicroseconds(Gpu &gpu, CUdeviceptr from, CUdeviceptr to, size_t bytes);

} // namespace kedge::rt::cuda
