// libcudnn.so.9 as tests have it: convolutions on the host, from the descriptors alone. Workspaces are as
// large as KEDGE_STUB_WORKSPACE says (0); the first algorithm of a kind needs that, others nothing. With
// KEDGE_STUB_REFUSES_PLAIN it has no gradients by plain sums: =query says so when it is asked, =run when it
// is to run them, by the status of KEDGE_STUB_REFUSAL (3000).
#include "test/unit/cuda/stubs/Convolution.h"
#include "test/unit/cuda/stubs/Stub.h"
#include <cudnn.h>
#include <vector>

using namespace kedge::stub;

cudaStream_t kedge::stub::convolutionStream = nullptr;

namespace {

Shape &of(void *handle) { return *static_cast<Shape *>(handle); }
const Shape &shapeOf(const void *handle) { return *static_cast<const Shape *>(handle); }
const Convolution &convolutionOf(const void *handle) { return *static_cast<const Convolution *>(handle); }

bool refusesPlain(int algorithm, const char *when) {
  const char *wanted = std::getenv("KEDGE_STUB_REFUSES_PLAIN");
  return algorithm == 1 && wanted && std::strcmp(wanted, when) == 0;
}

cudnnStatus_t refusal() {
  return static_cast<cudnnStatus_t>(setting("KEDGE_STUB_REFUSAL", CUDNN_STATUS_NOT_SUPPORTED));
}

/// result[target] += one[..] * other[..] after clearing; fp32 only.
enum class Target { X, W, Y };
cudnnStatus_t convolve(Target target, const char *name, const void *x, const void *w, const void *y,
                       const void *c, void *xData, void *wData, void *yData, size_t workspace,
                       int algorithm) {
  record("%s algorithm %d workspace %zu", name, algorithm, workspace);
  if (target != Target::Y && refusesPlain(algorithm, "run"))
    return refusal();
  if (convolutionOf(c).math != CUDNN_FMA_MATH || shapeOf(x).type != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_BAD_PARAM;
  float *images = static_cast<float *>(xData), *filters = static_cast<float *>(wData);
  float *results = static_cast<float *>(yData);
  float *out = target == Target::X ? images : target == Target::W ? filters : results;
  enqueue(
      [=] {
        std::fill_n(out, elements(shapeOf(target == Target::X ? x : target == Target::W ? w : y)), 0.0f);
        visitProducts(shapeOf(x), shapeOf(w), shapeOf(y), convolutionOf(c),
                      [&](int64_t i, int64_t k, int64_t j) {
                        if (target == Target::X)
                          images[i] += filters[k] * results[j];
                        else if (target == Target::W)
                          filters[k] += images[i] * results[j];
                        else
                          results[j] += images[i] * filters[k];
                      });
      },
      convolutionStream);
  return static_cast<cudnnStatus_t>(failure(name));
}

cudnnStatus_t workspace(int algorithm, size_t *bytes) {
  *bytes = algorithm == 1 ? static_cast<size_t>(setting("KEDGE_STUB_WORKSPACE", 0)) : 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t gradientWorkspace(int algorithm, size_t *bytes) {
  return refusesPlain(algorithm, "query") ? refusal() : workspace(algorithm, bytes);
}

template <typename Handle> cudnnStatus_t makeShape(Handle *handle) {
  *handle = reinterpret_cast<Handle>(new Shape);
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

extern "C" {
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  record("cudnnCreate");
  *handle = reinterpret_cast<cudnnHandle_t>(handle);
  return static_cast<cudnnStatus_t>(failure("cudnnCreate"));
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
size_t cudnnGetVersion() { return static_cast<size_t>(setting("KEDGE_STUB_CUDNN", 91900)); }
size_t cudnnGetCudartVersion() { return 13000; }
const char *cudnnGetErrorString(cudnnStatus_t) { return "a status that a test asked for"; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  convolutionStream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *handle) { return makeShape(handle); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t handle) {
  delete &of(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t handle, cudnnDataType_t type, int count,
                                         const int *sizes, const int *strides) {
  int64_t stride = 1;
  for (int i = count - 1; i >= 0; stride *= sizes[i--])
    if (strides[i] != stride)
      return CUDNN_STATUS_BAD_PARAM;
  of(handle) = {type, std::vector<int>(sizes, sizes + count)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *handle) { return makeShape(handle); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t handle) {
  delete &of(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t handle, cudnnDataType_t type,
                                         cudnnTensorFormat_t, int count, const int *sizes) {
  of(handle) = {type, std::vector<int>(sizes, sizes + count)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *handle) {
  *handle = reinterpret_cast<cudnnConvolutionDescriptor_t>(new Convolution);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t handle) {
  delete reinterpret_cast<Convolution *>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t handle, int count, const int *pad,
                                              const int *stride, const int *dilation, cudnnConvolutionMode_t,
                                              cudnnDataType_t) {
  auto *c = reinterpret_cast<Convolution *>(handle);
  c->pad.assign(pad, pad + count);
  c->stride.assign(stride, stride + count);
  c->dilation.assign(dilation, dilation + count);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t handle, int groups) {
  reinterpret_cast<Convolution *>(handle)->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t handle, cudnnMathType_t math) {
  reinterpret_cast<Convolution *>(handle)->math = math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                      cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
                                                      cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes) {
  return workspace(algorithm, bytes);
}
cudnnStatus_t
cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
                                             cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
                                             cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes) {
  return gradientWorkspace(algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes) {
  return gradientWorkspace(algorithm, bytes);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void *, cudnnTensorDescriptor_t x,
                                      const void *xData, cudnnFilterDescriptor_t w, const void *wData,
                                      cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algorithm,
                                      void *, size_t bytes, const void *, cudnnTensorDescriptor_t y,
                                      void *yData) {
  return convolve(Target::Y, "cudnnConvolutionForward", x, w, y, c, const_cast<void *>(xData),
                  const_cast<void *>(wData), yData, bytes, algorithm);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void *, cudnnFilterDescriptor_t w,
                                           const void *wData, cudnnTensorDescriptor_t y, const void *yData,
                                           cudnnConvolutionDescriptor_t c,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *, size_t bytes,
                                           const void *, cudnnTensorDescriptor_t x, void *xData) {
  return convolve(Target::X, "cudnnConvolutionBackwardData", x, w, y, c, xData, const_cast<void *>(wData),
                  const_cast<void *>(yData), bytes, algorithm);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void *, cudnnTensorDescriptor_t x,
                                             const void *xData, cudnnTensorDescriptor_t y, const void *yData,
                                             cudnnConvolutionDescriptor_t c,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void *, size_t bytes,
                                             const void *, cudnnFilterDescriptor_t w, void *wData) {
  return convolve(Target::W, "cudnnConvolutionBackwardFilter", x, w, y, c, const_cast<void *>(xData), wData,
                  const_cast<void *>(yData), bytes, algorithm);
}
/// c += a, one number a channel.
cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void *, cudnnTensorDescriptor_t a, const void *aData,
                             const void *, cudnnTensorDescriptor_t c, void *cData) {
  record("cudnnAddTensor");
  const int64_t channels = shapeOf(c).sizes[1], all = elements(shapeOf(c)),
                inner = all / channels / shapeOf(c).sizes[0];
  if (shapeOf(a).sizes[1] != channels)
    return CUDNN_STATUS_BAD_PARAM;
  enqueue(
      [=] {
        for (int64_t i = 0; i < all; ++i)
          static_cast<float *>(cData)[i] += static_cast<const float *>(aData)[i / inner % channels];
      },
      convolutionStream);
  return CUDNN_STATUS_SUCCESS;
}
}
