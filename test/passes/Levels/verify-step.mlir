// RUN: kedge-opt %s --split-input-file --kedge-verify-step --verify-diagnostics

func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<micro>} {
  %y = onnx.Neg %x {kedge.place = #kedge.place<forward "h.0", "neg">} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @update() attributes {train.kind = #train.kind<update>} {
  return
}

// -----

// The gradient of level 1 has to be written out by now.
func.func @step(%x: tensor<f32> {train.binding = #train.binding<input "x">}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>} {
  // expected-error@+1 {{'train.variable' op is none of level 2 (ops of onnx, train and dist, gradients written out)}}
  %v = train.variable %x {kedge.place = #kedge.place<update "", "v">} : (tensor<f32>) -> tensor<f32>
  // expected-note@+1 {{its result is read here}}
  return %v : tensor<f32>
}

// -----

// expected-error@+1 {{'func.func' op is of level 1: on level 2 it is split into the functions of a run}}
func.func @model() attributes {train.kind = #train.kind<model>} {
  return
}
func.func @step() attributes {train.kind = #train.kind<step>} {
  return
}

// -----

// expected-error@+1 {{'builtin.module' op has neither @step nor @micro}}
module {
}

// -----

// expected-note@+1 {{@step is here}}
func.func @step() attributes {train.kind = #train.kind<step>} {
  return
}
// expected-error@+1 {{'func.func' op is next to @step: a step is one or the other}}
func.func @micro() attributes {train.kind = #train.kind<micro>} {
  return
}

// -----

// expected-error@+1 {{'func.func' op needs @update next to it}}
func.func @micro() attributes {train.kind = #train.kind<micro>} {
  return
}

// -----

// expected-note@+1 {{the parameter is declared here}}
train.state parameter @w tensor<4xf32>
func.func @step(%x: tensor<2xf32> {train.binding = #train.binding<input "x">}) attributes {train.kind = #train.kind<step>} {
  // expected-error@+1 {{'train.final_gradient' op is 'tensor<2xf32>', its parameter 'tensor<4xf32>'}}
  train.final_gradient @w %x : tensor<2xf32>
  // expected-error@+1 {{'train.final_gradient' op is of @v, which is no state}}
  train.final_gradient @v %x : tensor<2xf32>
  return
}
