#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // as in Cudnn.cpp
#include "runtime/cuda/library/ConvolutionLaunch.h"
#include <algorithm>

namespace kedge::rt::cuda {
using namespace calls;

namespace {

using Kind = ConvolutionCall::Kind;

/// Algorithms that give equal bits in every run and round as plain sums do (neither Winograd nor Fourier),
/// fastest first.
std::vector<int> plainAlgorithms(Kind kind) {
  switch (kind) {
  case Kind::Forward:
    return {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
            CUDNN_CONVOLUTION_FWD_ALGO_GEMM};
  case Kind::Data:
    return {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
  case Kind::Filter:
    return {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
  }
  return {};
}

/// Equal bits in every run, but sums of transformed numbers: for shapes that cuDNN has no plain algorithm
/// for.
std::vector<int> transformingAlgorithms(Kind kind) {
  switch (kind) {
  case Kind::Forward:
    return {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
            CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED};
  case Kind::Data:
    return {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
            CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED};
  case Kind::Filter:
    return {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
            CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED};
  }
  return {};
}

/// cuDNN 9 says of a call that it does not support which thing it is: 3001 for the pattern, 3002 for the
/// shape...
bool isRefusal(cudnnStatus_t status) { return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000; }

} // namespace

std::string textOf(const ConvolutionCall &call) {
  const auto sizes = [&](const std::array<int, 5> &shape) {
    return fmt::format("[{}]", fmt::join(shape.begin(), shape.begin() + call.dims + 2, ","));
  };
  const char *names[] = {"a convolution", "a convolution's gradient of its image",
                         "a convolution's gradient of its filter"};
  return fmt::format("{} of image {}, filter {}, result {}, {} groups", names[static_cast<int>(call.kind)],
                     sizes(call.x), sizes(call.w), sizes(call.y), call.groups);
}

ConvolutionLaunch::ConvolutionLaunch(Cudnn &library, Gpu &gpu, const ConvolutionCall &call,
                                     const LaunchPointers &pointers)
    : library(library), gpu(gpu), call(call), pointers(pointers) {
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
  library.check(library.setTensor(made, type, count, shape, strides.data()),
                "cuDNN does not take " + textOf(call));
  return made;
}

void ConvolutionLaunch::describe() {
  const int count = call.dims + 2;
  const cudnnDataType_t type = call.type == DType::F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  x = tensor(call.x.data(), count);
  y = tensor(call.y.data(), count);
  library.check(library.createFilter(&w), "cuDNN");
  library.check(library.setFilter(w, type, CUDNN_TENSOR_NCHW, count, call.w.data()),
                "cuDNN does not take " + textOf(call));
  library.check(library.createConvolution(&convolution), "cuDNN");
  library.check(library.setConvolution(convolution, call.dims, call.pad.data(), call.stride.data(),
                                       call.dilation.data(), CUDNN_CROSS_CORRELATION, type),
                "cuDNN does not take " + textOf(call));
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
                                    static_cast<cudnnConvolutionFwdAlgo_t>(wanted),
                                    &bytes) == CUDNN_STATUS_SUCCESS;
  case Kind::Data:
    return library.dataWorkspace(library.handle, w, y, convolution, x,
                                 static_cast<cudnnConvolutionBwdDataAlgo_t>(wanted),
                                 &bytes) == CUDNN_STATUS_SUCCESS;
  case Kind::Filter:
    return library.filterWorkspace(library.handle, x, y, convolution, w,
                                   static_cast<cudnnConvolutionBwdFilterAlgo_t>(wanted),
                                   &bytes) == CUDNN_STATUS_SUCCESS;
  }
  return false;
}

bool ConvolutionLaunch::chooseFrom(const std::vector<int> &candidates) {
  bool found = false;
  for (int candidate : candidates) {
    size_t bytes = 0;
    if (!workspaceOf(candidate, bytes) || (found && bytes > pointers.workspaceBytes))
      continue;
    if (!found || needed > pointers.workspaceBytes) {
      algorithm = candidate;
      needed = bytes;
    }
    found = true;
    if (needed <= pointers.workspaceBytes)
      break;
  }
  return found;
}

void ConvolutionLaunch::choose() {
  for (const auto &list : {plainAlgorithms(call.kind), transformingAlgorithms(call.kind)})
    others.insert(others.end(), list.begin(), list.end());
  if (chooseFrom(plainAlgorithms(call.kind)))
    return;
  if (!chooseFrom(transformingAlgorithms(call.kind)))
    fail("cuDNN has no deterministic algorithm for {}; compile with --convolution generated, which needs no "
         "cuDNN",
         textOf(call));
  if (library.told.insert(textOf(call)).second)
    fmt::print(
        stderr,
        "kedge: note: cuDNN refuses {} by plain sums; a deterministic transform is taken, which rounds "
        "otherwise (--convolution generated adds plainly)\n",
        textOf(call));
}

void ConvolutionLaunch::setWorkspace(CUdeviceptr workspace, uint64_t bytes) {
  pointers.workspace = workspace;
  pointers.workspaceBytes = bytes;
}

/// Takes an algorithm that needs no more than there is.
bool ConvolutionLaunch::runs(int candidate) {
  size_t bytes = 0;
  if (candidate == algorithm || !workspaceOf(candidate, bytes) || bytes > pointers.workspaceBytes)
    return false;
  algorithm = candidate;
  needed = bytes;
  return true;
}

cudnnStatus_t ConvolutionLaunch::run() {
  const double one = 1, zero = 0;
  const float oneFloat = 1, zeroFloat = 0;
  const bool wide = call.type == DType::F64;
  const void *a = wide ? static_cast<const void *>(&one) : &oneFloat;
  const void *b = wide ? static_cast<const void *>(&zero) : &zeroFloat;
  const auto at = [&](int operand) { return reinterpret_cast<void *>(pointers.operand(operand)); };
  void *image = at(call.image), *filter = at(call.filter), *result = at(call.result);
  void *workspace = reinterpret_cast<void *>(pointers.workspace);
  switch (call.kind) {
  case Kind::Forward:
    return library.forward(library.handle, a, x, image, w, filter, convolution,
                           static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), workspace, needed, b, y,
                           result);
  case Kind::Data:
    return library.backwardData(library.handle, a, w, filter, y, result, convolution,
                                static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), workspace, needed, b,
                                x, image);
  case Kind::Filter:
    return library.backwardFilter(library.handle, a, x, image, y, result, convolution,
                                  static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), workspace, needed,
                                  b, w, filter);
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

void ConvolutionLaunch::enqueue() {
  if (empty)
    return;
  const std::string what = "cuDNN does not run " + textOf(call);
  cudnnStatus_t status = run();
  for (size_t next = 0; isRefusal(status) && next < others.size(); ++next) // the first step's, if ever
    status = runs(others[next]) ? run() : status;
  library.check(status, what);
  if (call.bias < 0)
    return;
  const float one = 1;
  const double oneWide = 1;
  const void *a = call.type == DType::F64 ? static_cast<const void *>(&oneWide) : &one;
  const bool back = call.kind == Kind::Data;
  library.check(
      library.addTensor(library.handle, a, bias, reinterpret_cast<void *>(pointers.operand(call.bias)), a,
                        back ? x : y,
                        reinterpret_cast<void *>(pointers.operand(back ? call.image : call.result))),
      what);
}

} // namespace kedge::rt::cuda
