#include "test/unit/gpu/LibraryCase.h"
#include <gtest/gtest.h>

using namespace kedge::test;

TEST(GpuGather, Rows) {
  expectSameAsCpu(
      "onnx.Gather {axis = 0 : i64} : (tensor<256x48xf32>, tensor<4x32xi64>) -> tensor<4x32x48xf32>",
      {0, 255});
  expectSameAsCpu("onnx.Gather {axis = 1 : i64} : (tensor<4x10x7xf32>, tensor<6xi32>) -> tensor<4x6x7xf32>",
                  {-10, 9});
  expectSameAsCpu("onnx.Gather {axis = 0 : i64} : (tensor<10x3xi1>, tensor<i64>) -> tensor<3xi1>", {-10, 9});
}

TEST(GpuGather, Elements) {
  expectSameAsCpu(
      "onnx.GatherElements {axis = 1 : i64} : (tensor<4x10x7xf32>, tensor<4x3x5xi64>) -> tensor<4x3x5xf32>",
      {-10, 9});
  expectSameAsCpu("onnx.GatherND {batch_dims = 0 : i64} : (tensor<8x24xi1>, tensor<8x1x1x24x2xi64>) -> "
                  "tensor<8x1x1x24xi1>",
                  {0, 7});
  expectSameAsCpu(
      "onnx.GatherND {batch_dims = 1 : i64} : (tensor<3x5x6xf32>, tensor<3x4x1xi64>) -> tensor<3x4x6xf32>",
      {-5, 4});
}

TEST(GpuGather, RowGradients) {
  // Sums of up to some ten rows: the CPU adds in the same order, and bits are equal where positions are not
  // cut.
  expectSameAsCpu(
      "train.gather_grad {axis = 0 : i64} : (tensor<1x24x48xf32>, tensor<1x24xi64>) -> tensor<32x48xf32>",
      {0, 31});
  expectSameAsCpu("train.gather_grad {axis = 0 : i64, padding_idx = 0 : i64} : (tensor<8x24x48xf32>, "
                  "tensor<8x24xi64>) -> "
                  "tensor<256x48xf32>",
                  {0, 255, 1e-6});
  expectSameAsCpu("train.gather_grad {axis = 0 : i64, padding_idx = 0 : i64} : (tensor<3x50x33xf32>, "
                  "tensor<3x50xi64>) -> "
                  "tensor<520x33xf32>",
                  {-30, 30, 1e-6});
  expectSameAsCpu(
      "train.gather_grad {axis = 1 : i64} : (tensor<2x50x130xf32>, tensor<50xi32>) -> tensor<2x60x130xf32>",
      {-20, 59, 1e-6});
  // Few rows, many positions: parts that are added up.
  expectSameAsCpu(
      "train.gather_grad {axis = 0 : i64} : (tensor<8x120x48xf32>, tensor<8x120xi64>) -> tensor<2x48xf32>",
      {0, 1, 1e-5});
  expectSameAsCpu("train.gather_nd_grad {batch_dims = 1 : i64} : (tensor<3x40x6xf64>, tensor<3x40x1xi64>) -> "
                  "tensor<3x5x6xf64>",
                  {-5, 4, 1e-14});
}

TEST(GpuGather, HalfWidths) {
  for (std::string type : {"f16", "bf16"}) {
    auto tensor = [&](const std::string &shape) { return "tensor<" + shape + "x" + type + ">"; };
    expectSameAsCpu("onnx.Gather {axis = 0 : i64} : (" + tensor("256x48") + ", tensor<4x32xi64>) -> " +
                        tensor("4x32x48"),
                    {0, 255});
    // Vectors of eight, of one, and in parts.
    for (std::string columns : {"48", "33"})
      expectSameAsCpu("train.gather_grad {axis = 0 : i64} : (" + tensor("3x50x" + columns) +
                          ", tensor<3x50xi64>) -> " + tensor("520x" + columns),
                      {-30, 30, 1e-6});
    expectSameAsCpu("train.gather_grad {axis = 0 : i64} : (" + tensor("8x120x48") +
                        ", tensor<8x120xi64>) -> " + tensor("2x48"),
                    {0, 1, 1e-5});
    for (std::string size : {"3", "30"})
      expectSameAsCpu("train.gather_elements_grad {axis = 1 : i64} : (" + tensor("4x" + size + "x5") +
                          ", tensor<4x" + size + "x5xi64>) -> " + tensor("4x40x7"),
                      {-10, 9});
    for (std::string reduction : {"none", "add", "mul", "max"})
      expectSameAsCpu("onnx.ScatterElements {axis = 1 : i64, reduction = \"" + reduction + "\"} : (" +
                          tensor("4x10x7") + ", tensor<4x30x5xi64>, " + tensor("4x30x5") + ") -> " +
                          tensor("4x10x7"),
                      {-10, 9});
  }
}

TEST(GpuGather, ElementGradients) {
  for (std::string size : {"3", "30"})
    expectSameAsCpu("train.gather_elements_grad {axis = 1 : i64} : (tensor<4x" + size + "x5xf32>, tensor<4x" +
                        size + "x5xi64>) -> tensor<4x40x7xf32>",
                    {-10, 9});
}

TEST(GpuScatter, UpdatesInOrder) {
  for (std::string reduction : {"none", "add", "mul", "max", "min"}) {
    std::string attrs = "{axis = 1 : i64, reduction = \"" + reduction + "\"} : ";
    expectSameAsCpu("onnx.ScatterElements " + attrs +
                        "(tensor<4x10x7xf32>, tensor<4x3x5xi64>, tensor<4x3x5xf32>) -> "
                        "tensor<4x10x7xf32>",
                    {-10, 9});
    expectSameAsCpu("onnx.ScatterND " + attrs +
                        "(tensor<10x7xf32>, tensor<16x1xi64>, tensor<16x7xf32>) -> tensor<10x7xf32>",
                    {-10, 9});
  }
}
