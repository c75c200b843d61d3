// Products that unpack weights in few bits: to the bit those of the weights.
#include "runtime/format/QuantizedFormats.h"
#include "runtime/io/Error.h"
#include "test/unit/kernels/KernelTest.h"
#include <cmath>

namespace kedge::rt::test {
namespace {

constexpr int64_t kBlock = 64;

struct Weight {
  Array codes, scales;
  std::vector<float> values;
};

Weight fourBits(const Shape &shape, QuantizedFormat format) {
  const int64_t count = shape[0] * shape[1];
  Weight weight{Array::random<uint8_t>({(count + 1) / 2}, 3, 0, 255),
                Array::random<float>({(count + kBlock - 1) / kBlock}, 4),
                {}};
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t byte = weight.codes.data<uint8_t>()[i / 2];
    weight.values.push_back(fourBitTable(format)[i % 2 ? byte & 15 : byte >> 4] *
                            weight.scales.data<float>()[i / kBlock]);
  }
  return weight;
}

Weight eightBits(const Shape &shape, int axis) {
  Weight weight{Array::random<int8_t>(shape, 3, -127, 127), Array::random<float>({shape[axis]}, 4), {}};
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
    weight.values.push_back(static_cast<float>(weight.codes.data<int8_t>()[i]) *
                            weight.scales.data<float>()[axis ? i % shape[1] : i / shape[1]]);
  return weight;
}

template <typename S> Array rounded(const Shape &shape, const std::vector<float> &values) {
  return Array::of<S>(shape, std::vector<S>(values.begin(), values.end()));
}

template <typename S>
void checkAgainstWhole(const std::string &format, int64_t m, int64_t n, int64_t k, bool transB, int axis) {
  const Shape shape = transB ? Shape{n, k} : Shape{k, n};
  const Weight weight = format == "int8"
                            ? eightBits(shape, axis)
                            : fourBits(shape, format == "nf4" ? QuantizedFormat::NF4 : QuantizedFormat::FP4);
  const Array x = Array::random<S>({m, k}, 1), bias = Array::random<S>({n}, 2);
  const TensorDesc y{dtypeOf<S>(), {m, n}};
  const json unpack = {{"format", format},
                       {"block", kBlock},
                       {"shape", shape},
                       {"axis", axis},
                       {"type", dtypeName(dtypeOf<S>())}};
  const Array whole = rounded<S>(shape, weight.values);
  const auto sameBits = [&](const Array &a, const Array &b) {
    return std::memcmp(a.bytes(), b.bytes(), a.desc.bytes()) == 0;
  };
  EXPECT_TRUE(sameBits(runKernel1("onnx.MatMul", {{"transB", transB}, {"unpack", unpack}},
                                  {x, weight.codes, weight.scales}, y),
                       runKernel1("onnx.MatMul", {{"transB", transB}}, {x, whole}, y)))
      << format << " " << m << "x" << n << "x" << k << (transB ? " transposed" : "");
  EXPECT_TRUE(sameBits(runKernel1("onnx.Gemm", {{"transB", transB}, {"alpha", 0.5}, {"unpack", unpack}},
                                  {x, weight.codes, bias, weight.scales}, y),
                       runKernel1("onnx.Gemm", {{"transB", transB}, {"alpha", 0.5}}, {x, whole, bias}, y)));
}

/// A code of a file, of so many bits; the first of a byte in its lowest ones.
int codeAt(const Array &codes, int64_t at, int bits, bool isSigned) {
  const int byte = codes.data<uint8_t>()[at * bits / 8], code = (byte >> (at * bits % 8)) & ((1 << bits) - 1);
  return isSigned && code >> (bits - 1) ? code - (1 << bits) : code;
}

struct BlockedFormat {
  const char *name;
  int bits;
  bool isSigned;
};

/// Rows of zero points end with one code more than there are blocks.
template <typename S> void checkBlocks(const BlockedFormat &format, int axis, bool hasPoints) {
  const int64_t m = 5, n = 48, k = 96, block = 16;
  const Shape shape = {n, k};
  const int64_t blockRows = axis ? n : n / block, blockColumns = axis ? k / block : k,
                pitch = blockColumns + 2;
  const Array codes = Array::random<uint8_t>({n * k * format.bits / 8}, 3, 0, 255),
              points = Array::random<uint8_t>({(blockRows * pitch * format.bits + 7) / 8}, 5, 0, 255),
              scales = Array::random<float>({blockRows, blockColumns}, 4), x = Array::random<S>({m, k}, 1);
  std::vector<float> values;
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < k; ++column) {
      const int64_t blockRow = axis ? row : row / block, blockColumn = axis ? column / block : column;
      const int zero =
          hasPoints ? codeAt(points, blockRow * pitch + blockColumn, format.bits, format.isSigned) : 8;
      const int code = codeAt(codes, row * k + column, format.bits, format.isSigned);
      values.push_back(static_cast<float>(code - zero) *
                       scales.data<float>()[blockRow * blockColumns + blockColumn]);
    }
  json unpack = {{"format", format.name}, {"block", block}, {"shape", shape},
                 {"axis", axis},          {"zero", 8},      {"type", dtypeName(dtypeOf<S>())}};
  std::vector<Array> inputs = {x, codes};
  if (hasPoints) {
    unpack["zero_pitch"] = pitch;
    inputs.push_back(points);
  }
  inputs.push_back(scales);
  const TensorDesc y{dtypeOf<S>(), {m, n}};
  const Array found = runKernel1("onnx.MatMul", {{"transB", true}, {"unpack", unpack}}, inputs, y),
              expected = runKernel1("onnx.MatMul", {{"transB", true}}, {x, rounded<S>(shape, values)}, y);
  EXPECT_EQ(std::memcmp(found.bytes(), expected.bytes(), found.desc.bytes()), 0)
      << format.name << " axis " << axis << (hasPoints ? " with zero points" : "");
}

