// Runs library kernels the way every test wants it: with several numbers of threads, whose results must have
// the same bits, into outputs full of garbage, without allocation in run().
#pragma once
#include "runtime/calls/LibraryKernel.h"
#include "runtime/cpu/isa/Isa.h"
#include "runtime/format/Float16.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace kedge::rt::test {

using rt::calls::LibraryCall;
using rt::calls::LibraryKernel;
using rt::calls::makeKernel;
using Shape = std::vector<int64_t>;
using json = nlohmann::json;

template <typename T> constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<float>() { return DType::F32; }
template <> constexpr DType dtypeOf<double>() { return DType::F64; }
template <> constexpr DType dtypeOf<Float16>() { return DType::F16; }
template <> constexpr DType dtypeOf<BFloat16>() { return DType::BF16; }
template <> constexpr DType dtypeOf<int8_t>() { return DType::I8; }
template <> constexpr DType dtypeOf<uint8_t>() { return DType::U8; }
template <> constexpr DType dtypeOf<int32_t>() { return DType::I32; }
template <> constexpr DType dtypeOf<int64_t>() { return DType::I64; }
template <> constexpr DType dtypeOf<bool>() { return DType::Bool; }

/// A tensor with its bytes.
class Array {
public:
  Array() = default;
  explicit Array(TensorDesc desc) : desc(std::move(desc)), words_(this->desc.bytes() / 8 + 1, kGarbage) {}
  template <typename T> static Array of(const Shape &shape, const std::vector<T> &values) {
    Array array({dtypeOf<T>(), shape});
    EXPECT_EQ(array.size(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      array.data<T>()[i] = values[i];
    return array;
  }
  /// Values in [-1, 1), or integers in [low, high].
  template <typename T> static Array random(const Shape &shape, unsigned seed, int low = -9, int high = 9) {
    Array array({dtypeOf<T>(), shape});
    std::mt19937 generator(seed);
    for (int64_t i = 0; i < array.size(); ++i) {
      if constexpr (std::is_integral_v<T>)
        array.data<T>()[i] = static_cast<T>(low + static_cast<int>(generator() % (high - low + 1)));
      else
        array.data<T>()[i] = static_cast<T>(static_cast<float>(generator()) / 2147483648.0f - 1.0f);
    }
    return array;
  }

  int64_t size() const { return desc.elements(); }
  void *bytes() { return words_.data(); }
  const void *bytes() const { return words_.data(); }
  template <typename T> T *data() { return reinterpret_cast<T *>(words_.data()); }
  template <typename T> const T *data() const { return reinterpret_cast<const T *>(words_.data()); }
  template <typename T> std::vector<T> values() const { return {data<T>(), data<T>() + size()}; }
  std::vector<double> doubles() const;

  TensorDesc desc;

private:
  static constexpr uint64_t kGarbage = 0x7ff4babe7fa5cafe; // NaN as f32 and f64
  std::vector<uint64_t> words_;
};

/// Allocations (malloc and its kin, any thread) since the program began.
int64_t allocationCount();

std::vector<Array> runKernel(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                             const std::vector<TensorDesc> &outputs);
Array runKernel1(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                 const TensorDesc &output);

/// Most that rounding once to the type moves a value, as a share of it; 0 for f32, f64 and integers, whose
/// rounding is part of the tolerances.
inline double rounding(DType type) { return type == DType::BF16 ? 0x1p-8 : type == DType::F16 ? 0x1p-11 : 0; }

/// Sums of 16-bit operands are kept in fp32 and rounded once: the bound is that of fp32 plus one rounding of
/// the type. |actual - expected| <= tolerance (1 + |expected|) (1 + rounding) + rounding |expected|; NaN
/// equals NaN.
void expectNear(const Array &actual, const std::vector<double> &expected, double tolerance);

/// The sets of instructions that this machine has; tests run in each.
std::vector<cpu::Isa> isasOfThisMachine();

/// Kernels are made and run with `isa` while this lives.
class ForcedIsa {
public:
  explicit ForcedIsa(cpu::Isa isa) { cpu::forceIsa(isa); }
  ~ForcedIsa() { cpu::forceIsa(std::nullopt); }
  ForcedIsa(const ForcedIsa &) = delete;
};

/// The error that making or running the kernel gives, "" without one.
std::string errorOf(const std::string &name, const json &attrs, const std::vector<Array> &inputs,
                    const std::vector<TensorDesc> &outputs);

/// Calls f(index) for every index of the shape in row-major order.
template <typename F> void forEachIndex(const Shape &shape, F &&f) {
  int64_t count = TensorDesc{DType::F32, shape}.elements();
  Shape index(shape.size());
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat;
    for (size_t i = shape.size(); i-- > 0; rest /= shape[i])
      index[i] = rest % shape[i];
    f(index);
  }
}
inline int64_t flatten(const Shape &shape, const Shape &index) {
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    flat = flat * shape[i] + index[i];
  return flat;
}

} // namespace kedge::rt::test
