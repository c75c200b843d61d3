// RUN: kedge-opt %s --kedge-differentiate --split-input-file --verify-diagnostics
// What has no gradient at all: differentiate.mlir.

// expected-error @+1 {{has the attribute train.loss_gradient, but no result 'loss_sum' to differentiate: run kedge-add-loss first}}
func.func @step(%x: tensor<f32>) -> tensor<f32> attributes {train.kind = #train.kind<step>, train.loss_gradient = 0.5 : f64} {
  return %x : tensor<f32>
}

// -----

func.func @step(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> attributes {train.kind = #train.kind<step>} {
  %y = onnx.Neg %x : (tensor<f32>) -> tensor<f32>
  // expected-error @+1 {{y does not depend on input 0 of xs ('tensor<f32>'): take it out of xs, or check which value y names}}
  %g = train.gradient_of %y, %z : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %g : tensor<f32>
}

// -----

func.func @step(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> attributes {train.kind = #train.kind<step>} {
  // expected-error @+2 {{has no gradient through its mean and deviation results yet}}
  // expected-error @+1 {{the gradient of 'onnx.LayerNormalization' does not cover this form of it}}
  %0:3 = onnx.LayerNormalization %x, %w {axis = 1 : i64}
      : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %y = onnx.ReduceSum %0#1 {axes = array<i64: 0, 1>} : (tensor<4x1xf32>) -> tensor<f32>
  %g = train.gradient_of %y, %x : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// -----

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.kind = #train.kind<step>} {
  // expected-error @+2 {{in training mode has no gradient of its own: the step's builder makes it train.dropout first}}
  // expected-error @+1 {{the gradient of 'onnx.Dropout' does not cover this form of it}}
  %0 = onnx.Dropout %x {ratio = 0.5 : f32, training_mode = true, op_id = 7 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %y = onnx.ReduceSum %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %g = train.gradient_of %y, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<2x1x4x2xf32>) -> tensor<2x1x4x2xf32> attributes {train.kind = #train.kind<step>} {
  // expected-error @+2 {{has no gradient through its log-sum-exp}}
  // expected-error @+1 {{the gradient of 'train.attention' does not cover this form of it}}
  %0:2 = train.attention %x, %x, %x {scale = 1.0}
      : (tensor<2x1x4x2xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2xf32>) -> (tensor<2x1x4x2xf32>, tensor<2x1x4xf32>)
  %y = onnx.ReduceSum %0#1 {axes = array<i64: 0, 1, 2>} : (tensor<2x1x4xf32>) -> tensor<f32>
  %g = train.gradient_of %y, %x : (tensor<f32>, tensor<2x1x4x2xf32>) -> tensor<2x1x4x2xf32>
  return %g : tensor<2x1x4x2xf32>
}

// -----

func.func @step(%x: tensor<2x1x4x2xf32>) -> tensor<2x1x4x2xf32> attributes {train.kind = #train.kind<step>} {
  // expected-error @+2 {{drops out in training, which the step's builder binds to its random numbers first}}
  // expected-error @+1 {{the gradient of 'train.attention' does not cover this form of it}}
  %0:2 = train.attention %x, %x, %x {scale = 1.0, ratio = 0.5 : f32, training_mode = true, op_id = 7 : i64}
      : (tensor<2x1x4x2xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2xf32>) -> (tensor<2x1x4x2xf32>, tensor<2x1x4xf32>)
  %y = onnx.ReduceSum %0#0 {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x1x4x2xf32>) -> tensor<f32>
  %g = train.gradient_of %y, %x : (tensor<f32>, tensor<2x1x4x2xf32>) -> tensor<2x1x4x2xf32>
  return %g : tensor<2x1x4x2xf32>
}

// -----

// A bias of the scores that trains, between the borders of documents.
train.state parameter @bias tensor<2x1x4x4xf32>
func.func @step(%x: tensor<2x1x4x2xf32>, %m: tensor<2x1x4x4xf32> {train.binding = #train.binding<state @bias>}, %d: tensor<2x5xi64>) -> tensor<2x1x4x4xf32> attributes {train.kind = #train.kind<step>} {
  // expected-error @+2 {{has no gradient of its mask between the borders of documents}}
  // expected-error @+1 {{the gradient of 'train.attention' does not cover this form of it}}
  %0:2 = train.attention %x, %x, %x, %m documents(%d) {scale = 1.0}
      : (tensor<2x1x4x2xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x2xf32>, tensor<2x1x4x4xf32>, tensor<2x5xi64>) -> (tensor<2x1x4x2xf32>, tensor<2x1x4xf32>)
  %y = onnx.ReduceSum %0#0 {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x1x4x2xf32>) -> tensor<f32>
  %g = train.gradient_of %y, %m : (tensor<f32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  return %g : tensor<2x1x4x4xf32>
}
