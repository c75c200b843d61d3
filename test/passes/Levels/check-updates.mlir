// RUN: kedge-opt %s --split-input-file --kedge-check-updates --verify-diagnostics | FileCheck %s

// A parameter that has a gradient, and a copy that stays behind its master.
// expected-error@+1 {{'train.state' op 'v' has a gradient, but keeps its first value in every step}}
train.state parameter @v tensor<2xf32>
train.state parameter @w tensor<2xf32>
// expected-error@+1 {{'train.state' op 'w.working' is a working copy that does not follow its master}}
train.state working_copy @w.working tensor<2xbf16> from unit {of = @w}
func.func @step(%w: tensor<2xf32> {train.binding = #train.binding<state @w>}) -> (tensor<2xf32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<step>} {
  train.final_gradient @v %w : tensor<2xf32>
  train.final_gradient @w %w : tensor<2xf32>
  %0 = onnx.Neg %w : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A state that is returned as it came was not updated.
module attributes {train.updates = [@b]} {
  // expected-error@+1 {{'train.state' op 'b' is updated by the model, but keeps its first value in every step}}
  train.state buffer @b tensor<f32>
  func.func @step(%b: tensor<f32> {train.binding = #train.binding<state @b>}) -> (tensor<f32> {train.binding = #train.binding<state @b>}) attributes {train.kind = #train.kind<step>} {
    return %b : tensor<f32>
  }
}

// -----

// expected-error@+1 {{@gone is no state, but is to be updated}}
module attributes {train.updates = [@gone]} {
}

// -----

// CHECK: module {
// CHECK: train.state buffer @good
module attributes {train.updates = [@good]} {
  train.state buffer @good tensor<f32>
  func.func @micro(%b: tensor<f32> {train.binding = #train.binding<state @good>}) -> (tensor<f32> {train.binding = #train.binding<state @good>}) attributes {train.kind = #train.kind<micro>} {
    %0 = onnx.Neg %b : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
