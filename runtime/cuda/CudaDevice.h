// A GPU as a device of the runtime.
#pragma once
#include "runtime/exec/Device.h"

namespace kedge::rt::cuda {

/// A DeviceFactory. Throws rt::Error with one message about what is missing, does not fit or is too small.
std::unique_ptr<Device> makeCudaDevice(const Program &program, const ProgramImage &image, int threads,
                                       Communicator *communicator);

} // namespace kedge::rt::cuda
