// Implements the runtime's Device on a GPU.
#pragma once
#include "runtime/exec/Device.h"

namespace kedge::rt::cuda {

/// A DeviceFactory. Throws rt::RuntimeError with one message about what is missing, incompatible or too
/// small.
std::unique_ptr<Device> makeCudaDevice(const Program &program, const ProgramImage &image, int threads,
                                       Communicator *communicator);

} // namespace kedge::rt::cuda
