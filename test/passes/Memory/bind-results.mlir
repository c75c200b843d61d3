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

// One walk over a row makes both largest magnitudes, and nothing reads the codes again behind the walk that scales them: the moments and
// the row's scales are computed where they lie.
// CHECK-LABEL: func.func @moments
// CHECK-COUNT-1: sched.cluster
// CHECK-NOT: sched.cluster
// CHECK: return
#row = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
train.state moment1 @m tensor<4x8xf32> from unit {of = @w}
train.state moment2 @v tensor<4x8xf32> from unit {of = @w}
train.state state @s tensor<4xf32> from unit {of = @w}
func.func @moments(%m: tensor<4x8xf32> {train.binding = #train.binding<state @m>}, %v: tensor<4x8xf32> {train.binding = #train.binding<state @v>},
                   %s: tensor<4xf32> {train.binding = #train.binding<state @s>})
    -> (tensor<4x8xf32> {train.binding = #train.binding<state @m>}, tensor<4x8xf32> {train.binding = #train.binding<state @v>},
        tensor<4xf32> {train.binding = #train.binding<state @s>}) {
  %0:3 = sched.cluster domain [4, 8] reduced [1] (%m, %v, %s) maps [#all, #all, #row] -> [#all, #all, #row] {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %c : f32
    %p = sched.reduce max %x : f32
    %q = sched.reduce max %b : f32
    %y = arith.divf %x, %p : f32
    %z = arith.divf %b, %q : f32
    sched.yield %y, %z, %p : f32, f32, f32
  } : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>
}

// The second fold waits for the first: what is stored behind the first walk is read by the second.
// CHECK-LABEL: func.func @two_walks
// CHECK-COUNT-2: sched.cluster
// CHECK: return
func.func @two_walks(%m: tensor<4x8xf32> {train.binding = #train.binding<state @m>})
    -> (tensor<4x8xf32> {train.binding = #train.binding<state @m>}, tensor<4xf32> {train.binding = #train.binding<output "y">}) {
  %0:2 = sched.cluster domain [4, 8] reduced [1] (%m) maps [#all] -> [#all, #row] {
  ^bb0(%a: f32):
    %p = sched.reduce max %a : f32
    %x = arith.divf %a, %p : f32
    %q = sched.reduce add %x : f32
    sched.yield %x, %q : f32, f32
  } : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4xf32>
}
