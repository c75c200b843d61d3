// One product of a program (rt::calls::isProduct), as calls of cublasLtMatmul.
#pragma once
#include "runtime/cuda/library/CublasLt.h"

namespace kedge::rt::cuda {
using namespace calls;

class ProductLaunch final : public LibraryLaunch {
public:
  ProductLaunch(CublasLt &library, Gpu &gpu, MatmulCalls calls, const LaunchPlaces &places);
  ~ProductLaunch() override;
  void enqueue() override;
  bool leavesKernels() const override { return calls.apart; }

private:
  friend class CublasLt;
  struct State;
  void multiply(int64_t call, CUdeviceptr c);
  void broadcastAddend();
  void doubleColumns(CUdeviceptr y, uint64_t element, int64_t rows);
  void doubleRows(CUdeviceptr y, uint64_t element);
  void copyRows(CUdeviceptr destination, uint64_t destinationPitch, CUdeviceptr source, uint64_t sourcePitch,
                uint64_t width, int64_t rows);
  /// Median time of several runs in microseconds; nothing if the
  /// library refuses to run it. Throws rt::Error if the GPU fails.
  std::optional<double> measure();
  /// Microseconds for `count` runs between two events.
  double measure(const std::array<CUevent, 2> &events, int count);

  CublasLt &library;
  Gpu &gpu;
  MatmulCalls calls;
  LaunchPlaces places;
  std::unique_ptr<State> state; ///< null: there is nothing to multiply
};

} // namespace kedge::rt::cuda
