#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // as in Cudnn.cpp
#include "runtime/cuda/ConvolutionLaunch.h"
#include <algorithm>

namespace kedge::rt::cuda {
namespace {

using Kind = ConvolutionCall::Kind;

/// Algorithms that give equal bits in every run and round as plain sums do (neither Winograd nor Fourier), fastest
/// first.
std::vector<int> deterministicAlgorithms(Kind kind) {
  switch (kind) {
  case Kind::Forward:
    return {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
  case Kind::Data:
    return {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
  case Kind::Filter:
    return {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
  }
  return {};
}

std::string text(const ConvolutionCall &call) {
  const auto sizes = [&](const std::array<int, 5> &shape) {
    return fmt::format("[{}]", fmt::join(shape.begin(), shape.begin() + call.dims + 2, ","));
  };
  const char *names[] = {"a convolution", "a convolution's gradient of its image",
                         "a convolution's gradient of its filter"};
  return fmt::format("{} of image {}, filter {}, result {}, {} groups", names[static_cast<int>(call.kind)],
                     sizes(call.x), sizes(call.w), sizes(call.y), call.groups);
}

} // namespace

ConvolutionLaunch::ConvolutionLaunch(Cudnn &library, Gpu &gpu, const ConvolutionCall &call, const LaunchPlaces &places)
    : library(library), gpu(gpu), call(call), places(places) {
  for (const auto *shape : {&call.x, &call.w, &call.y})
    for (int i = 0; i < call.dims + 2; ++i)
      empty |= (*shape)[static_cast<size_t>(i)] == 0;
  if (empty)
    return;
  describe();
  choose();
}

ConvolutionLaunch::~ConvolutionLaunch() {
  for (cudnnTensorDescriptor_t made : {x, y, bias})
    if (made)
      library.destroyTensor(made);
  if (w)
    library.destroyFilter(w);
  if (convolution)
    library.destroyConvolution(convolution);
}

cudnnTensorDescriptor_t ConvolutionLaunch::tensor(const int *shape, int count) const {
  std::array<int, 5> strides{};
  int stride = 1;
  for (int i = count - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  cudnnTensorDescriptor_t made = nullptr;
  library.check(library.createTensor(&made), "cuDNN");
  const cudnnDataType_t type = call.type == DType::F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  library.check(library.setTensor(made, type, count, shape, strides.data()), "cuDNN does not take " + text(call));
  return made;
}

void ConvolutionLaunch::describe() {
  const int count = call.dims + 2;
  const cudnnDataType_t type = call.type == DType::F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  x = tensor(call.x.data(), count);
  y = tensor(call.y.data(), count);
  library.check(library.createFilter(&w), "cuDNN");
  library.check(library.setFilter(w, type, CUDNN_TENSOR_NCHW, count, call.w.data()), "cuDNN does not take " + text(call));
  library.check(library.createConvolution(&convolution), "cuDNN");
  library.check(library.setConvolution(convolution, call.dims, call.pad.data(), call.stride.data(), call.dilation.data(),
                                       CUDNN_CROSS_CORRELATION, type),
                "cuDNN does not take " + text(call));
  library.check(library.setGroups(convolution, call.groups), "cuDNN");
  library.check(library.setMathType(convolution, CUDNN_FMA_MATH), "cuDNN");
  if (call.bias < 0)
    return;
  std::array<int, 5> shape{1, 1, 1, 1, 1};
  shape[1] = call.kind == Kind::Data ? call.x[1] : call.y[1];
  bias = tensor(shape.data(), count);
}

bool ConvolutionLaunch::workspaceOf(int wanted, size_t &bytes) const {
  switch (call.kind) {
  case Kind::Forward:
    return library.forwardWorkspace(library.handle, x, w, convolution, y,
                                    static_cast<cudnnConvolutionFwdAlgo_t>(wanted), &bytes) == CUDNN_STATUS_SUCCESS;
  case Kind::Data:
    return library.dataWorkspace(library.handle, w, y, convolution, x,
                                 static_cast<cudnnConvolutionBwdDataAlgo_t>(wanted), &bytes) == CUDNN_STATUS_SUCCESS;
  case Kind::Filter:
    return library.filterWorkspace(library.handle, x, y, convolution, w,
                                   static_cast<cudnnConvolutionBwdFilterAlgo_t>(wanted), &bytes) == CUDNN_STATUS_SUCCESS;
  }
  return false;
}

void ConvolutionLaunch::choose() {
  bool found = false;
  for (int candidate : deterministicAlgorithms(call.kind)) {
    size_t bytes = 0;
    if (!workspaceOf(candidate, bytes) || (found && bytes > places.workspaceBytes))
      continue;
    if (!found || needed > places.workspaceBytes) {
      algorithm = candidate;
      needed = bytes;
    }
    found = true;
    if (needed <= places.workspaceBytes)
      return;
  }
  if (!found)
    fail("cuDNN has no deterministic algorithm for {}; compile with --target cpu", text(call));
}

void ConvolutionLaunch::setWorkspace(CUdeviceptr workspace, uint64_t bytes) {
  places.workspace = workspace;
  places.workspaceBytes = bytes;
}

void ConvolutionLaunch::enqueue() {
  if (empty)
    return;
  const double one = 1, zero = 0;
  const float oneFloat = 1, zeroFloat = 0;
  const bool wide = call.type == DType::F64;
  const void *a = wide ? static_cast<const void *>(&one) : &oneFloat;
  const void *b = wide ? static_cast<const void *>(&zero) : &zeroFloat;
  const auto at = [&](int operand) { return reinterpret_cast<void *>(places.operand(operand)); };
  void *image = at(call.image), *filter = at(call.filter), *result = at(call.result);
  void *workspace = reinterpret_cast<void *>(places.workspace);
  const std::string what = "cuDNN does not run " + text(call);
  switch (call.kind) {
  case Kind::Forward:
    library.check(library.forward(library.handle, a, x, image, w, filter, convolution,
                                  static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), workspace, needed, b, y, result),
                  what);
    break;
  case Kind::Data:
    library.check(library.backwardData(library.handle, a, w, filter, y, result, convolution,
                                       static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), workspace, needed, b, x,
                                       image),
                  what);
    break;
  case Kind::Filter:
    library.check(library.backwardFilter(library.handle, a, x, image, y, result, convolution,
                                         static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), workspace, needed, b,
                                         w, filter),
                  what);
    break;
  }
  if (call.bias >= 0) {
    const bool back = call.kind == Kind::Data;
    library.check(library.addTensor(library.handle, a, bias, at(call.bias), a, back ? x : y, back ? image : result),
                  what);
  }
}

} // namespace kedge::rt::cuda
