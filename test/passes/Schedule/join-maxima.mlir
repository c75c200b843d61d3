// RUN: kedge-opt %s --split-input-file --kedge-join-maxima --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// RUN: kedge-opt %s --split-input-file --kedge-join-maxima=most=127 --kedge-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEW
// STATISTICS: 22 kedge-join-maxima clusters joined
// FEW: 0 kedge-join-maxima clusters joined

// Rows of two weights, then what is folded of their maxima: one cluster each, in front of what reads them.
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#zero = affine_map<(d0, d1) -> ()>
train.state parameter @w0 tensor<4x16xbf16>
train.state parameter @w1 tensor<4x16xbf16>
// CHECK-LABEL: func.func @weights
// CHECK-SAME: %[[W0:.*]]: tensor<4x16xbf16> {{{.*}}}, %[[W1:.*]]: tensor<4x16xbf16>
// CHECK-NEXT: %[[M:.*]]:2 = sched.cluster domain [4, 16] reduced [1](%[[W0]], %[[W1]])
// CHECK: %[[A:.*]] = math.absf
// CHECK-NEXT: %[[FIRST:.*]] = sched.reduce max %[[A]]
// CHECK: %[[B:.*]] = math.absf
// CHECK-NEXT: %[[SECOND:.*]] = sched.reduce max %[[B]]
// CHECK-NEXT: sched.yield %[[SECOND]], %[[FIRST]]
// CHECK: %[[S:.*]]:2 = sched.cluster domain [4] reduced [0](%[[M]]#1, %[[M]]#0)
// CHECK: sched.cluster domain [4, 16] reduced [](%[[W0]], %[[S]]#1)
// CHECK: sched.cluster domain [4, 16] reduced [](%[[W1]], %[[S]]#0)
func.func @weights(%w0: tensor<4x16xbf16> {train.binding = #train.binding<state @w0>}, %w1: tensor<4x16xbf16> {train.binding = #train.binding<state @w1>}) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %m0 = sched.cluster domain [4, 16] reduced [1] (%w0) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %s0 = sched.cluster domain [4] reduced [0] (%m0) maps [#one] -> [#none] {
  ^bb0(%a: bf16):
    %0 = sched.reduce max %a : bf16
    %1 = arith.extf %0 : bf16 to f32
    sched.yield %1 : f32
  } : (tensor<4xbf16>) -> tensor<f32>
  %c0 = sched.cluster domain [4, 16] reduced [] (%w0, %s0) maps [#all, #zero] -> [#all] {
  ^bb0(%a: bf16, %b: f32):
    %0 = arith.truncf %b : f32 to bf16
    %1 = arith.mulf %a, %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>, tensor<f32>) -> tensor<4x16xbf16>
  %m1 = sched.cluster domain [4, 16] reduced [1] (%w1) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %s1 = sched.cluster domain [4] reduced [0] (%m1) maps [#one] -> [#none] {
  ^bb0(%a: bf16):
    %0 = sched.reduce max %a : bf16
    %1 = arith.extf %0 : bf16 to f32
    sched.yield %1 : f32
  } : (tensor<4xbf16>) -> tensor<f32>
  %c1 = sched.cluster domain [4, 16] reduced [] (%w1, %s1) maps [#all, #zero] -> [#all] {
  ^bb0(%a: bf16, %b: f32):
    %0 = arith.truncf %b : f32 to bf16
    %1 = arith.mulf %a, %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>, tensor<f32>) -> tensor<4x16xbf16>
  return %c0, %c1 : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// -----

// More than a cluster may read: sixteen, then two. The first is at the front already.
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#zero = affine_map<(d0, d1) -> ()>
train.state parameter @w0 tensor<4x16xbf16>
train.state parameter @w1 tensor<4x16xbf16>
train.state parameter @w2 tensor<4x16xbf16>
train.state parameter @w3 tensor<4x16xbf16>
train.state parameter @w4 tensor<4x16xbf16>
train.state parameter @w5 tensor<4x16xbf16>
train.state parameter @w6 tensor<4x16xbf16>
train.state parameter @w7 tensor<4x16xbf16>
train.state parameter @w8 tensor<4x16xbf16>
train.state parameter @w9 tensor<4x16xbf16>
train.state parameter @w10 tensor<4x16xbf16>
train.state parameter @w11 tensor<4x16xbf16>
train.state parameter @w12 tensor<4x16xbf16>
train.state parameter @w13 tensor<4x16xbf16>
train.state parameter @w14 tensor<4x16xbf16>
train.state parameter @w15 tensor<4x16xbf16>
train.state parameter @w16 tensor<4x16xbf16>
train.state parameter @w17 tensor<4x16xbf16>
// CHECK-LABEL: func.func @many
// CHECK: %{{.*}}:16 = sched.cluster
// CHECK: %{{.*}}:2 = sched.cluster
// CHECK-NOT: sched.cluster
func.func @many(%w0: tensor<4x16xbf16> {train.binding = #train.binding<state @w0>}, %w1: tensor<4x16xbf16> {train.binding = #train.binding<state @w1>}, %w2: tensor<4x16xbf16> {train.binding = #train.binding<state @w2>}, %w3: tensor<4x16xbf16> {train.binding = #train.binding<state @w3>}, %w4: tensor<4x16xbf16> {train.binding = #train.binding<state @w4>}, %w5: tensor<4x16xbf16> {train.binding = #train.binding<state @w5>}, %w6: tensor<4x16xbf16> {train.binding = #train.binding<state @w6>}, %w7: tensor<4x16xbf16> {train.binding = #train.binding<state @w7>}, %w8: tensor<4x16xbf16> {train.binding = #train.binding<state @w8>}, %w9: tensor<4x16xbf16> {train.binding = #train.binding<state @w9>}, %w10: tensor<4x16xbf16> {train.binding = #train.binding<state @w10>}, %w11: tensor<4x16xbf16> {train.binding = #train.binding<state @w11>}, %w12: tensor<4x16xbf16> {train.binding = #train.binding<state @w12>}, %w13: tensor<4x16xbf16> {train.binding = #train.binding<state @w13>}, %w14: tensor<4x16xbf16> {train.binding = #train.binding<state @w14>}, %w15: tensor<4x16xbf16> {train.binding = #train.binding<state @w15>}, %w16: tensor<4x16xbf16> {train.binding = #train.binding<state @w16>}, %w17: tensor<4x16xbf16> {train.binding = #train.binding<state @w17>}) -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  %m0 = sched.cluster domain [4, 16] reduced [1] (%w0) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m1 = sched.cluster domain [4, 16] reduced [1] (%w1) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m2 = sched.cluster domain [4, 16] reduced [1] (%w2) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m3 = sched.cluster domain [4, 16] reduced [1] (%w3) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m4 = sched.cluster domain [4, 16] reduced [1] (%w4) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m5 = sched.cluster domain [4, 16] reduced [1] (%w5) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m6 = sched.cluster domain [4, 16] reduced [1] (%w6) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m7 = sched.cluster domain [4, 16] reduced [1] (%w7) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m8 = sched.cluster domain [4, 16] reduced [1] (%w8) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m9 = sched.cluster domain [4, 16] reduced [1] (%w9) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m10 = sched.cluster domain [4, 16] reduced [1] (%w10) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m11 = sched.cluster domain [4, 16] reduced [1] (%w11) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m12 = sched.cluster domain [4, 16] reduced [1] (%w12) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m13 = sched.cluster domain [4, 16] reduced [1] (%w13) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m14 = sched.cluster domain [4, 16] reduced [1] (%w14) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m15 = sched.cluster domain [4, 16] reduced [1] (%w15) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m16 = sched.cluster domain [4, 16] reduced [1] (%w16) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m17 = sched.cluster domain [4, 16] reduced [1] (%w17) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  return %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7, %m8, %m9, %m10, %m11, %m12, %m13, %m14, %m15, %m16, %m17 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
}

// -----

// What is no state, sums, and maxima of a sum stay; so does a weight that is alone with its shape.
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
#zero = affine_map<(d0, d1) -> ()>
train.state parameter @w0 tensor<4x16xbf16>
train.state parameter @w1 tensor<4x16xbf16>
// CHECK-LABEL: func.func @stay
// CHECK: %[[C:.*]] = sched.view
// CHECK: sched.cluster domain [4, 16] reduced [1](%[[C]])
// CHECK-NOT: :2 = sched.cluster
func.func @stay(%x: tensor<64xbf16>, %w0: tensor<4x16xbf16> {train.binding = #train.binding<state @w0>}, %w1: tensor<4x16xbf16> {train.binding = #train.binding<state @w1>}) -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>) {
  %v = sched.view %x : tensor<64xbf16> to tensor<4x16xbf16>
  %mx = sched.cluster domain [4, 16] reduced [1] (%v) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %m0 = sched.cluster domain [4, 16] reduced [1] (%w0) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce max %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %sum = sched.cluster domain [4, 16] reduced [1] (%w1) maps [#all] -> [#row] {
  ^bb0(%a: bf16):
    %0 = math.absf %a : bf16
    %1 = sched.reduce add %0 : bf16
    sched.yield %1 : bf16
  } : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %s1 = sched.cluster domain [4] reduced [0] (%sum) maps [#one] -> [#none] {
  ^bb0(%a: bf16):
    %0 = sched.reduce max %a : bf16
    %1 = arith.extf %0 : bf16 to f32
    sched.yield %1 : f32
  } : (tensor<4xbf16>) -> tensor<f32>
  return %mx, %m0, %sum, %s1 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>
}
