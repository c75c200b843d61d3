// RUN: kedge-opt %s --kedge-choose-recompute="policy=full device=h100 threads=2" | FileCheck %s --check-prefix=FULL
// RUN: kedge-opt %s --kedge-choose-recompute="budget=activations=80% device=h100 threads=2" | FileCheck %s --check-prefix=BUDGET
// RUN: kedge-opt %s --kedge-choose-recompute="search=quick budget=activations=80% device=h100 threads=2" | FileCheck %s --check-prefix=BUDGET
// RUN: kedge-opt %s --kedge-choose-recompute="search=quick budget=activations=60% device=h100 threads=2" | FileCheck %s --check-prefix=PROVEN
// RUN: kedge-opt %s --kedge-choose-recompute="search=policies budget=activations=80% device=h100 threads=2" | FileCheck %s --check-prefix=POLICIES
// RUN: kedge-opt %s --kedge-choose-recompute="search=policies offload budget=activations=80% device=h100 threads=2" | FileCheck %s --check-prefix=BUDGET
// RUN: kedge-opt %s --kedge-choose-recompute="search=smallest budget=activations=80% device=h100 threads=2" | FileCheck %s --check-prefix=BUDGET
// RUN: kedge-opt %s --kedge-choose-recompute="policy=none budget=1000 device=h100 threads=2" | FileCheck %s --check-prefix=NONE
// RUN: kedge-opt %s --kedge-rematerialize="budget=activations=80% device=h100 threads=2" --kedge-plan-memory --kedge-check-memory | FileCheck %s --check-prefix=PLANNED
// RUN: kedge-opt %s --kedge-plan-memory | FileCheck %s --check-prefix=KEPT
// RUN: kedge-opt %s --kedge-choose-recompute="policy=none offload device=h100 threads=2" | FileCheck %s --check-prefix=OFFLOAD
// RUN: kedge-opt %s --kedge-choose-recompute="policy=full offload device=h100 threads=2" | FileCheck %s --check-prefix=BOTH
// RUN: kedge-opt %s --kedge-choose-recompute="policy=none offload budget=activations=80% host-budget=4096 device=h100 threads=2" | FileCheck %s --check-prefix=HOST
// RUN: kedge-opt %s --kedge-rematerialize="policy=none offload device=h100 threads=2" --kedge-plan-memory --kedge-check-memory | FileCheck %s --check-prefix=ARENAS

// Two blocks of two exponentials, each kept for its gradient: in all four values of 4 KiB beside the input and what
// runs. `full` keeps the value between the blocks (launch 1) and makes launches 2 and 0 again for the gradients.
// FULL: sched.recompute = #sched.recompute<policy = "full", fits = true
// FULL-SAME: ops = 2
// FULL-SAME: blocks = ["h.0", "h.1"]
// FULL: func.func @step
// FULL-SAME: sched.sequence = array<i64: 0, 1, 2, 3, 4, 2, 5, 6, 0, 7>

// BUDGET: sched.recompute = #sched.recompute<
// BUDGET-SAME: fits = true
// BUDGET-SAME: budget_bytes
// BUDGET: sched.sequence

// It is proven that nothing fits: nothing is searched for, and no smallest budget is made up.
// PROVEN: sched.recompute = #sched.recompute<policy = "auto", fits = false
// PROVEN-SAME: unconstrained_peak_bytes = [[PEAK:[0-9]+]]
// PROVEN-SAME: smallest_feasible_bytes = [[PEAK]]
// PROVEN-NOT: sched.sequence

// A plan fits that no policy makes.
// POLICIES: sched.recompute = #sched.recompute<policy = "auto", fits = false
// POLICIES-NOT: sched.sequence

// NONE: sched.recompute = #sched.recompute<
// NONE-SAME: fits = false
// NONE-SAME: budget_bytes = 1000
// NONE-NOT: sched.sequence

// Three values of 4 KiB at once instead of four, beside 64 bytes for the loss; the last launch but two runs again.
// KEPT: exec.arena 16448 persistent 64
// PLANNED: exec.arena 12352 persistent 64
// PLANNED-COUNT-6: exec.launch
// PLANNED: exec.launch {{.*}} {kedge.place = #forward_h_0_1, recomputed = "frees 4.00 KiB from launch 2 to 6"}
// PLANNED-NEXT: exec.launch
// PLANNED-NEXT: exec.launch
// PLANNED-NOT: exec.launch

// Without a budget what the backward part reads goes as far as that lowers the peak.
// OFFLOAD: sched.recompute = #sched.recompute<
// OFFLOAD-SAME: ops = 0
// OFFLOAD: func.func @step
// OFFLOAD-SAME: sched.offloadable = array<i64: 1, 2, 3
// OFFLOAD-SAME: sched.sequence

// What `full` keeps (the value between the blocks, number 2) goes, what it drops is computed again.
// BOTH: sched.recompute = #sched.recompute<
// BOTH-SAME: ops = 2
// BOTH: sched.sequence

// One value of 4 KiB fits.
// HOST: sched.offloadable = array<i64: {{[0-9]+}}>

// ARENAS: exec.arena 12352 persistent 64
// ARENAS: exec.host_arena 4096 persistent 0
// ARENAS: %[[STORED:.*]] = exec.buffer "{{.*}}" in host at 0 size 4096 live[1, 8]
// ARENAS: exec.copy %[[VALUE:.*]] to %[[STORED]] stream
// ARENAS: exec.copy %[[STORED]] to %{{.*}} stream {{.*}}offloaded = "frees 4.00 KiB from launch
#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @step(%x: tensor<1024xf32> {train.binding = #train.binding<input "x">})
    -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}, tensor<1024xf32> {train.binding = #train.binding<output "dx">}) attributes {train.kind = #train.kind<step>} {
  %a = sched.cluster domain [1024] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %e = math.exp %s : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<forward "h.0", "exp">} : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = sched.cluster domain [1024] reduced [] (%a) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %e = math.exp %s : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<forward "h.0", "exp2">} : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = sched.cluster domain [1024] reduced [] (%b) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %e = math.exp %s : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<forward "h.1", "exp">} : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = sched.cluster domain [1024] reduced [] (%c) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %e = math.exp %s : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<forward "h.1", "exp2">} : (tensor<1024xf32>) -> tensor<1024xf32>
  %loss = sched.cluster domain [1024] reduced [0] (%d) maps [#id] -> [#none] {
  ^bb0(%s: f32):
    %e = sched.reduce add %s : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<forward "", "loss">} : (tensor<1024xf32>) -> tensor<f32>
  %dd = sched.cluster domain [1024] reduced [] (%d, %c) maps [#id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32):
    %e = arith.mulf %s, %t : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<backward "", "g">} : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %dc = sched.cluster domain [1024] reduced [] (%dd, %b) maps [#id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32):
    %e = arith.mulf %s, %t : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<backward "", "g">} : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %db = sched.cluster domain [1024] reduced [] (%dc, %a) maps [#id, #id] -> [#id] {
  ^bb0(%s: f32, %t: f32):
    %e = arith.mulf %s, %t : f32
    sched.yield %e : f32
  } {kedge.place = #kedge.place<backward "", "g">} : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %loss, %db : tensor<f32>, tensor<1024xf32>
}
