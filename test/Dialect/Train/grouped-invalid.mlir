// RUN: not kedge-opt %s --split-input-file 2>&1 | FileCheck %s
// CHECK: error: rows 'tensor<6x4xf32>' and experts 'tensor<5x2xi64>' do not fit: expected [T, K] and integers [T, S]
// CHECK: error: rows 'tensor<6x4xf32>' and experts 'tensor<6x2xf32>' do not fit: expected [T, K] and integers [T, S]
// CHECK: error: matrices 'tensor<8x4x3xf32>' do not fit rows 'tensor<6x4xf32>': expected [E, K, N], with transB [E, N, K]
// CHECK: error: the gradient 'tensor<6x3xf32>' does not fit rows 'tensor<6x4xf32>' and experts 'tensor<6x2xi64>'

func.func @tokens(%x: tensor<6x4xf32>, %e: tensor<5x2xi64>, %w: tensor<8x4x3xf32>) -> tensor<6x2x3xf32> {
  %y = train.grouped_matmul %x, %e, %w : (tensor<6x4xf32>, tensor<5x2xi64>, tensor<8x4x3xf32>) -> tensor<6x2x3xf32>
  return %y : tensor<6x2x3xf32>
}

// -----

func.func @integers(%x: tensor<6x4xf32>, %e: tensor<6x2xf32>, %w: tensor<8x4x3xf32>) -> tensor<6x2x3xf32> {
  %y = train.grouped_matmul %x, %e, %w : (tensor<6x4xf32>, tensor<6x2xf32>, tensor<8x4x3xf32>) -> tensor<6x2x3xf32>
  return %y : tensor<6x2x3xf32>
}

// -----

func.func @layout(%x: tensor<6x4xf32>, %e: tensor<6x2xi64>, %w: tensor<8x4x3xf32>) -> tensor<6x2x3xf32> {
  %y = train.grouped_matmul %x, %e, %w {transB = true} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<8x4x3xf32>) -> tensor<6x2x3xf32>
  return %y : tensor<6x2x3xf32>
}

// -----

func.func @gradient(%x: tensor<6x4xf32>, %e: tensor<6x2xi64>, %dy: tensor<6x3xf32>) -> tensor<8x4x3xf32> {
  %dw = train.grouped_matmul_grad %x, %e, %dy {count = 8 : i64} : (tensor<6x4xf32>, tensor<6x2xi64>, tensor<6x3xf32>) -> tensor<8x4x3xf32>
  return %dw : tensor<8x4x3xf32>
}
