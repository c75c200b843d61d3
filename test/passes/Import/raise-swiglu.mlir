// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-silu,kedge-raise-swiglu))' | FileCheck %s

// CHECK-LABEL: @swiglu
// CHECK-NEXT: train.swiglu %arg0, %arg1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return
func.func @swiglu(%gate: tensor<8xf32>, %up: tensor<8xf32>) -> tensor<8xf32> {
  %0 = onnx.Sigmoid %gate : (tensor<8xf32>) -> tensor<8xf32>
  %1 = onnx.Mul %gate, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = onnx.Mul %1, %up : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK-LABEL: @used_twice
// CHECK-NEXT: onnx.Swish
// CHECK-NEXT: onnx.Mul
func.func @used_twice(%gate: tensor<8xf32>, %up: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = onnx.Swish %gate : (tensor<8xf32>) -> tensor<8xf32>
  %1 = onnx.Mul %0, %up : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
