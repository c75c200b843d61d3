// Convolutions and their gradients by cuDNN: deterministic algorithms, fp32 at full precision (FMA, no TF32);
// of 16 bits by its graph API.
#pragma once
#include "runtime/calls/LibraryWork.h"
#include "runtime/cuda/library/CudnnGraph.h"
#include "runtime/cuda/library/LibraryLaunch.h"
#include <cudnn.h>

namespace kedge::rt::cuda {
using namespace calls;

class Cudnn {
public:
  /// Opens the library. Throws rt::RuntimeError if none is found that works with the driver.
  explicit Cudnn(Gpu &gpu);
  ~Cudnn();
  Cudnn(const Cudnn &) = delete;
  Cudnn &operator=(const Cudnn &) = delete;

  std::unique_ptr<LibraryLaunch> makeLaunch(const LibraryCall &call, const LaunchPointers &pointers);

private:
  friend class ConvolutionLaunch;
  void bindAll();
  void check(cudnnStatus_t status, const std::string &what) const;

  Gpu &gpu;
  SharedLibrary library;
  std::optional<CudnnGraph> graph; ///< once a convolution needs it
  cudnnHandle_t handle = nullptr;
  std::set<std::string> told; ///< convolutions for which a note was printed

  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnGetVersion) getVersion = nullptr;
  decltype(&::cudnnGetCudartVersion) getCudartVersion = nullptr;
  decltype(&::cudnnGetErrorString) errorString = nullptr;
  decltype(&::cudnnSetStream) setStream = nullptr;
  decltype(&::cudnnCreateTensorDescriptor) createTensor = nullptr;
  decltype(&::cudnnDestroyTensorDescriptor) destroyTensor = nullptr;
  decltype(&::cudnnSetTensorNdDescriptor) setTensor = nullptr;
  decltype(&::cudnnCreateFilterDescriptor) createFilter = nullptr;
  decltype(&::cudnnDestroyFilterDescriptor) destroyFilter = nullptr;
  decltype(&::cudnnSetFilterNdDescriptor) setFilter = nullptr;
  decltype(&::cudnnCreateConvolutionDescriptor) createConvolution = nullptr;
  decltype(&::cudnnDestroyConvolutionDescriptor) destroyConvolution = nullptr;
  decltype(&::cudnnSetConvolutionNdDescriptor) setConvolution = nullptr;
  decltype(&::cudnnSetConvolutionGroupCount) setGroups = nullptr;
  decltype(&::cudnnSetConvolutionMathType) setMathType = nullptr;
  decltype(&::cudnnGetConvolutionForwardWorkspaceSize) forwardWorkspace = nullptr;
  decltype(&::cudnnGetConvolutionBackwardDataWorkspaceSize) dataWorkspace = nullptr;
  decltype(&::cudnnGetConvolutionBackwardFilterWorkspaceSize) filterWorkspace = nullptr;
  decltype(&::cudnnConvolutionForward) forward = nullptr;
  decltype(&::cudnnConvolutionBackwardData) backwardData = nullptr;
  decltype(&::cudnnConvolutionBackwardFilter) backwardFilter = nullptr;
  decltype(&::cudnnAddTensor) addTensor = nullptr;
};

} // namespace kedge::rt::cuda
