// cuDNN calls deprecated what has no replacement but the graph API's engines, which differ from release to
// release.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "runtime/cuda/library/Cudnn.h"
#include "runtime/cuda/library/ConvolutionLaunch.h"
#include "runtime/cuda/library/GraphConvolutionLaunch.h"

namespace kedge::rt::cuda {
using namespace calls;

static SharedLibrary openCudnn(const Gpu &gpu) {
  return SharedLibrary::open(
      {"libcudnn.so.9"},
      "this program's convolutions need cuDNN 9: it comes with NVIDIA's packages, and with the Python "
      "wheel nvidia-cudnn-cu" +
          std::to_string(gpu.driverVersion() / 1000) +
          "; a program that is compiled with --convolution generated needs none");
}

Cudnn::Cudnn(Gpu &gpu) : gpu(gpu), library(openCudnn(gpu)) {
  bindAll();
  if (const size_t version = getVersion(); version / 10000 != 9)
    fail("{} is cuDNN {}.{}, expected cuDNN 9: install that one", library.name(), version / 10000,
         version / 100 % 100);
  if (const int made = static_cast<int>(getCudartVersion()); made / 1000 > gpu.driverVersion() / 1000)
    fail("{} is made for CUDA {}, and NVIDIA's driver for CUDA {}: install a newer driver, or cuDNN for CUDA "
         "{}",
         library.name(), versionText(made), versionText(gpu.driverVersion()), gpu.driverVersion() / 1000);
  check(create(&handle), "cuDNN (" + library.name() + ") does not start");
  check(setStream(handle, gpu.stream()), "cuDNN takes no stream");
}

Cudnn::~Cudnn() {
  if (handle)
    destroy(handle);
}

void Cudnn::bindAll() {
  library.bind(create, "cudnnCreate");
  library.bind(destroy, "cudnnDestroy");
  library.bind(getVersion, "cudnnGetVersion");
  library.bind(getCudartVersion, "cudnnGetCudartVersion");
  library.bind(errorString, "cudnnGetErrorString");
  library.bind(setStream, "cudnnSetStream");
  library.bind(createTensor, "cudnnCreateTensorDescriptor");
  library.bind(destroyTensor, "cudnnDestroyTensorDescriptor");
  library.bind(setTensor, "cudnnSetTensorNdDescriptor");
  library.bind(createFilter, "cudnnCreateFilterDescriptor");
  library.bind(destroyFilter, "cudnnDestroyFilterDescriptor");
  library.bind(setFilter, "cudnnSetFilterNdDescriptor");
  library.bind(createConvolution, "cudnnCreateConvolutionDescriptor");
  library.bind(destroyConvolution, "cudnnDestroyConvolutionDescriptor");
  library.bind(setConvolution, "cudnnSetConvolutionNdDescriptor");
  library.bind(setGroups, "cudnnSetConvolutionGroupCount");
  library.bind(setMathType, "cudnnSetConvolutionMathType");
  library.bind(forwardWorkspace, "cudnnGetConvolutionForwardWorkspaceSize");
  library.bind(dataWorkspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  library.bind(filterWorkspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  library.bind(forward, "cudnnConvolutionForward");
  library.bind(backwardData, "cudnnConvolutionBackwardData");
  library.bind(backwardFilter, "cudnnConvolutionBackwardFilter");
  library.bind(addTensor, "cudnnAddTensor");
}

void Cudnn::check(cudnnStatus_t status, const std::string &what) const {
  if (status != CUDNN_STATUS_SUCCESS)
    fail("{}: {} ({})", what, errorString(status), static_cast<int>(status));
}

std::unique_ptr<LibraryLaunch> Cudnn::makeLaunch(const LibraryCall &call, const LaunchPointers &pointers) {
  const ConvolutionCall convolution = convolutionCallOf(call);
  if (!convolution.isNarrow())
    return std::make_unique<ConvolutionLaunch>(*this, gpu, convolution, pointers);
  if (!graph)
    graph.emplace(library);
  return std::make_unique<GraphConvolutionLaunch>(*graph, handle, convolution, pointers);
}

} // namespace kedge::rt::cuda
