// RUN: kedge-opt %s | kedge-opt | FileCheck %s

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<1x3x1xf32>) {
  // CHECK: onnx.ReduceSum %{{.*}} {axes = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %0 = onnx.ReduceSum %x {axes = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  // CHECK: onnx.ReduceLogSumExp %{{.*}} {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %1 = onnx.ReduceLogSumExp %x {axes = array<i64: 0, 2>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<1x3x1xf32>
}

// CHECK-LABEL: @order
func.func @order(%x: tensor<2x5xf32>) -> (tensor<2xi64>, tensor<2x3xf32>, tensor<2x3xi64>) {
  // CHECK: onnx.ArgMax %{{.*}} {axis = 1 : i64} : (tensor<2x5xf32>) -> tensor<2xi64>
  %0 = onnx.ArgMax %x {axis = 1 : i64} : (tensor<2x5xf32>) -> tensor<2xi64>
  // CHECK: onnx.TopK %{{.*}} -> (tensor<2x3xf32>, tensor<2x3xi64>)
  %1, %2 = onnx.TopK %x {axis = 1 : i64, k = 3 : i64} : (tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  return %0, %1, %2 : tensor<2xi64>, tensor<2x3xf32>, tensor<2x3xi64>
}
