// RUN: kedge-opt %s --split-input-file --kedge-join-partial-sums --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// RUN: kedge-opt %s --split-input-file --kedge-join-partial-sums=held=300 | FileCheck %s --check-prefix=HELD
// STATISTICS: 3 kedge-join-partial-sums joins moved

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#blocks = affine_map<(d0, d1, d2) -> (d0, d1 floordiv 16, d2)>
#last = affine_map<(d0, d1, d2) -> (d2)>
#one = affine_map<(d0) -> (d0)>

// All three sums stand at the place of the last, in their order, and the update that reads the first follows. Of 128 bytes
// of partial sums each, two fit 300.
// CHECK-LABEL: func.func @step
// CHECK: %[[A:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg0)
// CHECK: %[[B:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg1)
// CHECK: %[[C:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg2)
// CHECK: %[[S:.*]] = sched.cluster domain [2, 2, 8] {{.*}}(%[[A]]#1)
// CHECK: sched.cluster domain [2, 2, 8] {{.*}}(%[[B]]#1)
// CHECK: sched.cluster domain [2, 2, 8] {{.*}}(%[[C]]#1)
// CHECK: sched.cluster domain [8] reduced [](%arg3, %[[S]])
// HELD-LABEL: func.func @step
// HELD: %[[A:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg0)
// HELD: %[[B:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg1)
// HELD: sched.cluster domain [2, 2, 8] {{.*}}(%[[A]]#1)
// HELD: sched.cluster domain [2, 2, 8] {{.*}}(%[[B]]#1)
// HELD: sched.cluster domain [8]
// HELD: %[[C:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg2)
// HELD: sched.cluster domain [2, 2, 8] {{.*}}(%[[C]]#1)
train.state parameter @w tensor<8xf32>
func.func @step(%x: tensor<2x32x8xf32>, %y: tensor<2x32x8xf32>, %z: tensor<2x32x8xf32>, %wa: tensor<8xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32> {train.binding = #train.binding<state @w>}) {
  %a, %pa = sched.cluster domain [2, 32, 8] reduced [] (%x) maps [#all] -> [#all, #blocks] {
  ^bb0(%v: f32):
    %0 = math.tanh %v : f32
    %1 = sched.sum %0 : f32
    sched.yield %0, %1 : f32, f32
  } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
  %sa = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pa) maps [#all] -> [#last] {
  ^bb0(%v: f32):
    %0 = sched.reduce add %v : f32
    sched.yield %0 : f32
  } : (tensor<2x2x8xf32>) -> tensor<8xf32>
  %newa = sched.cluster domain [8] reduced [] (%wa, %sa) maps [#one, #one] -> [#one] {
  ^bb0(%old: f32, %g: f32):
    %0 = arith.subf %old, %g : f32
    sched.yield %0 : f32
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b, %pb = sched.cluster domain [2, 32, 8] reduced [] (%y) maps [#all] -> [#all, #blocks] {
  ^bb0(%v: f32):
    %0 = math.tanh %v : f32
    %1 = sched.sum %0 : f32
    sched.yield %0, %1 : f32, f32
  } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
  %sb = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pb) maps [#all] -> [#last] {
  ^bb0(%v: f32):
    %0 = sched.reduce add %v : f32
    sched.yield %0 : f32
  } : (tensor<2x2x8xf32>) -> tensor<8xf32>
  %c, %pc = sched.cluster domain [2, 32, 8] reduced [] (%z) maps [#all] -> [#all, #blocks] {
  ^bb0(%v: f32):
    %0 = math.tanh %v : f32
    %1 = sched.sum %0 : f32
    sched.yield %0, %1 : f32, f32
  } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
  %sc = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pc) maps [#all] -> [#last] {
  ^bb0(%v: f32):
    %0 = sched.reduce add %v : f32
    sched.yield %0 : f32
  } : (tensor<2x2x8xf32>) -> tensor<8xf32>
  return %a, %b, %c, %sb, %sc, %newa : tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#blocks = affine_map<(d0, d1, d2) -> (d0, d1 floordiv 16, d2)>
#last = affine_map<(d0, d1, d2) -> (d2)>
#one = affine_map<(d0) -> (d0)>

// A product reads the first sum, so it stays; the second may wait for the third.
// CHECK-LABEL: func.func @stays
// CHECK: %[[A:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg0)
// CHECK: sched.cluster domain [2, 2, 8] {{.*}}(%[[A]]#1)
// CHECK: sched.library "onnx.MatMul"
// CHECK: %[[B:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg1)
// CHECK: %[[C:.*]]:2 = sched.cluster domain [2, 32, 8] {{.*}}(%arg2)
// CHECK: sched.cluster domain [2, 2, 8] {{.*}}(%[[B]]#1)
// CHECK: sched.cluster domain [2, 2, 8] {{.*}}(%[[C]]#1)
func.func @stays(%x: tensor<2x32x8xf32>, %y: tensor<2x32x8xf32>, %z: tensor<2x32x8xf32>, %m: tensor<8x8xf32>)
    -> (tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a, %pa = sched.cluster domain [2, 32, 8] reduced [] (%x) maps [#all] -> [#all, #blocks] {
  ^bb0(%v: f32):
    %0 = math.tanh %v : f32
    %1 = sched.sum %0 : f32
    sched.yield %0, %1 : f32, f32
  } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
  %sa = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pa) maps [#all] -> [#last] {
  ^bb0(%v: f32):
    %0 = sched.reduce add %v : f32
    sched.yield %0 : f32
  } : (tensor<2x2x8xf32>) -> tensor<8xf32>
  %product = sched.library "onnx.MatMul"(%sa, %m) {transA = false, transB = false} : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  %b, %pb = sched.cluster domain [2, 32, 8] reduced [] (%y) maps [#all] -> [#all, #blocks] {
  ^bb0(%v: f32):
    %0 = math.tanh %v : f32
    %1 = sched.sum %0 : f32
    sched.yield %0, %1 : f32, f32
  } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
  %sb = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pb) maps [#all] -> [#last] {
  ^bb0(%v: f32):
    %0 = sched.reduce add %v : f32
    sched.yield %0 : f32
  } : (tensor<2x2x8xf32>) -> tensor<8xf32>
  %c, %pc = sched.cluster domain [2, 32, 8] reduced [] (%z) maps [#all] -> [#all, #blocks] {
  ^bb0(%v: f32):
    %0 = math.tanh %v : f32
    %1 = sched.sum %0 : f32
    sched.yield %0, %1 : f32, f32
  } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
  %sc = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pc) maps [#all] -> [#last] {
  ^bb0(%v: f32):
    %0 = sched.reduce add %v : f32
    sched.yield %0 : f32
  } : (tensor<2x2x8xf32>) -> tensor<8xf32>
  return %a, %b, %c, %sb, %sc, %product : tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
