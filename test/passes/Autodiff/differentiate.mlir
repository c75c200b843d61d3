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
  // expected-error @+1 {{'other.unknown_a' has no gradient yet, but the loss depends on parameters through it}}
  %0 = "other.unknown_a"(%w) : (tensor<3xf32>) -> tensor<3xf32>
  // expected-error @+1 {{'other.unknown_b' has no gradient yet}}
  %1 = "other.unknown_b"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %unused = "other.unknown_c"(%w) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = onnx.ReduceSum %1 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// The gradient of a dropout draws by the same counters, id and rows.
// CHECK-LABEL: func.func @dropout
// CHECK: %[[G:.*]] = train.dropout_grad %{{.*}}, %arg1, %arg2, %arg3 {batch_axis = 1 : i64, op_id = 5 : i64, ratio = 2.500000e-01 : f32, row_size = 2 : i64}
// CHECK: return %[[G]]
func.func @dropout(%x: tensor<3x4xf32>, %seed: tensor<i64>, %step: tensor<i64>, %row: tensor<i64>) -> tensor<3x4xf32> {
  %0 = train.dropout %x, %seed, %step, %row {op_id = 5 : i64, ratio = 0.25 : f32, batch_axis = 1 : i64, row_size = 2 : i64}
      : (tensor<3x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x4xf32>
  %y = onnx.ReduceSum %0 {axes = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<f32>
  %g = train.gradient_of %y, %x : (tensor<f32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %g : tensor<3x4xf32>
}

// -----

// A weight that is cast to 16 bits has a gradient in 16 bits: the optimizer widens it.
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<3xbf16> {train.binding = #train.binding<gradient @narrowed>}
// CHECK: onnx.Mul %{{.*}}tensor<3xbf16>
// CHECK: %[[G:.*]] = onnx.Mul %{{.*}}tensor<3xbf16>
// CHECK: return %{{.*}}, %[[G]] : tensor<f32>, tensor<3xbf16>
train.state parameter @narrowed tensor<3xf32>
func.func @step(%x: tensor<3xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @narrowed>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.0 : f64} {
  %0 = onnx.Cast %w {to = bf16} : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = onnx.Mul %x, %0 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  %2 = onnx.Cast %1 {to = f32} : (tensor<3xbf16>) -> tensor<3xf32>
  %3 = onnx.ReduceSum %2 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
