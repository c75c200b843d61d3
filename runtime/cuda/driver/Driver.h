// The functions of libcuda.so.1 that the runtime calls, and explanations of its errors.
#pragma once
#include "runtime/cuda/driver/SharedLibrary.h"
#include "runtime/io/Error.h"
#include <cuda.h>

namespace kedge::rt::cuda {

// Member and function. Macros of cuda.h map a function to its current version.
#define KEDGE_DRIVER_FUNCTIONS(X)                                                                            \
  X(init, cuInit)                                                                                            \
  X(driverGetVersion, cuDriverGetVersion)                                                                    \
  X(getErrorName, cuGetErrorName)                                                                            \
  X(getErrorString, cuGetErrorString)                                                                        \
  X(deviceGetCount, cuDeviceGetCount)                                                                        \
  X(deviceGet, cuDeviceGet)                                                                                  \
  X(deviceGetName, cuDeviceGetName)                                                                          \
  X(deviceGetAttribute, cuDeviceGetAttribute)                                                                \
  X(deviceGetPCIBusId, cuDeviceGetPCIBusId)                                                                  \
  X(devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                        \
  X(devicePrimaryCtxRelease, cuDevicePrimaryCtxRelease)                                                      \
  X(ctxSetCurrent, cuCtxSetCurrent)                                                                          \
  X(moduleLoadDataEx, cuModuleLoadDataEx)                                                                    \
  X(moduleUnload, cuModuleUnload)                                                                            \
  X(moduleGetFunction, cuModuleGetFunction)                                                                  \
  X(memGetInfo, cuMemGetInfo)                                                                                \
  X(memAlloc, cuMemAlloc)                                                                                    \
  X(memFree, cuMemFree)                                                                                      \
  X(memHostAlloc, cuMemHostAlloc)                                                                            \
  X(memFreeHost, cuMemFreeHost)                                                                              \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync)                                                                      \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync)                                                                      \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync)                                                                      \
  X(memcpy2DAsync, cuMemcpy2DAsync)                                                                          \
  X(memsetD8Async, cuMemsetD8Async)                                                                          \
  X(memsetD2D16Async, cuMemsetD2D16Async)                                                                    \
  X(streamCreate, cuStreamCreate)                                                                            \
  X(streamCreateWithPriority, cuStreamCreateWithPriority)                                                    \
  X(ctxGetStreamPriorityRange, cuCtxGetStreamPriorityRange)                                                  \
  X(streamDestroy, cuStreamDestroy)                                                                          \
  X(streamQuery, cuStreamQuery)                                                                              \
  X(streamSynchronize, cuStreamSynchronize)                                                                  \
  X(streamWaitEvent, cuStreamWaitEvent)                                                                      \
  X(streamBeginCapture, cuStreamBeginCapture)                                                                \
  X(streamEndCapture, cuStreamEndCapture)                                                                    \
  X(graphInstantiate, cuGraphInstantiate)                                                                    \
  X(graphDestroy, cuGraphDestroy)                                                                            \
  X(graphExecDestroy, cuGraphExecDestroy)                                                                    \
  X(graphLaunch, cuGraphLaunch)                                                                              \
  X(eventCreate, cuEventCreate)                                                                              \
  X(eventDestroy, cuEventDestroy)                                                                            \
  X(eventRecord, cuEventRecord)                                                                              \
  X(eventSynchronize, cuEventSynchronize)                                                                    \
  X(eventQuery, cuEventQuery)                                                                                \
  X(launchHostFunc, cuLaunchHostFunc)                                                                        \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled)                                                            \
  X(launchKernel, cuLaunchKernel)                                                                            \
  X(launchKernelEx, cuLaunchKernelEx)

class Driver {
public:
  /// Opens the driver. Throws rt::RuntimeError if there is none or it lacks a function.
  Driver();

#define KEDGE_DECLARE(member, function) decltype(&::function) member = nullptr;
  KEDGE_DRIVER_FUNCTIONS(KEDGE_DECLARE)
#undef KEDGE_DECLARE
  /// The version that every driver has; newer headers refer to a newer one.
  CUresult (*eventElapsedTime)(float *milliseconds, CUevent begin, CUevent end) = nullptr;

  /// Throws rt::RuntimeError with the name of the error, its text and advice, unless `result` is success.
  template <typename... Args>
  void check(CUresult result, fmt::format_string<Args...> format, Args &&...args) const {
    if (result != CUDA_SUCCESS)
      failWith(result, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void failWith(CUresult result, const std::string &what) const;
};

/// "12.8" of 12080.
std::string versionText(int version);

} // namespace kedge::rt::cuda
