#include "runtime/cuda/driver/Driver.h"

namespace kedge::rt::cuda {
namespace {

#define KEDGE_TEXT_OF(token) #token
#define KEDGE_TEXT(token) KEDGE_TEXT_OF(token)

/// What a user can do about an error; "" where the text says it all.
const char *remedyOf(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return "; end what else uses this GPU, or compile with a smaller batch or --memory-budget";
  case CUDA_ERROR_NO_DEVICE:
    return "; this machine has no GPU that the driver sees (CUDA_VISIBLE_DEVICES hides GPUs, too): run it on "
           "one that "
           "has, or compile with --target cpu";
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    return "; the driver's library and kernel module differ: restart the machine, or install the driver "
           "again";
  case CUDA_ERROR_SYSTEM_NOT_READY:
    return "; a service of this GPU (fabric manager) is not running";
  case CUDA_ERROR_ECC_UNCORRECTABLE:
    return "; the GPU's memory is faulty: what it computed is lost, checkpoints on disk are whole; restart "
           "from the "
           "newest with --resume on another GPU, and have this one looked at";
  case CUDA_ERROR_ILLEGAL_INSTRUCTION: // kernels trap on an index out of range
  case CUDA_ERROR_LAUNCH_FAILED:
    return "; an index of the data (a token, a label) may be outside of its table: run the data with a "
           "program for "
           "--target cpu, which names it; else this is a fault of the program, please report it; checkpoints "
           "on disk "
           "are whole";
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
    return "; this is a fault of the program, please report it; checkpoints on disk are whole";
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
    return "; another process has this GPU for itself (exclusive mode)";
  default:
    return "";
  }
}

} // namespace

Driver::Driver() {
  const auto library = SharedLibrary::open(
      {"libcuda.so.1"},
      "it comes with NVIDIA's driver: run this program on a machine that has one, or compile the "
      "model with --target cpu");
#define KEDGE_BIND(member, function)                                                                         \
  member = reinterpret_cast<decltype(member)>(library.symbol(KEDGE_TEXT(function)));
  KEDGE_DRIVER_FUNCTIONS(KEDGE_BIND)
#undef KEDGE_BIND
  eventElapsedTime = reinterpret_cast<decltype(eventElapsedTime)>(library.symbol("cuEventElapsedTime"));
}

void Driver::failWith(CUresult result, const std::string &what) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "unknown error";
  if (getErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no description";
  fail("{}: {} ({}, {}){}", what, text, name, static_cast<int>(result), remedyOf(result));
}

std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

} // namespace kedge::rt::cuda
