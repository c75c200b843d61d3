// RUN: kedge-opt %s --split-input-file --kedge-verify-schedule --verify-diagnostics

// A scheduled function, with a clone.
func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  %c = onnx.Constant dense<1.0> : tensor<4xf32>
  %a = sched.library "a"(%x, %c) {} {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = sched.library "a"(%x, %c) {} {clone = 1 : i64, kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = sched.library "b"(%a, %b) {} {kedge.place = #kedge.place<backward "h.0", "b">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  // expected-error@+1 {{'onnx.Tanh' op is none of level 3 (clusters, library calls, views, copies and constants)}}
  %a = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{its result is read here}}
  %y = sched.library "y"(%a) {} {kedge.place = #kedge.place<forward "h.0", "y">} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  // expected-note@+1 {{the other is here}}
  %a = sched.library "a"(%x) {} {clone = 1 : i64, kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'sched.library' op is clone 1 of its function, as another launch is}}
  %y = sched.library "a"(%a) {} {clone = 1 : i64, kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  %a = sched.library "a"(%x) {} {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'sched.view' op lacks 'kedge.place': what made it forgot where it belongs}}
  %v = sched.view %a : tensor<4xf32> to tensor<2x2xf32>
  // expected-note@+1 {{next to it is #kedge.place<forward "h.0", "a">}}
  %y = sched.view %v {kedge.place = #kedge.place<forward "h.0", "a">} : tensor<2x2xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has 'sched.sequence', which kedge-insert-recompute carries out}}
func.func @step() attributes {train.kind = #train.kind<step>, sched.sequence = array<i64>} {
  return
}

// -----

func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %i: tensor<2xi64> {train.binding = #train.binding<input "i">}) -> (tensor<2xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  // expected-error@+1 {{calls 'onnx.Gather': attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute}}
  %y = sched.library "onnx.Gather"(%x, %i) {axis = "rows"} {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
