// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-layer-norm))' | FileCheck %s

// The legacy exporter's form.
// CHECK-LABEL: @affine
// CHECK-NEXT: %[[Y:.*]], %{{.*}}, %{{.*}} = onnx.LayerNormalization %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999996E-13 : f32}
// CHECK-NEXT: return %[[Y]]
func.func @affine(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %eps = onnx.Constant dense<9.99999996E-13> : tensor<f32>
  %0 = onnx.ReduceMean %x {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %1 = onnx.Sub %x, %0 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %2 = onnx.Pow %1, %two : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %3 = onnx.ReduceMean %2 {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %4 = onnx.Add %3, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %5 = onnx.Sqrt %4 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = onnx.Div %1, %5 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %7 = onnx.Mul %6, %w : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %8 = onnx.Add %7, %b : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %8 : tensor<2x3x8xf32>
}

// Written by hand: the difference twice, a product for the square, a reciprocal, no weight.
// CHECK-LABEL: @plain
// CHECK-NEXT: %[[ONE:.*]] = onnx.Constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[Y:.*]], %{{.*}}, %{{.*}} = onnx.LayerNormalization %arg0, %[[ONE]] {axis = 1 : i64}
// CHECK-NEXT: %[[S:.*]] = onnx.Mul %[[Y]], %arg1
// CHECK-NEXT: return %[[S]]
func.func @plain(%x: tensor<3x8xf32>, %s: tensor<3x1xf32>) -> tensor<3x8xf32> {
  %eps = onnx.Constant dense<1.000000e-05> : tensor<f32>
  %0 = onnx.ReduceMean %x {axes = array<i64: 1>, keepdims = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %1 = onnx.Sub %x, %0 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %d = onnx.Sub %x, %0 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %2 = onnx.Mul %d, %d : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %3 = onnx.ReduceMean %2 {axes = array<i64: 1>, keepdims = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %4 = onnx.Add %eps, %3 : (tensor<f32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = onnx.Sqrt %4 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %6 = onnx.Reciprocal %5 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %7 = onnx.Mul %6, %1 : (tensor<3x1xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %8 = onnx.Mul %7, %s : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return %8 : tensor<3x8xf32>
}

// A mean over a leading dim is no layer norm.
// CHECK-LABEL: @columns
// CHECK-NOT: LayerNormalization
func.func @columns(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %eps = onnx.Constant dense<1.000000e-05> : tensor<f32>
  %0 = onnx.ReduceMean %x {axes = array<i64: 0>, keepdims = true} : (tensor<3x8xf32>) -> tensor<1x8xf32>
  %1 = onnx.Sub %x, %0 : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<3x8xf32>
  %2 = onnx.Mul %1, %1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %3 = onnx.ReduceMean %2 {axes = array<i64: 0>, keepdims = true} : (tensor<3x8xf32>) -> tensor<1x8xf32>
  %4 = onnx.Add %3, %eps : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %5 = onnx.Sqrt %4 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %6 = onnx.Div %1, %5 : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<3x8xf32>
  return %6 : tensor<3x8xf32>
}
