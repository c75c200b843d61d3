// RUN: kedge-opt %s --kedge-split-functions | FileCheck %s --check-prefixes=CHECK,STEP
// RUN: kedge-opt %s --kedge-split-functions=accumulate=2 | FileCheck %s --check-prefixes=CHECK,MICRO

// STEP: func.func @step({{.*}}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">})
// MICRO: func.func @micro({{.*}}attributes {train.kind = #train.kind<micro>}
// CHECK: func.func @eval({{.*}}) -> (tensor<2xf32> {train.binding = #train.binding<result "loss_rows">}) attributes {train.kind = #train.kind<eval>}
// CHECK: func.func @predict(%arg0: tensor<2xf32> {train.binding = #train.binding<input "x">}) -> (tensor<2xf32> {train.binding = #train.binding<output "y">})
// CHECK-NOT: func.func @model
func.func @model(%x: tensor<2xf32> {train.binding = #train.binding<input "x">}, %y: tensor<2xf32> {train.binding = #train.binding<input "labels">})
    -> (tensor<2xf32> {train.binding = #train.binding<output "y">}, tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<2xf32> {train.binding = #train.binding<result "loss_rows">}) attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = onnx.Sub %0, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = onnx.ReduceSum %1 {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %0, %2, %1 : tensor<2xf32>, tensor<f32>, tensor<2xf32>
}
