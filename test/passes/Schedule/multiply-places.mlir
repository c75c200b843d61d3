// RUN: kedge-opt %s --split-input-file --kedge-multiply-places --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 3 kedge-multiply-places products

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.*]]: tensor<2x3x1x1xf32>, %[[W:.*]]: tensor<3x5x4x2xf32>, %[[B:.*]]: tensor<5xf32>
// CHECK-NEXT: %[[A:.*]] = onnx.Reshape %[[X]] {shape = array<i64: 2, 3>}
// CHECK-NEXT: %[[M:.*]] = onnx.Reshape %[[W]] {shape = array<i64: 3, 40>}
// CHECK-NEXT: %[[P:.*]] = onnx.Gemm %[[A]], %[[M]] : (tensor<2x3xf32>, tensor<3x40xf32>) -> tensor<2x40xf32>
// CHECK-NEXT: %[[Y:.*]] = onnx.Reshape %[[P]] {shape = array<i64: 2, 5, 4, 2>}
// CHECK-NEXT: %[[C:.*]] = onnx.Reshape %[[B]] {shape = array<i64: 1, 5, 1, 1>}
// CHECK-NEXT: %[[R:.*]] = onnx.Add %[[Y]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @forward(%x: tensor<2x3x1x1xf32>, %w: tensor<3x5x4x2xf32>, %b: tensor<5xf32>) -> tensor<2x5x4x2xf32> {
  %0 = onnx.ConvTranspose %x, %w, %b {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, output_padding = array<i64: 0, 0>} : (tensor<2x3x1x1xf32>, tensor<3x5x4x2xf32>, tensor<5xf32>) -> tensor<2x5x4x2xf32>
  return %0 : tensor<2x5x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @gradients
// CHECK: onnx.Gemm %{{.*}}, %{{.*}} {transB = true} : (tensor<2x20xf32>, tensor<3x20xf32>) -> tensor<2x3xf32>
// CHECK: onnx.Gemm %{{.*}}, %{{.*}} {transA = true} : (tensor<2x3xf32>, tensor<2x20xf32>) -> tensor<3x20xf32>
func.func @gradients(%x: tensor<2x3x1xf32>, %w: tensor<3x5x4xf32>, %dy: tensor<2x5x4xf32>) -> (tensor<2x3x1xf32>, tensor<3x5x4xf32>) {
  %0 = train.conv_transpose_grad_input %dy, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<2x5x4xf32>, tensor<3x5x4xf32>) -> tensor<2x3x1xf32>
  %1 = train.conv_transpose_grad_weight %x, %dy {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<2x3x1xf32>, tensor<2x5x4xf32>) -> tensor<3x5x4xf32>
  return %0, %1 : tensor<2x3x1xf32>, tensor<3x5x4xf32>
}

// -----

// More places, padding, groups, dilation, room behind the window, 16 bits: they stay convolutions.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: onnx.Gemm
func.func @kept(%x: tensor<2x4x1xf32>, %two: tensor<2x4x2xf32>, %w: tensor<4x6x4xf32>, %g: tensor<4x3x4xf32>, %xh: tensor<2x4x1xbf16>, %wh: tensor<4x6x4xbf16>)
    -> (tensor<2x6x5xf32>, tensor<2x6x2xf32>, tensor<2x6x4xf32>, tensor<2x6x7xf32>, tensor<2x6x5xf32>, tensor<2x6x4xbf16>) {
  %0 = onnx.ConvTranspose %two, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>} : (tensor<2x4x2xf32>, tensor<4x6x4xf32>) -> tensor<2x6x5xf32>
  %1 = onnx.ConvTranspose %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, output_padding = array<i64: 0>} : (tensor<2x4x1xf32>, tensor<4x6x4xf32>) -> tensor<2x6x2xf32>
  %2 = onnx.ConvTranspose %x, %g {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 2 : i64} : (tensor<2x4x1xf32>, tensor<4x3x4xf32>) -> tensor<2x6x4xf32>
  %3 = onnx.ConvTranspose %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 2>, output_padding = array<i64: 0>} : (tensor<2x4x1xf32>, tensor<4x6x4xf32>) -> tensor<2x6x7xf32>
  %4 = onnx.ConvTranspose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 1>} : (tensor<2x4x1xf32>, tensor<4x6x4xf32>) -> tensor<2x6x5xf32>
  %5 = onnx.ConvTranspose %xh, %wh {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>} : (tensor<2x4x1xbf16>, tensor<4x6x4xbf16>) -> tensor<2x6x4xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<2x6x5xf32>, tensor<2x6x2xf32>, tensor<2x6x4xf32>, tensor<2x6x7xf32>, tensor<2x6x5xf32>, tensor<2x6x4xbf16>
}
