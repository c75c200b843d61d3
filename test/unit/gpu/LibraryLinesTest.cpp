#include "test/unit/gpu/LibraryCase.h"
#include <gtest/gtest.h>

using namespace kedge::test;

TEST(GpuLines, CumSum) {
  for (std::string exclusive : {"true", "false"})
    for (std::string reverse : {"true", "false"})
      expectSameAsCpu("onnx.CumSum {axis = 1 : i64, exclusive = " + exclusive + ", reverse = " + reverse +
                      "} : (tensor<4x16x48xf32>) -> tensor<4x16x48xf32>");
  expectSameAsCpu("onnx.CumSum {axis = 1 : i64} : (tensor<4x16xi64>) -> tensor<4x16xi64>", {-9, 9});
}

TEST(GpuLines, Extremes) {
  expectSameAsCpu("onnx.ArgMax {axis = 1 : i64, keepdims = false} : (tensor<4x6x5xf32>) -> tensor<4x5xi64>");
  expectSameAsCpu(
      "onnx.ArgMin {axis = 2 : i64, keepdims = true, select_last_index = true} : (tensor<4x6x5xi64>) -> "
      "tensor<4x6x1xi64>",
      {0, 2});
  expectSameAsCpu("onnx.Hardmax {axis = -1 : i64} : (tensor<4x6x5xf32>) -> tensor<4x6x5xf32>");
}

TEST(GpuLines, TopK) {
  expectSameAsCpu(
      "onnx.TopK {axis = 1 : i64} : (tensor<4x9x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x5xi64>)");
  expectSameAsCpu("onnx.TopK {axis = -1 : i64, largest = false} : (tensor<7x6xi64>) -> (tensor<7x6xi64>, "
                  "tensor<7x6xi64>)",
                  {0, 3});
}

TEST(GpuLines, Positions) {
  expectSameAsCpu("onnx.OneHot {axis = 1 : i64} : (tensor<4x6xi64>, tensor<2xf32>) -> tensor<4x5x6xf32>",
                  {-7, 7});
  expectSameAsCpu("onnx.EyeLike {k = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>");
  expectSameAsCpu("onnx.Trilu {upper = false, k = -1 : i64} : (tensor<2x4x6xi1>) -> tensor<2x4x6xi1>");
  expectSameAsCpu("onnx.Trilu {upper = true, k = 1 : i64} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>");
  expectSameAsCpu("onnx.Range {} : (tensor<i64>, tensor<i64>) -> tensor<9xi64>", {-5, 5});
}

namespace {
/// Sizes of a pool over 9 x 7 elements with windows of 3 x 2.
struct Pool {
  int64_t pad, dilation, strideRows, strideColumns;

  std::string attrs() const {
    auto pair = [](int64_t a, int64_t b) { return std::to_string(a) + ", " + std::to_string(b); };
    return "kernel_shape = array<i64: 3, 2>, pads = array<i64: " + pair(pad, pad) + ", " + pair(pad, pad) +
           ">, dilations = array<i64: " + pair(dilation, 1) +
           ">, strides = array<i64: " + pair(strideRows, strideColumns) + ">";
  }
  std::string result() const {
    int64_t rows = (9 + 2 * pad - 2 * dilation - 1) / strideRows + 1,
            columns = (7 + 2 * pad - 2) / strideColumns + 1;
    return "tensor<2x3x" + std::to_string(rows) + "x" + std::to_string(columns) + "x";
  }
};
} // namespace

TEST(GpuPools, AllWindows) {
  std::string x = "tensor<2x3x9x7xf32>";
  for (int64_t pad : {0, 1})
    for (int64_t dilation : {1, 2})
      for (int64_t stride : {1, 2}) {
        Pool pool{pad, dilation, stride, stride + (stride > 1)};
        std::string y = pool.result() + "f32>", attrs = "{" + pool.attrs();
        expectSameAsCpu("onnx.MaxPool " + attrs + "} : (" + x + ") -> (" + y + ", " + pool.result() +
                        "i64>)");
        expectSameAsCpu("train.max_pool_grad " + attrs + "} : (" + y + ", " + x + ") -> " + x);
        for (std::string counted : {", count_include_pad = true", ", count_include_pad = false"}) {
          expectSameAsCpu("onnx.AveragePool " + attrs + counted + "} : (" + x + ") -> " + y);
          expectSameAsCpu("train.average_pool_grad " + attrs + counted + "} : (" + y + ") -> " + x);
        }
      }
}

TEST(GpuLines, HalfWidths) {
  for (std::string type : {"f16", "bf16"}) {
    std::string x = "tensor<2x3x9x8x" + type + ">", y = "tensor<2x3x4x4x" + type + ">";
    expectSameAsCpu("onnx.CumSum {axis = 2 : i64, exclusive = true} : (" + x + ") -> " + x);
    expectSameAsCpu("onnx.TopK {axis = 3 : i64} : (" + x + ") -> (tensor<2x3x9x3x" + type +
                    ">, tensor<2x3x9x3xi64>)");
    expectSameAsCpu("onnx.Hardmax {axis = -1 : i64} : (" + x + ") -> " + x);
    std::string attrs = "{kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 2>";
    expectSameAsCpu("onnx.MaxPool " + attrs + "} : (" + x + ") -> (" + y + ", tensor<2x3x4x4xi64>)");
    expectSameAsCpu("train.max_pool_grad " + attrs + "} : (" + y + ", " + x + ") -> " + x);
    expectSameAsCpu("onnx.AveragePool " + attrs + "} : (" + x + ") -> " + y);
    expectSameAsCpu("train.average_pool_grad " + attrs + "} : (" + y + ") -> " + x);
    expectSameAsCpu("onnx.Resize {mode = \"linear\", scales = array<f32: 1.0, 1.0, 2.0, 0.5>} : (" + x +
                    ") -> tensor<2x3x18x4x" + type + ">");
  }
}

TEST(GpuPools, OtherRanksAndTypes) {
  expectSameAsCpu(
      "onnx.MaxPool {kernel_shape = array<i64: 3>, strides = array<i64: 2>, storage_order = 1 : i64} : "
      "(tensor<2x3x9xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x4xi64>)");
  expectSameAsCpu(
      "onnx.MaxPool {kernel_shape = array<i64: 2, 2, 2>} : (tensor<1x2x3x4x5xi8>) -> tensor<1x2x2x3x4xi8>");
}
