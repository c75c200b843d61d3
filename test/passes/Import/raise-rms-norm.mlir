// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-rms-norm))' | FileCheck %s

// Llama's: weight * (x * rsqrt(mean(x^2) + eps)).
// CHECK-LABEL: @llama
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = onnx.RMSNormalization %arg0, %arg1 {axis = 2 : i64, epsilon = 9.99999997E-7 : f32}
// CHECK-NEXT: return %[[Y]]
func.func @llama(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %eps = onnx.Constant dense<9.99999997E-7> : tensor<f32>
  %0 = onnx.Pow %x, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %1 = onnx.ReduceMean %0 {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %2 = onnx.Add %1, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %3 = onnx.Sqrt %2 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %4 = onnx.Reciprocal %3 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %5 = onnx.Mul %x, %4 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %6 = onnx.Mul %w, %5 : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %6 : tensor<2x3x8xf32>
}

// A power for the root, and a quotient.
// CHECK-LABEL: @power
// CHECK: onnx.RMSNormalization %arg0
// CHECK-NEXT: return
func.func @power(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %eps = onnx.Constant dense<9.99999997E-7> : tensor<f32>
  %0 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = onnx.ReduceMean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %2 = onnx.Add %1, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = onnx.Pow %2, %half : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %4 = onnx.Div %x, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %4 : tensor<3x8xf32>
}
