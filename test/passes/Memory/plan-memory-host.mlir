// RUN: kedge-opt %s --kedge-plan-memory --kedge-check-memory | FileCheck %s

// Both states lie in host memory; the update works in place on what was fetched. The value %a spends the middle of the
// function there, too.
// CHECK: train.state {{ *}}parameter @w {{.*}}exec.offset = 0
// CHECK: train.state {{ *}}moment1 @m {{.*}}exec.offset = 64
// CHECK: exec.arena {{[0-9]+}} persistent 0 align 64
// CHECK: exec.host_arena 192 persistent 128 align 64
// CHECK: exec.function @step
// CHECK: %[[W:.*]] = exec.buffer "w" in host at 0 size 64 live[-1, {{[0-9]+}}] tensor<16xf32> state @w
// CHECK: %[[M:.*]] = exec.buffer "m" in host at 64 size 64 live[-1, {{[0-9]+}}] tensor<16xf32> state @m
// CHECK: %[[H:.*]] = exec.buffer "" in host at 128 size 64 live[1, 3]
// CHECK: exec.launch "cluster" reads(%{{.*}}) writes(%[[A:.*]]) iterations
// CHECK: exec.copy %[[A]] to %[[H]] stream
// CHECK: exec.copy %[[H]] to %[[A2:.*]] stream {{.*}}offloaded = "frees 64 B"
// CHECK: exec.copy %[[W]] to %[[W2:.*]] stream
// CHECK: exec.copy %[[M]] to %[[M2:.*]] stream
// CHECK: exec.launch "cluster" reads(%[[W2]], %[[M2]], %[[A2]]) writes(%[[W2]], %[[M2]])
// CHECK: exec.copy %[[W2]] to %[[W]] stream
// CHECK: exec.copy %[[M2]] to %[[M]] stream
#id = affine_map<(d0) -> (d0)>
train.state parameter @w tensor<16xf32> {sched.host}
train.state moment1 @m tensor<16xf32> from unit {of = @w, sched.host}
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}, %w: tensor<16xf32> {train.binding = #train.binding<state @w>},
                %m: tensor<16xf32> {train.binding = #train.binding<state @m>})
    -> (tensor<16xf32> {train.binding = #train.binding<state @w>}, tensor<16xf32> {train.binding = #train.binding<state @m>}, tensor<16xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  %a = sched.cluster domain [16] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %p = arith.addf %s, %s : f32
    sched.yield %p : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %kept = sched.offload %a : tensor<16xf32>
  %y = sched.cluster domain [16] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %p = arith.mulf %s, %s : f32
    sched.yield %p : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %again = sched.fetch %kept {offloaded = "frees 64 B"} : tensor<16xf32>
  %here = sched.fetch %w : tensor<16xf32>
  %moment = sched.fetch %m : tensor<16xf32>
  %new:2 = sched.cluster domain [16] reduced [] (%here, %moment, %again) maps [#id, #id, #id] -> [#id, #id] {
  ^bb0(%s: f32, %t: f32, %u: f32):
    %p = arith.addf %s, %u : f32
    %q = arith.addf %t, %u : f32
    sched.yield %p, %q : f32, f32
  } : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %w1 = sched.offload %new#0 : tensor<16xf32>
  %m1 = sched.offload %new#1 : tensor<16xf32>
  return %w1, %m1, %y : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
