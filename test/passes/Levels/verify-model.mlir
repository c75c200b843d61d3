// RUN: kedge-opt %s --split-input-file --kedge-verify-model --verify-diagnostics

func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  %c = onnx.Constant dense<1.0> : tensor<4xf32>
  %y = onnx.Add %x, %c {kedge.place = #kedge.place<forward "h.0", "add">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  // expected-note@+1 {{next to it is #kedge.place<forward "h.0", "tanh">}}
  %a = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "tanh">} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'onnx.Neg' op lacks 'kedge.place': what made it forgot where it belongs}}
  %y = onnx.Neg %a : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A later level's op, with what reads it.
func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  // expected-error@+1 {{'sched.library' op is none of level 1 (ops of onnx, train and dist)}}
  %a = sched.library "a"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{its result is read here}}
  %y = onnx.Neg %a {kedge.place = #kedge.place<forward "h.0", "neg">} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  // expected-error@+1 {{'onnx.unsupported' op is none of level 1}}
  %y = onnx.unsupported "Foo" "" 1(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{its result is read here}}
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has argument 1, which is bound to no state, input or scalar}}
func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4xf32>) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  // expected-note@+1 {{it is read here}}
  %y = onnx.Add %x, %w {kedge.place = #kedge.place<forward "h.0", "add">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has result 0, which is bound to no state, output or result}}
func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> tensor<4xf32> attributes {train.kind = #train.kind<model>} {
  // expected-note@+1 {{it is returned here}}
  return %x : tensor<4xf32>
}

// -----

// expected-note@+1 {{@model is here}}
func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  return %x : tensor<4xf32>
}
// expected-error@+1 {{'func.func' op is next to @model: functions of a run are made of it later}}
func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{'builtin.module' op has no @model, which level 1 is}}
module {
}
