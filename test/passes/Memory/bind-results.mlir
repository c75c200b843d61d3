// RUN: kedge-opt %s --kedge-bind-results | FileCheck %s

#id = affine_map<(d0) -> (d0)>
train.state parameter @w tensor<4xf32>

// Computed where the state lies: nothing to do.
// CHECK-LABEL: func.func @in_place
// CHECK-COUNT-1: sched.cluster
// CHECK-NOT: sched.cluster
// CHECK: return
func.func @in_place(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<state @w>}) {
  %0 = sched.cluster domain [4] reduced [] (%w) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    sched.yield %b : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The old state is read after its update: the new one is copied over at the end.
// CHECK-LABEL: func.func @read_later
// CHECK-COUNT-3: sched.cluster
// CHECK: return
func.func @read_later(%w: tensor<4xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<4xf32> {train.binding = #train.binding<output "y">}) {
  %0 = sched.cluster domain [4] reduced [] (%w) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    sched.yield %b : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = sched.cluster domain [4] reduced [] (%w) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %b = arith.mulf %a, %a : f32
    sched.yield %b : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A constant is there from the begin on.
// CHECK-LABEL: func.func @constant
// CHECK: onnx.Constant
// CHECK-NEXT: sched.cluster domain []
// CHECK: sched.cluster domain [4]
func.func @constant(%w: tensor<4xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<f32> {train.binding = #train.binding<result "loss_sum">}) {
  %0 = sched.cluster domain [4] reduced [] (%w) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    sched.yield %b : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Constant dense<0.0> : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}
