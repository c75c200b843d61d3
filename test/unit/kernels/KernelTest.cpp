#include "test/unit/kernels/KernelTest.h"
#include <atomic>
#include <cmath>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEDGE_COUNTS_ALLOCATIONS 0
#else
#define KEDGE_COUNTS_ALLOCATIONS 1
#endif

static std::atomic<int64_t> allocations{0};

#if KEDGE_COUNTS_ALLOCATIONS
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *result = __libc_memalign(alignment, size);
  return 0;
}
}
#endif

namespace kedge::rt::test {
namespace {

struct FreeDelete {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeDelete>;

std::vector<Array> runOnce(LibraryKernel &kernel, const std::vector<Array> &inputs,
                           const std::vector<TensorDesc> &outputs, bool countAllocations) {
  std::vector<Array> results(outputs.begin(), outputs.end());
  std::vector<const void *> in;
  std::vector<void *> out;
  for (const Array &array : inputs)
    in.push_back(array.bytes());
  for (Array &array : results)
    out.push_back(array.bytes());
  Memory workspace(std::aligned_alloc(64, kernel.workspaceBytes() / 64 * 64 + 64));
  std::memset(workspace.get(), 0x7f, kernel.workspaceBytes());
  int64_t before = allocationCount();
  kernel.run(in.data(), out.data(), workspace.get());
  if (countAllocations) {
    EXPECT_EQ(allocationCount(), before) << "run() allocates";
  }
  return results;
}

void expectSameBits(const std::vector<Array> &a, const std::vector<Array> &b, const std::string &what) {
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(std::memcmp(a[i].bytes(), b[i].bytes(), a[i].desc.bytes()), 0) << what << ", output " << i;
}

LibraryCall makeCall(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                     const std::vector<TensorDesc> &outputs) {
  LibraryCall call{name, attrs.is_null() ? json::object() : attrs, {}, outputs};
  for (const Array &array : inputs)
    call.inputs.push_back(array.desc);
  return call;
}

template <typename T> std::vector<double> widen(const Array &array) {
  std::vector<double> result;
  for (int64_t i = 0; i < array.size(); ++i)
    result.push_back(static_cast<double>(array.data<T>()[i]));
  return result;
}

} // namespace

int64_t allocationCount() { return allocations.load(); }

std::vector<double> Array::doubles() const {
  switch (desc.type) {
  case DType::F32:
    return widen<float>(*this);
  case DType::F64:
    return widen<double>(*this);
  case DType::F16:
    return widen<Float16>(*this);
  case DType::BF16:
    return widen<BFloat16>(*this);
  case DType::I8:
    return widen<int8_t>(*this);
  case DType::I32:
    return widen<int32_t>(*this);
  case DType::I64:
    return widen<int64_t>(*this);
  default:
    return widen<uint8_t>(*this);
  }
}

std::vector<Array> runKernel(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                             const std::vector<TensorDesc> &outputs) {
  LibraryCall call = makeCall(name, attrs, inputs, outputs);
  auto single = makeKernel(call, 1);
  std::vector<Array> reference = runOnce(*single, inputs, outputs, false);
  expectSameBits(reference, runOnce(*single, inputs, outputs, true), name + " run again");
  for (int threads : {2, 3}) {
    auto kernel = makeKernel(call, threads);
    runOnce(*kernel, inputs, outputs, false); // the team of threads is made here
    expectSameBits(reference, runOnce(*kernel, inputs, outputs, true),
                   name + " with " + std::to_string(threads) + " threads");
  }
  return reference;
}

Array runKernel1(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                 const TensorDesc &output) {
  return runKernel(name, attrs, inputs, {output})[0];
}

void expectNear(const Array &actual, const std::vector<double> &expected, double tolerance) {
  std::vector<double> values = actual.doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i])))
      continue;
    const double size = std::abs(expected[i]), rounded = rounding(actual.desc.type);
    ASSERT_TRUE(std::abs(values[i] - expected[i]) <= tolerance * (1 + size) * (1 + rounded) + rounded * size)
        << "element " << i << ": " << values[i] << ", expected " << expected[i];
  }
}

std::vector<cpu::Isa> isasOfThisMachine() {
  using cpu::Isa;
  std::vector<Isa> isas;
  for (Isa isa : {Isa::Base, Isa::NeonDot, Isa::NeonBf16, Isa::Sve256, Isa::Avx2, Isa::Avx512,
                  Isa::Avx512Bf16, Isa::Amx})
    if (cpu::machineHas(isa))
      isas.push_back(isa);
  return isas;
}

std::string errorOf(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                    const std::vector<TensorDesc> &outputs) {
  try {
    auto kernel = makeKernel(makeCall(name, attrs, inputs, outputs), 2);
    runOnce(*kernel, inputs, outputs, false);
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

} // namespace kedge::rt::test
