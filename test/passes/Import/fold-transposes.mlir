// RUN: kedge-opt %s --kedge-fold-transposes --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @linear
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.MatMul %arg0, %arg1 {transB = true}
func.func @linear(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %t = onnx.Transpose %w {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %y = onnx.MatMul %x, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// A permutation of the batch dims stays.
// CHECK-LABEL: func.func @batch
// CHECK: onnx.Transpose
func.func @batch(%x: tensor<2x3x4x5xf32>, %w: tensor<3x2x6x5xf32>) -> tensor<2x3x4x6xf32> {
  %t = onnx.Transpose %w {perm = array<i64: 1, 0, 3, 2>} : (tensor<3x2x6x5xf32>) -> tensor<2x3x5x6xf32>
  %y = onnx.MatMul %x, %t : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  return %y : tensor<2x3x4x6xf32>
}

// The transpose of what a product transposes already is none.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: onnx.Transpose
// CHECK: onnx.MatMul %arg0, %arg1 : (
func.func @twice(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %t = onnx.Transpose %w {perm = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = onnx.MatMul %x, %t {transB = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
