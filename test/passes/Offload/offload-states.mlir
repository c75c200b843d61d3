// RUN: kedge-opt %s --kedge-offload-states=states=optimizer | FileCheck %s --check-prefix=MOMENTS
// RUN: kedge-opt %s --kedge-offload-states=states=params | FileCheck %s --check-prefix=PARAMS
// RUN: kedge-opt %s --kedge-offload-states=states=gradients | FileCheck %s --check-prefix=NONE
// RUN: kedge-opt %s --kedge-offload-states=states=optimizer=/mnt/nvme,params | FileCheck %s --check-prefix=FILES
// RUN: not kedge-opt %s --kedge-offload-states=states=weights 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The moment is fetched for its update, and its new value copied out right behind it.
// MOMENTS: train.state parameter @w tensor<16xf32>{{$}}
// MOMENTS: train.state moment1 @w.moment1 {{.*}}sched.host
// MOMENTS-LABEL: func.func @step(
// MOMENTS: sched.library "far"(%5)
// MOMENTS-NEXT: %[[M:.*]] = sched.fetch %arg2 {kedge.place = #transfer_{{.*}}} : tensor<16xf32>
// MOMENTS-NEXT: %[[NEW:.*]]:2 = sched.cluster domain [16] reduced [](%{{.*}}, %arg1, %[[M]])
// MOMENTS: %[[OUT:.*]] = sched.offload %[[NEW]]#1
// MOMENTS: return %[[NEW]]#0, %[[OUT]]

// The parameter is fetched twice: its first two readers share a copy, one under another shape; the update is too far
// away. @eval fetches it, too; what comes back unchanged stays where it is.
// PARAMS: train.state parameter @w {{.*}}sched.host
// PARAMS-LABEL: func.func @step(
// PARAMS: %[[W:.*]] = sched.fetch %arg1
// PARAMS-NEXT: %[[V:.*]] = sched.view %[[W]] : tensor<16xf32> to tensor<4x4xf32>
// PARAMS-NEXT: sched.library "first"(%arg0, %[[W]])
// PARAMS: sched.library "second"(%{{.*}}, %[[V]])
// PARAMS: %[[W2:.*]] = sched.fetch %arg1
// PARAMS-NEXT: %[[NEW:.*]]:2 = sched.cluster domain [16] reduced [](%{{.*}}, %[[W2]], %arg2)
// PARAMS: %[[OUT:.*]] = sched.offload %[[NEW]]#0
// PARAMS: return %[[OUT]], %[[NEW]]#1
// PARAMS-LABEL: func.func @eval(
// PARAMS: %[[E:.*]] = sched.fetch %arg1
// PARAMS: sched.library "first"(%arg0, %[[E]])
// PARAMS: return %{{.*}}, %arg1

// In a file only what its copies cost differs.
// FILES: train.state parameter @w {{.*}}{sched.host}
// FILES: train.state moment1 @w.moment1 {{.*}}sched.disk = "/mnt/nvme", sched.host}
// FILES: sched.fetch %arg1 {kedge.place
// FILES: sched.fetch %arg2 {disk, kedge.place
// FILES: sched.offload %{{.*}}#1 {disk} :
// FILES: sched.offload %{{.*}}#0 :

// NONE-NOT: sched.fetch
// NONE-NOT: sched.offload

// UNKNOWN: for the --states option: 'weights': expected optimizer, gradients, params, activations
#id = affine_map<(d0) -> (d0)>
train.state parameter @w tensor<16xf32>
train.state moment1 @w.moment1 tensor<16xf32> from unit {of = @w}
func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}, %w: tensor<16xf32> {train.binding = #train.binding<state @w>},
                %m: tensor<16xf32> {train.binding = #train.binding<state @w.moment1>})
    -> (tensor<16xf32> {train.binding = #train.binding<state @w>}, tensor<16xf32> {train.binding = #train.binding<state @w.moment1>}) attributes {train.kind = #train.kind<step>} {
  %a = sched.library "first"(%x, %w) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %v = sched.view %w : tensor<16xf32> to tensor<4x4xf32>
  %b = sched.library "second"(%a, %v) {} : (tensor<16xf32>, tensor<4x4xf32>) -> tensor<16xf32>
  %c = sched.library "far"(%b) {} : (tensor<16xf32>) -> tensor<16xf32>
  %d = sched.library "far"(%c) {} : (tensor<16xf32>) -> tensor<16xf32>
  %e = sched.library "far"(%d) {} : (tensor<16xf32>) -> tensor<16xf32>
  %f = sched.library "far"(%e) {} : (tensor<16xf32>) -> tensor<16xf32>
  %new:2 = sched.cluster domain [16] reduced [] (%f, %w, %m) maps [#id, #id, #id] -> [#id, #id] {
  ^bb0(%s: f32, %t: f32, %u: f32):
    %p = arith.addf %s, %t : f32
    %q = arith.addf %s, %u : f32
    sched.yield %p, %q : f32, f32
  } : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %new#0, %new#1 : tensor<16xf32>, tensor<16xf32>
}
func.func @eval(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}, %w: tensor<16xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<16xf32> {train.binding = #train.binding<output "y">}, tensor<16xf32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<eval>} {
  %a = sched.library "first"(%x, %w) {} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %a, %w : tensor<16xf32>, tensor<16xf32>
}
