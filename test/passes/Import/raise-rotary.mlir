// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-rotary))' | FileCheck %s

// CHECK-LABEL: @halves
// CHECK-NEXT: %[[Y:.*]] = train.rotary %arg0, %arg0, %arg1, %arg2 : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x1x3x8xf32>, tensor<2x1x3x8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<2x4x3x8xf32>, %cos: tensor<2x1x3x8xf32>, %sin: tensor<2x1x3x8xf32>) -> tensor<2x4x3x8xf32> {
  %0 = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<2x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %1 = onnx.Slice %x {starts = array<i64: 0, 0, 0, 0>, ends = array<i64: 2, 4, 3, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %2 = onnx.Slice %x {starts = array<i64: 0, 0, 0, 4>, ends = array<i64: 2, 4, 3, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %3 = onnx.Neg %2 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %4 = onnx.Concat %3, %1 {axis = 3} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %5 = onnx.Mul %4, %sin : (tensor<2x4x3x8xf32>, tensor<2x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %6 = onnx.Add %0, %5 : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %6 : tensor<2x4x3x8xf32>
}

// GPT-J's: neighbours are stacked and flattened.
// CHECK-LABEL: @neighbours
// CHECK-NEXT: train.rotary %arg0, %arg0, %arg1, %arg2 {interleaved = true}
// CHECK-NEXT: return
func.func @neighbours(%x: tensor<3x8xf32>, %cos: tensor<3x8xf32>, %sin: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = onnx.Slice %x {starts = array<i64: 0, 0>, ends = array<i64: 3, 8>, steps = array<i64: 1, 2>} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %1 = onnx.Slice %x {starts = array<i64: 0, 1>, ends = array<i64: 3, 8>, steps = array<i64: 1, 2>} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %2 = onnx.Neg %1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = onnx.Reshape %2 {shape = array<i64: 3, 4, 1>} : (tensor<3x4xf32>) -> tensor<3x4x1xf32>
  %4 = onnx.Reshape %0 {shape = array<i64: 3, 4, 1>} : (tensor<3x4xf32>) -> tensor<3x4x1xf32>
  %5 = onnx.Concat %3, %4 {axis = 2} : (tensor<3x4x1xf32>, tensor<3x4x1xf32>) -> tensor<3x4x2xf32>
  %6 = onnx.Reshape %5 {shape = array<i64: 3, 8>} : (tensor<3x4x2xf32>) -> tensor<3x8xf32>
  %7 = onnx.Mul %sin, %6 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %8 = onnx.Mul %cos, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %9 = onnx.Add %7, %8 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %9 : tensor<3x8xf32>
}

// The halves joined without a sign are no rotation.
// CHECK-LABEL: @swapped
// CHECK-NOT: train.rotary
func.func @swapped(%x: tensor<3x8xf32>, %cos: tensor<3x8xf32>, %sin: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0:2 = onnx.Split %x {axis = 1, split = array<i64: 4, 4>} : (tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  %1 = onnx.Concat %0#1, %0#0 {axis = 1} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  %2 = onnx.Mul %1, %sin : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %3 = onnx.Mul %x, %cos : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %4 = onnx.Add %2, %3 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %4 : tensor<3x8xf32>
}
