// One convolution of a program, or the gradient of one.
#pragma once
#include "runtime/cuda/library/Cudnn.h"

namespace kedge::rt::cuda {
using namespace calls;

/// Of which shapes, for messages.
std::string textOf(const ConvolutionCall &call);

class ConvolutionLaunch final : public LibraryLaunch {
public:
  ConvolutionLaunch(Cudnn &library, Gpu &gpu, const ConvolutionCall &call, const LaunchPointers &pointers);
  ~ConvolutionLaunch() override;
  void enqueue() override;
  uint64_t wantedWorkspaceBytes() const override { return needed > pointers.workspaceBytes ? needed : 0; }
  void setWorkspace(CUdeviceptr workspace, uint64_t bytes) override;

private:
  void describe();
  cudnnTensorDescriptor_t tensor(const int *shape, int count) const;
  /// Chooses the first deterministic algorithm that runs in the planned workspace, else the first
  /// that runs at all. Algorithms that round differently from plain sums come last, and print a note.
  void choose();
  bool chooseFrom(const std::vector<int> &candidates);
  bool workspaceOf(int algorithm, size_t &bytes) const;
  bool runs(int candidate);
  cudnnStatus_t run();

  Cudnn &library;
  Gpu &gpu;
  ConvolutionCall call;
  LaunchPointers pointers;
  int algorithm = 0;
  uint64_t needed = 0;
  std::vector<int>
      others;         ///< in order of preference, for a library that refuses an algorithm only when it runs
  bool empty = false; ///< no element to compute
  cudnnTensorDescriptor_t x = nullptr, y = nullptr, bias = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
};

} // namespace kedge::rt::cuda
