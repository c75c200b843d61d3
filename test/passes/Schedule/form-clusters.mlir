// RUN: kedge-opt %s --kedge-form-clusters | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-NOT: onnx.
// CHECK: %[[SUM:.*]] = sched.cluster domain [2, 3] reduced [](%arg0)
// The splat is a constant of the body.
// CHECK: arith.constant 2.0
// CHECK: arith.addf
// CHECK: %[[VIEW:.*]] = sched.view %[[SUM]] : tensor<2x3xf32> to tensor<6xf32>
// CHECK: sched.library "onnx.Gather"(%[[VIEW]], %arg1) {axis = 0 : i64}
func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %0 = onnx.Add %x, %two : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = onnx.Reshape %0 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = onnx.Gather %1, %i {axis = 0 : i64} : (tensor<6xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
