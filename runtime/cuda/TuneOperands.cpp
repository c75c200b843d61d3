#include "runtime/cuda/TuneOperands.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <random>

namespace kedge::rt::cuda {
using namespace calls;

namespace {

/// As many as differ; tensors beyond repeat them.
constexpr int64_t kNumbers = 1 << 20;

/// Between -1 and 1, the same on every machine.
std::vector<char> randomBytes(DType type, int64_t count) {
  std::vector<char> bytes(static_cast<size_t>(count) * dtypeSize(type));
  std::minstd_rand random(1);
  if (type == DType::F8E4M3 ||
      type == DType::F8E5M2) { // codes without the exponent's first bit are less than 2
    for (char &code : bytes)
      code = static_cast<char>(random() & 0xbf);
    return bytes;
  }
  for (int64_t i = 0; i < count; ++i)
    storeDouble(type, bytes.data(), i,
                static_cast<double>(random()) / static_cast<double>(random.max()) * 2 - 1);
  return bytes;
}

} // namespace

TuneOperands::TuneOperands(Gpu &gpu, const LibraryCall &call, uint64_t workspaceBytes) : gpu(gpu) {
  for (const TensorDesc &input : call.inputs) {
    made.inputs.push_back(allocate(input.bytes(), "an operand to tune with"));
    fill(made.inputs.back(), input);
  }
  for (const TensorDesc &output : call.outputs)
    made.outputs.push_back(allocate(output.bytes(), "a result to tune with"));
  made.workspace = allocate(workspaceBytes, "a workspace to tune with");
  made.workspaceBytes = workspaceBytes;
}

TuneOperands::~TuneOperands() {
  for (CUdeviceptr block : memory)
    gpu.release(block);
}

CUdeviceptr TuneOperands::allocate(uint64_t bytes, const char *what) {
  return memory.emplace_back(gpu.allocate(bytes, what));
}

void TuneOperands::fill(CUdeviceptr place, const TensorDesc &tensor) {
  const Driver &driver = gpu.driver();
  const std::vector<char> numbers = randomBytes(tensor.type, std::min(tensor.elements(), kNumbers));
  if (numbers.empty())
    return;
  driver.check(driver.memcpyHtoDAsync(place, numbers.data(), numbers.size(), gpu.stream()),
               "no operand to tune with");
  gpu.synchronize();
  for (uint64_t filled = numbers.size(), all = tensor.bytes(); filled < all; filled *= 2)
    driver.check(driver.memcpyDtoDAsync(place + filled, place, std::min(filled, all - filled), gpu.stream()),
                 "no operand to tune with");
}

} // namespace kedge::rt::cuda