TEST(KernelQuantizedFormats, ProductsWithCodesOfAFile) {
  for (const BlockedFormat &format : {BlockedFormat{"uint2", 2, false}, BlockedFormat{"uint4", 4, false},
                                      BlockedFormat{"uint8", 8, false}, BlockedFormat{"int4", 4, true}})
    for (int axis : {0, 1})
      for (bool hasPoints : {false, true}) {
        checkBlocks<float>(format, axis, hasPoints);
        checkBlocks<BFloat16>(format, axis, hasPoints);
      }
}

TEST(KernelQuantizedFormats, ProductsAreThoseOfTheWeight) {
  for (const char *format : {"nf4", "fp4", "int8"})
    for (bool transB : {false, true})
      for (auto [m, n, k] :
           {std::array<int64_t, 3>{3, 32, 64}, {13, 33, 9}, {40, 70, 515}, {1, 1, 1}, {65, 96, 400}})
        for (int axis : {0, 1}) {
          if (axis && std::string(format) != "int8")
            continue;
          checkAgainstWhole<float>(format, m, n, k, transB, axis);
          checkAgainstWhole<BFloat16>(format, m, n, k, transB, axis);
          checkAgainstWhole<Float16>(format, m, n, k, transB, axis);
        }
}

TEST(KernelQuantizedFormats, WrongDescriptionsAreRefused) {
  const auto make = [](const json &unpack, Shape codes) {
    makeKernel({"onnx.MatMul",
                {{"unpack", unpack}},
                {{DType::F32, {2, 8}}, {DType::U8, std::move(codes)}, {DType::F32, {1}}},
                {{DType::F32, {2, 8}}}},
               1);
  };
  make({{"format", "nf4"}, {"block", 64}, {"shape", {8, 8}}}, {32});
  EXPECT_THROW(make({{"format", "nf4"}, {"block", 64}, {"shape", {8, 8}}}, {31}), RuntimeError);
  EXPECT_THROW(make({{"format", "nf4"}, {"block", 48}, {"shape", {8, 8}}}, {32}), RuntimeError);
  EXPECT_THROW(make({{"format", "nf3"}, {"block", 64}, {"shape", {8, 8}}}, {32}), RuntimeError);
}

} // namespace
} // namespace kedge::rt::test
