// RUN: kedge-opt %s --kedge-plan-memory --kedge-place-copies --kedge-check-memory | FileCheck %s
// RUN: sed 's|, sched.disk = "/disk"||; s| {disk}||' %s | kedge-opt --kedge-plan-memory --kedge-place-copies | FileCheck %s --check-prefix=ALONE

// Three values of 256 bytes are live at first, then two. There @b is read from its file while @a's update runs, and @a's new value
// stays in the arena until it is in the file. The arena is as large as where @b takes @a's place, which is what copies within
// memory do on a CPU: nothing would run next to them.
// CHECK: exec.arena 768 persistent 0
// CHECK: exec.copy {{.*}} stream 1 {{.*}}records [[A:[0-9]+]]
// CHECK: exec.copy {{.*}} stream 1 records [[B:[0-9]+]]
// CHECK: exec.launch "cluster" {{.*}} waits {{\[}}[[A]]{{\]}} records [[NEW:[0-9]+]]
// CHECK: exec.copy {{.*}} stream 2 waits {{\[}}[[NEW]]{{\]}} tensor
// CHECK: exec.launch "cluster" {{.*}} waits {{\[}}[[B]]{{\]}} records
// ALONE: exec.arena 768 persistent 0
// ALONE: exec.copy {{.*}} stream 2 {{.*}}records [[WRITTEN:[0-9]+]]
// ALONE: exec.copy {{.*}} stream 1 waits {{\[}}[[WRITTEN]]{{\]}}
#id = affine_map<(d0) -> (d0)>
train.state parameter @a tensor<64xf32> {sched.host, sched.disk = "/disk"}
train.state parameter @b tensor<64xf32> {sched.host, sched.disk = "/disk"}
func.func @step(%x: tensor<64xf32> {train.binding = #train.binding<input "x">}, %a: tensor<64xf32> {train.binding = #train.binding<state @a>},
                %b: tensor<64xf32> {train.binding = #train.binding<state @b>})
    -> (tensor<64xf32> {train.binding = #train.binding<state @a>}, tensor<64xf32> {train.binding = #train.binding<state @b>}) attributes {train.kind = #train.kind<step>} {
  %wide:2 = sched.cluster domain [64] reduced [] (%x) maps [#id] -> [#id, #id] {
  ^bb0(%s: f32):
    %p = arith.addf %s, %s : f32
    %q = arith.mulf %s, %s : f32
    sched.yield %p, %q : f32, f32
  } : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %g = sched.cluster domain [64] reduced [] (%wide#0, %wide#1, %x) maps [#id, #id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32, %u: f32):
    %p = arith.addf %s, %t : f32
    %q = arith.addf %p, %u : f32
    sched.yield %q : f32
  } : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %a0 = sched.fetch %a {disk} : tensor<64xf32>
  %a1 = sched.cluster domain [64] reduced [] (%a0, %g) maps [#id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32):
    %p = arith.subf %s, %t : f32
    sched.yield %p : f32
  } : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %a2 = sched.offload %a1 {disk} : tensor<64xf32>
  %b0 = sched.fetch %b {disk} : tensor<64xf32>
  %b1 = sched.cluster domain [64] reduced [] (%b0, %g) maps [#id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32):
    %p = arith.subf %s, %t : f32
    sched.yield %p : f32
  } : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %b2 = sched.offload %b1 {disk} : tensor<64xf32>
  return %a2, %b2 : tensor<64xf32>, tensor<64xf32>
}
