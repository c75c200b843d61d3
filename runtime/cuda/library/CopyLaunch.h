// A copy between the arenas of the GPU and of host memory, on a stream of its own.
#pragma once
#include "runtime/cuda/library/LibraryLaunch.h"

namespace kedge::rt::cuda {

class CopyLaunch final : public LibraryLaunch {
public:
  /// `onHost` is page-locked. `toHost`: from the GPU to the host.
  CopyLaunch(Gpu &gpu, CUstream stream, CUdeviceptr onDevice, char *onHost, uint64_t bytes, bool toHost)
      : gpu(gpu), stream(stream), onDevice(onDevice), onHost(onHost), bytes(bytes), toHost(toHost) {}

  void enqueue() override {
    const Driver &driver = gpu.driver();
    if (bytes == 0)
      return;
    const CUresult result = toHost ? driver.memcpyDtoHAsync(onHost, onDevice, bytes, stream)
                                   : driver.memcpyHtoDAsync(onDevice, onHost, bytes, stream);
    driver.check(result, "{} bytes cannot be copied {} host memory", bytes, toHost ? "to" : "from");
  }

private:
  Gpu &gpu;
  CUstream stream;
  CUdeviceptr onDevice;
  char *onHost;
  uint64_t bytes;
  bool toHost;
};

} // namespace kedge::rt::cuda
