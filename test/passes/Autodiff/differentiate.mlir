// RUN: kedge-opt %s --allow-unregistered-dialect --kedge-differentiate --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @step
// CHECK-SAME: -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<3xf32> {train.binding = #train.binding<gradient @w>})
// CHECK: %[[SEED:.*]] = onnx.Constant dense<5.000000e-01> : tensor<f32>
// CHECK-NOT: train.binding = #train.binding<gradient @frozen>
train.state parameter @w tensor<3xf32>
train.state frozen @frozen tensor<3xf32>
func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>},
                %f: tensor<3xf32> {train.binding = #train.binding<state @frozen>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 0.5 : f64} {
  %0 = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = onnx.Mul %0, %f : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.ReduceSum %1 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// All that lack a gradient are named at once; what the loss does not pass through is not.
train.state parameter @w tensor<3xf32>
func.func @step(%w: tensor<3xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.0 : f64} {
  // expected-error @+1 {{'other.unknown_a' has no gradient yet}}
  %0 = "other.unknown_a"(%w) : (tensor<3xf32>) -> tensor<3xf32>
  // expected-error @+1 {{'other.unknown_b' has no gradient yet}}
  %1 = "other.unknown_b"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %unused = "other.unknown_c"(%w) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.ReduceSum %1 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
