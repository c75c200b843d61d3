// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-silu))' | FileCheck %s

// CHECK-LABEL: @silu
// CHECK-NEXT: onnx.Swish %arg0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return
func.func @silu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = onnx.Sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = onnx.Mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CLIP's quick gelu.
// CHECK-LABEL: @scaled
// CHECK-NEXT: onnx.Swish %arg0 {alpha = 1.702000e+00 : f32}
func.func @scaled(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = onnx.Constant dense<1.702> : tensor<f32>
  %0 = onnx.Mul %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = onnx.Sigmoid %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = onnx.Mul %x, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// A gate of another value stays.
// CHECK-LABEL: @gate
// CHECK-NEXT: onnx.Sigmoid
func.func @gate(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = onnx.Sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = onnx.Mul %y, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
