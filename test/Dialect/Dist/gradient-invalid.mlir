// RUN: not kedge-opt %s --split-input-file --kedge-differentiate 2>&1 | FileCheck %s
// CHECK: error: 'dist.all_reduce' op of kind 'max' has no gradient: only sums have
train.state parameter @w tensor<f32>
func.func @step(%w: tensor<f32> {train.binding = #train.binding<state @w>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.0 : f64} {
  %0 = dist.all_reduce %w {kind = "max", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK: error: 'dist.send_recv' op has no gradient: rank 0 sends to several ranks
train.state parameter @w tensor<f32>
func.func @step(%w: tensor<f32> {train.binding = #train.binding<state @w>})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 1.0 : f64} {
  %0 = dist.send_recv %w {from = array<i64: 0, 0>, ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
