// RUN: kedge-opt %s --kedge-raise-experts=target=cuda --verify-diagnostics | FileCheck %s

// Nothing changes where no kernel is; remarks say what that costs.
// CHECK-NOT: train.grouped_matmul
func.func @both(%x: tensor<5x4xf32>, %w: tensor<8x4x3xf32>, %experts: tensor<9xi64>, %scores: tensor<5x8xf32>, %row: tensor<9x1x4xf32>) -> (tensor<9x1x3xf32>, tensor<5x3xf32>) {
  %0 = onnx.Gather %w, %experts {axis = 0 : i64} : (tensor<8x4x3xf32>, tensor<9xi64>) -> tensor<9x4x3xf32>
  // expected-remark @+1 {{copies a matrix of 'tensor<8x4x3xf32>' for each of 9 rows, 432 bytes: grouped products are not available yet on CUDA}}
  %1 = onnx.MatMul %row, %0 : (tensor<9x1x4xf32>, tensor<9x4x3xf32>) -> tensor<9x1x3xf32>
  %zeros = onnx.Constant dense<0.0> : tensor<5x8xf32>
  %values, %indices = onnx.TopK %scores {axis = 1 : i64, k = 2 : i64} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi64>)
  %g = onnx.ScatterElements %zeros, %indices, %values {axis = 1 : i64, reduction = "none"} : (tensor<5x8xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<5x8xf32>
  %2 = onnx.MatMul %x, %w : (tensor<5x4xf32>, tensor<8x4x3xf32>) -> tensor<8x5x3xf32>
  %3 = onnx.Transpose %g {perm = array<i64: 1, 0>} : (tensor<5x8xf32>) -> tensor<8x5xf32>
  %4 = onnx.Reshape %3 {shape = array<i64: 8, 5, 1>} : (tensor<8x5xf32>) -> tensor<8x5x1xf32>
  %5 = onnx.Mul %2, %4 : (tensor<8x5x3xf32>, tensor<8x5x1xf32>) -> tensor<8x5x3xf32>
  // expected-remark @+1 {{adds up 8 experts for each of 5 rows, of which 2 count: grouped products are not available yet on CUDA}}
  %6 = onnx.ReduceSum %5 {axes = array<i64: 0>} : (tensor<8x5x3xf32>) -> tensor<5x3xf32>
  return %1, %6 : tensor<9x1x3xf32>, tensor<5x3xf32>
}
