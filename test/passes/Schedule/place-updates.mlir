// RUN: kedge-opt %s --kedge-place-updates | FileCheck %s

#id = affine_map<(d0) -> (d0)>
train.state parameter @w tensor<4xf32>
train.state parameter @matrix tensor<64x64xf32>
// The update of w moves up to behind the last reader of w, before what does not concern it.
// CHECK-LABEL: func.func @step
// CHECK: sched.library "gradient"
// CHECK: sched.library "reader"
// CHECK: sched.cluster
// CHECK: sched.library "other"
func.func @step(%x: tensor<4xf32>, %w: tensor<4xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<4xf32>) attributes {train.kind = #train.kind<step>} {
  %g = sched.library "gradient"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
  %r = sched.library "reader"(%w) {} : (tensor<4xf32>) -> tensor<4xf32>
  %o = sched.library "other"(%r) {} : (tensor<4xf32>) -> tensor<4xf32>
  %p = sched.library "keeps"(%o, %r) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %new = sched.cluster domain [4] reduced [] (%w, %g) maps [#id, #id] -> [#id] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    sched.yield %c : f32
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %new, %p : tensor<4xf32>, tensor<4xf32>
}

// The norm of gradients is returned: what boils a gradient down goes right behind it, so that the update can, too.
// CHECK-LABEL: func.func @norm
// CHECK: sched.library "gradient"
// CHECK-NEXT: sched.library "squares"
// CHECK-NEXT: sched.library "scale"
// CHECK-NEXT: sched.library "update"
// CHECK-NEXT: sched.library "other"
func.func @norm(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {train.binding = #train.binding<state @matrix>})
    -> (tensor<64x64xf32> {train.binding = #train.binding<state @matrix>}, tensor<f32> {train.binding = #train.binding<result "grad_norm">}, tensor<64x64xf32> {train.binding = #train.binding<output "y">}) {
  %g = sched.library "gradient"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %o = sched.library "other"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = sched.library "keeps"(%o, %x) {} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = sched.library "squares"(%g) {} : (tensor<64x64xf32>) -> tensor<64xf32>
  %c = sched.library "scale"(%s) {} : (tensor<64xf32>) -> tensor<f32>
  %new = sched.library "update"(%w, %g, %c) {} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  return %new, %c, %y : tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>
}

// What an update reads that is made of states alone, a master of two parts, is made right in front of it.
// CHECK-LABEL: func.func @masters
// CHECK: sched.library "gradient"
// CHECK-NEXT: sched.library "join"
// CHECK-NEXT: sched.library "update"
// CHECK-NEXT: sched.library "other"
func.func @masters(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {train.binding = #train.binding<state @matrix>})
    -> (tensor<64x64xf32> {train.binding = #train.binding<state @matrix>}, tensor<64x64xf32> {train.binding = #train.binding<output "y">}) {
  %g = sched.library "gradient"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %o = sched.library "other"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = sched.library "keeps"(%o, %x) {} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = sched.library "join"(%w) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %new = sched.library "update"(%m, %g) {} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %new, %y : tensor<64x64xf32>, tensor<64x64xf32>
}

// What is as large as what it reads stays: two of them would live at once.
// CHECK-LABEL: func.func @evaluation
// CHECK: sched.library "logits"
// CHECK-NEXT: sched.library "loss"
// CHECK-NEXT: sched.library "logits"
// CHECK-NEXT: sched.library "loss"
func.func @evaluation(%x: tensor<64x64xf32>)
    -> (tensor<f32> {train.binding = #train.binding<result "loss">}, tensor<f32> {train.binding = #train.binding<result "second_loss">}) {
  %a = sched.library "logits"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %l = sched.library "loss"(%a) {} : (tensor<64x64xf32>) -> tensor<f32>
  %b = sched.library "logits"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = sched.library "loss"(%b) {} : (tensor<64x64xf32>) -> tensor<f32>
  return %l, %m : tensor<f32>, tensor<f32>
}

// A rank's part moves along with the update that reads it, not in front of what it is a part of.
// CHECK-LABEL: func.func @part
// CHECK: sched.library "reader"
// CHECK: sched.library "whole"
// CHECK-NEXT: sched.library "dist.local_shard"
// CHECK-NEXT: sched.library "update"
func.func @part(%x: tensor<256xf32>, %w: tensor<4xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<256xf32>, tensor<4xf32>) {
  %r = sched.library "reader"(%w) {} : (tensor<4xf32>) -> tensor<4xf32>
  %v = sched.library "whole"(%x) {} : (tensor<256xf32>) -> tensor<256xf32>
  %p = sched.library "dist.local_shard"(%v) {axis = "data", ranks = 64 : i64} : (tensor<256xf32>) -> tensor<4xf32>
  %new = sched.library "update"(%w, %p) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %new, %v, %r : tensor<4xf32>, tensor<256xf32>, tensor<4xf32>
}

// A view of a part stays after it: the part waits for the update.
// CHECK-LABEL: func.func @view_of_part
// CHECK: sched.library "dist.local_shard"
// CHECK-NEXT: sched.view
// CHECK-NEXT: sched.library "update"
func.func @view_of_part(%x: tensor<64xf32>, %w: tensor<64x64xf32> {train.binding = #train.binding<state @matrix>})
    -> (tensor<64x64xf32> {train.binding = #train.binding<state @matrix>}) {
  %g = sched.library "gradient"(%x) {} : (tensor<64xf32>) -> tensor<64xf32>
  %p = sched.library "dist.local_shard"(%w) {axis = "data", ranks = 64 : i64} : (tensor<64x64xf32>) -> tensor<64xf32>
  %v = sched.view %p : tensor<64xf32> to tensor<8x8xf32>
  %new = sched.library "update"(%v, %g) {} : (tensor<8x8xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  return %new : tensor<64x64xf32>
}

// A stage of a pipeline passes the norm on before its own updates.
// CHECK-LABEL: func.func @stage
// CHECK: sched.library "norm"
// CHECK-NEXT: sched.library "dist.send"
// CHECK-NEXT: sched.library "update"
// CHECK-NEXT: sched.library "other"
func.func @stage(%x: tensor<64x64xf32>, %token: tensor<i64>, %w: tensor<64x64xf32> {train.binding = #train.binding<state @matrix>})
    -> (tensor<64x64xf32> {train.binding = #train.binding<state @matrix>}, tensor<i64> {train.binding = #train.binding<result "transfers">}, tensor<64x64xf32> {train.binding = #train.binding<output "y">}) {
  %g = sched.library "gradient"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = sched.library "norm"(%g) {} : (tensor<64x64xf32>) -> tensor<f32>
  %t = sched.library "dist.send"(%n, %token) {} : (tensor<f32>, tensor<i64>) -> tensor<i64>
  %o = sched.library "other"(%x) {} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %new = sched.library "update"(%w, %g, %n) {} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  return %new, %t, %o : tensor<64x64xf32>, tensor<i64>, tensor<64x64xf32>
}
