// RUN: kedge-opt %s --kedge-decompose | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-NOT: onnx.LpNormalization
// CHECK: return
func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = onnx.LpNormalization %x {axis = 1 : i64, p = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
