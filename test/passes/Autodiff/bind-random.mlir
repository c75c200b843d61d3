// RUN: kedge-opt %s --kedge-bind-random | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64> {train.binding = #train.binding<scalar "seed">}
// CHECK: train.dropout %arg0, %[[SEED]],
// CHECK-SAME: op_id = 7
func.func @step(%x: tensor<2x3xf32> {train.binding = #train.binding<input "x">}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Dropout %x {ratio = 0.5 : f32, training_mode = true, op_id = 7 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @eval
// CHECK-NEXT: return %arg0
func.func @eval(%x: tensor<2x3xf32> {train.binding = #train.binding<input "x">}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<eval>} {
  %0 = onnx.Dropout %x {ratio = 0.5 : f32, training_mode = false, op_id = 7 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Attention's: two samples are a row; in evaluation nothing is dropped.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64> {train.binding = #train.binding<scalar "seed">}, %[[STEP:[a-z0-9]*]]: tensor<i64> {train.binding = #train.binding<scalar "step">}, %[[ROW:[a-z0-9]*]]: tensor<i64> {train.binding = #train.binding<scalar "row_base">}
// CHECK: train.attention %arg0, %arg0, %arg0 random(%[[SEED]], %[[STEP]], %[[ROW]]) {op_id = 7 : i64, ratio = 5.000000e-01 : f32, row_size = 2 : i64, scale = 1.000000e+00 : f64}
// CHECK: train.attention %arg0, %arg0, %arg0 {op_id = 8 : i64, scale = 1.000000e+00 : f64}
func.func @attention(%x: tensor<6x1x4x2xf32>, %i: tensor<3x4xf32> {train.binding = #train.binding<input "i">}) -> (tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>) {
  %0:2 = train.attention %x, %x, %x {scale = 1.0, ratio = 0.5 : f32, training_mode = true, op_id = 7 : i64} : (tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>) -> (tensor<6x1x4x2xf32>, tensor<6x1x4xf32>)
  %1:2 = train.attention %x, %x, %x {scale = 1.0, ratio = 0.5 : f32, training_mode = false, op_id = 8 : i64} : (tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>) -> (tensor<6x1x4x2xf32>, tensor<6x1x4xf32>)
  return %0#0, %1#0 : tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>
}

// Numbers of the model's own are drawn in evaluation, too; the batch of four rows has two places a row.
// CHECK-LABEL: func.func @drawn
// CHECK: train.random {{.*}}a = 1.000000e+00 : f64, b = 2.000000e+00 : f64, distribution = "normal", dtype = f32, op_id = 7 : i64, row_size = 2 : i64, shape = array<i64: 8, 2>
// CHECK: train.random {{.*}}a = -1.000000e+00 : f64, b = 4.000000e+00 : f64, batch_axis = -1 : i64, distribution = "uniform"
func.func @drawn(%i: tensor<4x4xf32> {train.binding = #train.binding<input "i">}) -> (tensor<8x2xf32>, tensor<3xf32>) {
  %0 = onnx.RandomNormal {shape = array<i64: 8, 2>, dtype = f32, mean = 1.0 : f32, scale = 2.0 : f32, op_id = 7 : i64} : () -> tensor<8x2xf32>
  %1 = onnx.RandomUniform {shape = array<i64: 3>, dtype = f32, low = -1.0 : f32, high = 3.0 : f32, op_id = 8 : i64} : () -> tensor<3xf32>
  return %0, %1 : tensor<8x2xf32>, tensor<3xf32>
}
