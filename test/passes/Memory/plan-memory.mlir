// RUN: kedge-opt %s --kedge-plan-memory --kedge-check-memory | FileCheck %s

// The new state is written over the old one.
// CHECK: train.state {{ *}}parameter @w tensor<16xf32> {{.*}}exec.offset = 0
// CHECK: exec.arena 576 persistent 64 align 64
// CHECK: exec.function @step
// CHECK: %[[X:.*]] = exec.buffer "x" at 64 size 64 live[-1, 0] tensor<16xf32> binds [#train.binding<input "x">]
// CHECK: %[[W:.*]] = exec.buffer "w" at 0 size 64 live[-1, 1] tensor<16xf32> state @w
// CHECK: exec.launch "cluster" reads(%[[X]], %[[W]]) writes(%[[W]])
#id = affine_map<(d0) -> (d0)>
train.state parameter @w tensor<16xf32>
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}, %w: tensor<16xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<16xf32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<step>} {
  %new = sched.cluster domain [16] reduced [] (%x, %w) maps [#id, #id] -> [#id] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    sched.yield %c : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %new : tensor<16xf32>
}

// What is computed again says why, on level 4 too.
// CHECK: exec.function @eval
// CHECK: exec.launch {{.*}}recomputed = "frees 1 MiB"
func.func @eval(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<16xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<eval>} {
  %new = sched.cluster domain [16] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    sched.yield %a : f32
  } {recomputed = "frees 1 MiB"} : (tensor<16xf32>) -> tensor<16xf32>
  return %new : tensor<16xf32>
}

// A cluster that folds writes its points over an input that dies there: the folds of a row come before its points, and no other
// row reads them. Not where several rows read the same elements.
// CHECK: exec.function @predict
// CHECK: %[[ROWS:.*]] = exec.buffer "x"
// CHECK: %[[OTHER:.*]] = exec.buffer {{.*}}tensor<4x16xf32>
// CHECK: exec.launch "cluster" reads(%[[ROWS]]) writes(%[[ROWS]])
// CHECK: exec.launch "cluster" reads(%[[ROWS]]) writes(%[[ROWS]])
// CHECK: exec.launch "cluster" reads(%[[ROWS]]) writes(%[[OTHER]])
#point = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#shared = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @predict(%x: tensor<4x16xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<predict>} {
  %twice = sched.cluster domain [4, 16] reduced [] (%x) maps [#point] -> [#point] {
  ^bb0(%a: f32):
    %t = arith.addf %a, %a : f32
    sched.yield %t : f32
  } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %shares = sched.cluster domain [4, 16] reduced [1] (%twice) maps [#point] -> [#point] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    %t = arith.divf %a, %s : f32
    sched.yield %t : f32
  } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %again = sched.cluster domain [2, 4, 16] reduced [2] (%shares) maps [#shared] -> [#shared] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    %t = arith.divf %a, %s : f32
    sched.yield %t : f32
  } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = sched.cluster domain [4, 16] reduced [1] (%again) maps [#point] -> [#row] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<4x16xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
