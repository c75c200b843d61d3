#include "runtime/cuda/driver/Module.h"

namespace kedge::rt::cuda {
namespace {

const unsigned char *blobAt(const ProgramImage &image, uint64_t offset, uint64_t bytes, const char *what) {
  if (offset > image.dataSize || bytes > image.dataSize - offset)
    fail("the program is damaged: its {} at {}+{} is outside its data of {} bytes", what, offset, bytes,
         image.dataSize);
  return image.data + offset;
}

} // namespace

Module::Module(Gpu &gpu, const Target &target, const ProgramImage &image) : gpu(gpu) {
  if (target.cubinBytes == 0 && target.ptxBytes == 0)
    return; // nothing but library calls
  if (!loadCubin(target, image))
    loadPtx(target, image);
}

Module::~Module() {
  if (module)
    gpu.driver().moduleUnload(module);
}

/// Machine code runs on GPUs of its major architecture, from its minor one on.
bool Module::loadCubin(const Target &target, const ProgramImage &image) {
  const int made = capabilityOf(target.arch);
  if (target.cubinBytes == 0 || made / 10 != gpu.capability() / 10)
    return false;
  const CUresult result = gpu.driver().moduleLoadDataEx(
      &module, blobAt(image, target.cubinOffset, target.cubinBytes, "machine code"), 0, nullptr, nullptr);
  if (result == CUDA_SUCCESS)
    return true;
  if (target.ptxBytes == 0)
    gpu.driver().failWith(result, "the driver does not take the program's machine code");
  const char *name = nullptr;
  gpu.driver().getErrorName(result, &name);
  cubinError = fmt::format(" (its machine code was not taken either: {})", name ? name : "unknown error");
  return false;
}

void Module::loadPtx(const Target &target, const ProgramImage &image) {
  if (target.ptxBytes == 0)
    fail("this program holds machine code for {} only, and the GPU is an sm_{}: compile it with --target "
         "cuda:sm_{}",
         target.arch, gpu.capability(), gpu.capability());
  // A copy, because the driver reads on to a zero byte.
  const std::string ptx(
      reinterpret_cast<const char *>(blobAt(image, target.ptxOffset, target.ptxBytes, "PTX")),
      target.ptxBytes);
  std::string log(16384, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  const CUresult result = gpu.driver().moduleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  log.resize(std::min(log.find('\0'), log.size()));
  gpu.driver().check(result, "the driver does not compile the program's PTX for {}{}{}{}", target.arch,
                     cubinError, log.empty() ? "" : ": ", log);
}

CUfunction Module::kernel(const std::string &name) const {
  CUfunction function = nullptr;
  if (!module || gpu.driver().moduleGetFunction(&function, module, name.c_str()) != CUDA_SUCCESS)
    fail("the program is damaged: it has no GPU kernel '{}'", name);
  return function;
}

} // namespace kedge::rt::cuda
