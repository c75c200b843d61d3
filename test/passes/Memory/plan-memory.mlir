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

// An output that other launches read lives until the host reads it, after the last launch.
// CHECK: exec.function @shown
// CHECK: exec.buffer "y" at {{[0-9]+}} size 64 live[0, 3]
// A square that is read along its columns is not overwritten along its rows.
// CHECK: exec.function @turned
// CHECK: %[[SQUARE:.*]] = exec.buffer "x"{{.*}}tensor<4x4xf32>
// CHECK: %[[TURNED:.*]] = exec.buffer ""{{.*}}tensor<4x4xf32>
// CHECK: exec.launch "cluster" reads(%[[SQUARE]]) writes(%[[SQUARE]])
// CHECK-NEXT: exec.launch "cluster" reads(%[[SQUARE]]) writes(%[[TURNED]])
// CHECK-NEXT: exec.launch "cluster" reads(%[[TURNED]])
#columns = affine_map<(d0, d1) -> (d1, d0)>
func.func @shown(%x: tensor<16xf32> {train.binding = #train.binding<input "x">})
    -> (tensor<16xf32> {train.binding = #train.binding<output "y">}, tensor<16xf32> {train.binding = #train.binding<output "z">}) {
  %y = sched.cluster domain [16] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %t = arith.negf %a : f32
    sched.yield %t : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %more = sched.cluster domain [16] reduced [] (%y) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %t = math.exp %a : f32
    sched.yield %t : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %z = sched.cluster domain [16] reduced [] (%more) maps [#id] -> [#id] {
  ^bb0(%a: f32):
    %t = math.sqrt %a : f32
    sched.yield %t : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %y, %z : tensor<16xf32>, tensor<16xf32>
}
func.func @turned(%x: tensor<4x4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) {
  %twice = sched.cluster domain [4, 4] reduced [] (%x) maps [#point] -> [#point] {
  ^bb0(%a: f32):
    %t = arith.addf %a, %a : f32
    sched.yield %t : f32
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %turned = sched.cluster domain [4, 4] reduced [] (%twice) maps [#columns] -> [#point] {
  ^bb0(%a: f32):
    %t = arith.negf %a : f32
    sched.yield %t : f32
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = sched.cluster domain [4, 4] reduced [1] (%turned) maps [#point] -> [#row] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<4x4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
