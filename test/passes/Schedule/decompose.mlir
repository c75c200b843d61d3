// RUN: kedge-opt %s --kedge-decompose | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-NOT: onnx.LRN
// CHECK: return
func.func @f(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = onnx.LRN %x {size = 3 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
