#include "test/unit/gpu/LibraryCase.h"
#include <gtest/gtest.h>

using namespace kedge::test;

TEST(GpuMovement, Transpose) {
  expectSameAsCpu(
      "onnx.Transpose {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x12xf32>) -> tensor<2x4x5x12xf32>");
  expectSameAsCpu("onnx.Transpose {perm = array<i64: 1, 0>} : (tensor<37x45xf32>) -> tensor<45x37xf32>");
  expectSameAsCpu(
      "onnx.Transpose {perm = array<i64: 2, 0, 1>} : (tensor<3x37x45xf64>) -> tensor<45x3x37xf64>");
  expectSameAsCpu("onnx.Transpose {perm = array<i64: 1, 0>} : (tensor<33x9xi1>) -> tensor<9x33xi1>");
  expectSameAsCpu("onnx.Transpose {perm = array<i64: 1, 0>} : (tensor<33x9xbf16>) -> tensor<9x33xbf16>");
}

TEST(GpuMovement, ConcatAndSplit) {
  expectSameAsCpu(
      "onnx.Concat {axis = 1 : i64} : (tensor<8x1x48xf32>, tensor<8x16x48xf32>) -> tensor<8x17x48xf32>");
  expectSameAsCpu(
      "onnx.Concat {axis = 1 : i64} : (tensor<3x2x5xi64>, tensor<3x0x5xi64>, tensor<3x4x5xi64>) -> "
      "tensor<3x6x5xi64>",
      {-9, 9});
  expectSameAsCpu(
      "onnx.Split {axis = 2 : i64} : (tensor<4x32x144xf32>) -> (tensor<4x32x48xf32>, tensor<4x32x48xf32>, "
      "tensor<4x32x48xf32>)");
  expectSameAsCpu(
      "onnx.Split {axis = 1 : i64} : (tensor<3x8x7xf32>) -> (tensor<3x5x7xf32>, tensor<3x3x7xf32>)");
}

TEST(GpuMovement, SliceAndItsGradient) {
  std::string range = "{starts = array<i64: 1, 6>, ends = array<i64: 3, 0>, axes = array<i64: 0, 1>, "
                      "steps = array<i64: 1, -2>} : ";
  expectSameAsCpu("onnx.Slice " + range + "(tensor<3x8xf32>) -> tensor<2x3xf32>");
  expectSameAsCpu("train.slice_grad " + range + "(tensor<2x3xf32>) -> tensor<3x8xf32>");
  expectSameAsCpu("train.slice_grad {starts = array<i64: 0, 0, 0>, ends = array<i64: 8, 1, 48>} : "
                  "(tensor<8x1x48xf32>) -> "
                  "tensor<8x24x48xf32>");
}

TEST(GpuMovement, Repetition) {
  expectSameAsCpu("onnx.Tile {} : (tensor<2x3xf32>) -> tensor<4x9xf32>");
  expectSameAsCpu("onnx.Expand {} : (tensor<2x1x5xi64>) -> tensor<4x2x3x5xi64>", {-5, 5});
}

TEST(GpuMovement, DepthAndSpace) {
  expectSameAsCpu("onnx.DepthToSpace {blocksize = 2 : i64, mode = \"CRD\"} : (tensor<1x8x3x5xf32>) -> "
                  "tensor<1x2x6x10xf32>");
  expectSameAsCpu("onnx.DepthToSpace {blocksize = 2 : i64} : (tensor<1x8x3x5xf32>) -> tensor<1x2x6x10xf32>");
  expectSameAsCpu("onnx.SpaceToDepth {blocksize = 2 : i64} : (tensor<1x2x6x10xf32>) -> tensor<1x8x3x5xf32>");
}

TEST(GpuMovement, Pad) {
  expectSameAsCpu("onnx.CenterCropPad {} : (tensor<5x4xf32>) -> tensor<2x7xf32>");
  std::string constant =
      "onnx.Pad {pads = array<i64: 1, 0, 2, 3>, mode = \"constant\", value = 1.5 : f64} : ";
  expectSameAsCpu(constant + "(tensor<3x4xf32>) -> tensor<6x7xf32>");
  expectSameAsCpu(constant + "(tensor<3x4xf16>) -> tensor<6x7xf16>");
  expectSameAsCpu(constant + "(tensor<3x4xf32>, tensor<f32>) -> tensor<6x7xf32>");
  for (std::string mode : {"reflect", "edge", "wrap", "constant"}) {
    std::string attrs = "{pads = array<i64: 1, -1, 2, 3>, mode = \"" + mode + "\"} : ";
    expectSameAsCpu("onnx.Pad " + attrs + "(tensor<5x6xf32>) -> tensor<8x8xf32>");
    expectSameAsCpu("onnx.Pad " + attrs + "(tensor<5x6xi1>) -> tensor<8x8xi1>");
    expectSameAsCpu("train.pad_grad " + attrs + "(tensor<8x8xf32>) -> tensor<5x6xf32>");
  }
}

TEST(GpuMovement, Resize) {
  for (std::string mode : {"linear", "nearest", "cubic"}) {
    std::string attrs = "{mode = \"" + mode + "\", scales = array<f32: 1.0, 1.0, 1.5, 0.5>} : ";
    expectSameAsCpu("onnx.Resize " + attrs + "(tensor<2x3x4x6xf32>) -> tensor<2x3x6x3xf32>");
    expectSameAsCpu("train.resize_grad " + attrs + "(tensor<2x3x6x3xf32>) -> tensor<2x3x4x6xf32>");
  }
  std::string doubled = "{mode = \"linear\", coordinate_transformation_mode = \"half_pixel\", "
                        "scales = array<f32: 1.0, 1.0, 2.0, 2.0>} : ";
  expectSameAsCpu("onnx.Resize " + doubled + "(tensor<4x16x8x8xf32>) -> tensor<4x16x16x16xf32>");
  expectSameAsCpu("train.resize_grad " + doubled + "(tensor<4x16x16x16xf32>) -> tensor<4x16x8x8xf32>");
  expectSameAsCpu("onnx.Resize {mode = \"nearest\", scales = array<f32: 1.0, 2.0>} : (tensor<3x5xi64>) -> "
                  "tensor<3x10xi64>",
                  {-9, 9});
  expectSameAsCpu(
      "onnx.Resize {mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", "
      "extrapolation_value = 7.0 : f32, roi = array<f32: 0.2, 1.4>} : (tensor<8xf32>) -> tensor<5xf32>");
}
