// RUN: kedge-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @transpose_between_reshapes
// CHECK-NEXT: onnx.Transpose %arg0 {perm = array<i64: 0, 1, 3, 2>}
// CHECK-NEXT: return
func.func @transpose_between_reshapes(%k: tensor<2x3x4x5xf32>) -> tensor<2x3x5x4xf32> {
  %a = onnx.Reshape %k {shape = array<i64: 6, 4, 5>} : (tensor<2x3x4x5xf32>) -> tensor<6x4x5xf32>
  %b = onnx.Transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<6x4x5xf32>) -> tensor<6x5x4xf32>
  %c = onnx.Reshape %b {shape = array<i64: 2, 3, 5, 4>} : (tensor<6x5x4xf32>) -> tensor<2x3x5x4xf32>
  return %c : tensor<2x3x5x4xf32>
}
