// RUN: kedge-opt %s --kedge-choose-recompute="policy=none device=h100 threads=2" --kedge-price-values="numbers=step#1 device=h100 threads=2" --kedge-statistics 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-choose-recompute="policy=none device=h100 threads=2" --kedge-price-values="numbers=step#1 force=recompute device=h100 threads=2" --kedge-insert-recompute | FileCheck %s --check-prefix=AGAIN
// RUN: kedge-opt %s --kedge-choose-recompute="policy=none device=h100 threads=2" --kedge-price-values="numbers=step#1 force=offload device=h100 threads=2" --kedge-insert-recompute | FileCheck %s --check-prefix=AWAY
// RUN: kedge-opt %s --kedge-choose-recompute="policy=full device=h100 threads=2" --kedge-price-values="numbers=step#1 force=keep device=h100 threads=2" --kedge-insert-recompute | FileCheck %s --check-prefix=KEPT
// RUN: not kedge-opt %s --kedge-price-values="numbers=step#1" 2>&1 | FileCheck %s --check-prefix=UNPLANNED
// RUN: not kedge-opt %s --kedge-choose-recompute="policy=none" --kedge-price-values="numbers=step#1 force=drop" 2>&1 | FileCheck %s --check-prefix=DROP
// RUN: not kedge-opt %s --kedge-choose-recompute="policy=none" --kedge-price-values="force=keep" 2>&1 | FileCheck %s --check-prefix=NOTHING

// A value that backward reads again: without it in between, the peak is lower; again costs time, a copy to the host more.
// CHECK: chosen = "keep"
// CHECK-SAME: keep = {peak_bytes = {{[0-9]+}} : i64
// CHECK-SAME: offload = {peak_bytes =
// CHECK-SAME: recompute = {peak_bytes =
// CHECK: kedge-price-values
// CHECK-SAME: values priced
// AGAIN: clone = 1
// AWAY: sched.offload
// AWAY: sched.fetch
// KEPT: clone = 1
// KEPT-NOT: clone = 2
// UNPLANNED: error: the module has no plan: run kedge-choose-recompute first
// DROP: error: force 'drop': expected keep, recompute, offload
// NOTHING: error: force keep: expected one value to decide about, found 0
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
