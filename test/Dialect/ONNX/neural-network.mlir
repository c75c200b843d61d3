// Shapes that products, convolutions, pools and recurrent layers infer: each line verifies.
// RUN: kedge-opt %s | FileCheck %s

// CHECK-LABEL: @products
func.func @products(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>, %v: tensor<4xf32>, %c: tensor<5xf32>,
                    %i: tensor<2x4xi8>, %j: tensor<4x3xui8>) {
  // CHECK: onnx.MatMul %{{.*}}, %{{.*}} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %0 = onnx.MatMul %a, %b : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %1 = onnx.MatMul %v, %b : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
  %2 = onnx.MatMul %a, %v : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  %3 = onnx.MatMul %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %4 = onnx.MatMul %a, %a {transB = true} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %5 = onnx.Gemm %a, %b, %c {alpha = 0.5 : f32} : (tensor<2x3x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %6 = onnx.MatMulInteger %i, %j {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<2x4xi8>, tensor<4x3xui8>) -> tensor<2x3xi32>
  return
}

// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<2x4x9x9xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>, %t: tensor<4x3x2x2xf32>) {
  // CHECK: onnx.Conv
  %0 = onnx.Conv %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 2>, group = 2}
    : (tensor<2x4x9x9xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x5x5xf32>
  %1 = onnx.ConvTranspose %x, %t {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
    output_padding = array<i64: 1, 0>} : (tensor<2x4x9x9xf32>, tensor<4x3x2x2xf32>) -> tensor<2x3x19x18xf32>
  return
}

// CHECK-LABEL: @pools
func.func @pools(%x: tensor<1x2x5x5xf32>) {
  %0:2 = onnx.MaxPool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
    dilations = array<i64: 1, 1>, ceil_mode = true, with_indices = true} : (tensor<1x2x5x5xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>)
  %1 = onnx.AveragePool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
    dilations = array<i64: 1, 1>} : (tensor<1x2x5x5xf32>) -> tensor<1x2x2x2xf32>
  // A last window that would start in the end pad is none.
  %2 = onnx.AveragePool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 3, 3>, pads = array<i64: 0, 0, 1, 1>,
    dilations = array<i64: 1, 1>, ceil_mode = true} : (tensor<1x2x5x5xf32>) -> tensor<1x2x2x2xf32>
  %4 = onnx.AveragePool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 5, 5>, pads = array<i64: 0, 0, 1, 1>,
    dilations = array<i64: 1, 1>, ceil_mode = true} : (tensor<1x2x5x5xf32>) -> tensor<1x2x1x1xf32>
  // CHECK: onnx.GlobalAveragePool
  %3 = onnx.GlobalAveragePool %x : (tensor<1x2x5x5xf32>) -> tensor<1x2x1x1xf32>
  return
}

// CHECK-LABEL: @recurrent
func.func @recurrent(%x: tensor<7x2x3xf32>, %w: tensor<2x16x3xf32>, %r: tensor<2x16x4xf32>) {
  // CHECK: onnx.LSTM
  %0:3 = onnx.LSTM %x, %w, %r {hidden_size = 4, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<7x2x3xf32>, tensor<2x16x3xf32>, tensor<2x16x4xf32>) -> (tensor<7x2x2x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
  return
}
