// RUN: kedge-opt %s --kedge-bind-random | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64> {train.scalar = "seed"}
// CHECK: train.dropout %arg0, %[[SEED]],
// CHECK-SAME: op_id = 7
func.func @step(%x: tensor<2x3xf32> {train.input = "x"}) -> tensor<2x3xf32> {
  %0 = onnx.Dropout %x {ratio = 0.5 : f32, training_mode = true, op_id = 7 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @eval
// CHECK-NEXT: return %arg0
func.func @eval(%x: tensor<2x3xf32> {train.input = "x"}) -> tensor<2x3xf32> {
  %0 = onnx.Dropout %x {ratio = 0.5 : f32, training_mode = false, op_id = 7 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
