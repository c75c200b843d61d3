// RUN: kedge-opt %s --split-input-file --kedge-sum-columns=blocks=4 --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 3 kedge-sum-columns clusters joined
// RUN: kedge-opt %s --split-input-file --kedge-sum-columns | FileCheck %s --check-prefix=FEW

#same = affine_map<(b, t, c) -> (b, t, c)>
#row = affine_map<(b, t, c) -> (b, t, 0)>
#column = affine_map<(b, t, c) -> (c)>

// The gradient of a norm, those of its scale and bias, and that of the bias in front of it, which folds the stored bf16 numbers.
// What reads the columns' sums stays behind them. Blocks of 16 rows: the fewest that pay.
// CHECK-LABEL: func.func @norm
// CHECK: %[[ALL:.*]]:4 = sched.cluster domain [2, 32, 8] reduced [2](%{{.*}}, %{{.*}}, %{{.*}}) maps
// CHECK-SAME: -> [#{{.*}}, #[[BLOCK:.*]], #[[BLOCK]], #[[BLOCK]]]
// CHECK: %[[Y:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK: sched.sum %{{.*}} : f32
// CHECK: %[[WIDE:.*]] = arith.extf %[[Y]] : bf16 to f32
// CHECK: sched.sum %[[WIDE]] : f32
// CHECK: -> (tensor<2x32x8xbf16>, tensor<2x2x8xf32>, tensor<2x2x8xf32>, tensor<2x2x8xf32>)
// CHECK: %[[SUMS:.*]]:3 = sched.cluster domain [2, 2, 8] reduced [0, 1](%[[ALL]]#1, %[[ALL]]#2, %[[ALL]]#3)
// CHECK-COUNT-3: sched.reduce add
// CHECK: sched.library "update"(%[[SUMS]]#0)
// CHECK: return %[[ALL]]#0, %{{.*}}, %[[SUMS]]#1, %[[SUMS]]#2
// FEW-LABEL: func.func @norm
// FEW-NOT: sched.sum
func.func @norm(%g: tensor<2x32x8xbf16>, %x: tensor<2x32x8xbf16>, %mean: tensor<2x32x1xf32>) -> (tensor<2x32x8xbf16>, tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>) {
  %p:2 = sched.cluster domain [2, 32, 8] reduced [0, 1] (%g, %x, %mean) maps [#same, #same, #row] -> [#column, #column] {
  ^bb0(%a: bf16, %b: bf16, %m: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %d = arith.subf %bw, %m : f32
    %e = arith.mulf %aw, %d : f32
    %s = sched.reduce add %e : f32
    %t = sched.reduce add %aw : f32
    %sn = arith.truncf %s : f32 to bf16
    sched.yield %sn, %t : bf16, f32
  } : (tensor<2x32x8xbf16>, tensor<2x32x8xbf16>, tensor<2x32x1xf32>) -> (tensor<8xbf16>, tensor<8xf32>)
  %u = sched.library "update"(%p#0) {} : (tensor<8xbf16>) -> tensor<8xbf16>
  %y = sched.cluster domain [2, 32, 8] reduced [2] (%g, %x, %mean) maps [#same, #same, #row] -> [#same] {
  ^bb0(%a: bf16, %b: bf16, %m: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %d = arith.subf %bw, %m : f32
    %e = arith.mulf %aw, %d : f32
    %s = sched.reduce add %e : f32
    %f = arith.subf %aw, %s : f32
    %n = arith.truncf %f : f32 to bf16
    sched.yield %n : bf16
  } : (tensor<2x32x8xbf16>, tensor<2x32x8xbf16>, tensor<2x32x1xf32>) -> tensor<2x32x8xbf16>
  %q = sched.cluster domain [2, 32, 8] reduced [0, 1] (%y) maps [#same] -> [#column] {
  ^bb0(%a: bf16):
    %aw = arith.extf %a : bf16 to f32
    %s = sched.reduce add %aw : f32
    %n = arith.truncf %s : f32 to bf16
    sched.yield %n : bf16
  } : (tensor<2x32x8xbf16>) -> tensor<8xbf16>
  return %y, %u, %p#1, %q : tensor<2x32x8xbf16>, tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>
}

// -----

#same = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>

// What the rows need comes only behind a reader of the columns' sums: that fold stays. The others are joined.
// CHECK-LABEL: func.func @order
// CHECK: sched.cluster domain [64, 8] reduced [0]
// CHECK: %[[Z:.*]] = sched.library "make"
// CHECK: %[[ALL:.*]]:2 = sched.cluster domain [64, 8] reduced [1](%arg0, %[[Z]])
// CHECK-COUNT-1: sched.sum
// CHECK: sched.cluster domain [4, 8] reduced [0](%[[ALL]]#1)
// CHECK-NOT: sched.sum
func.func @order(%x: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<8xf32>) {
  %p = sched.cluster domain [64, 8] reduced [0] (%x) maps [#same] -> [#column] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<8xf32>
  %z = sched.library "make"(%p) {} : (tensor<8xf32>) -> tensor<64x8xf32>
  %y = sched.cluster domain [64, 8] reduced [1] (%x, %z) maps [#same, #same] -> [#same] {
  ^bb0(%a: f32, %b: f32):
    %s = sched.reduce add %a : f32
    %f = arith.subf %b, %s : f32
    sched.yield %f : f32
  } : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %q = sched.cluster domain [64, 8] reduced [0] (%y) maps [#same] -> [#column] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<8xf32>
  return %y, %q : tensor<64x8xf32>, tensor<8xf32>
}

// -----

#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>

// Not joined: a maximum, points of another tensor, a result that reads a number of the column beside the fold, rows that
// are only folded, and numbers of rows that no block of 16 or more divides into four.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: sched.sum
func.func @apart(%x: tensor<64x8xf32>, %w: tensor<64x8xf32>, %v: tensor<8xf32>, %o: tensor<66x8xf32>) -> (tensor<64x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>, tensor<66x8xf32>, tensor<8xf32>) {
  %y = sched.cluster domain [64, 8] reduced [1] (%x) maps [#same] -> [#same] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    %f = arith.subf %a, %s : f32
    sched.yield %f : f32
  } : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %m = sched.cluster domain [64, 8] reduced [0] (%x) maps [#same] -> [#column] {
  ^bb0(%a: f32):
    %s = sched.reduce max %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<8xf32>
  %p = sched.cluster domain [64, 8] reduced [0] (%x, %w) maps [#same, #same] -> [#column] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    %s = sched.reduce add %c : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8xf32>
  %q = sched.cluster domain [64, 8] reduced [0] (%x, %v) maps [#same, #column] -> [#column] {
  ^bb0(%a: f32, %b: f32):
    %s = sched.reduce add %a : f32
    %c = arith.mulf %s, %b : f32
    sched.yield %c : f32
  } : (tensor<64x8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = sched.cluster domain [64, 8] reduced [1] (%x) maps [#same] -> [#row] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<64xf32>
  %z = sched.cluster domain [66, 8] reduced [1] (%o) maps [#same] -> [#same] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    %f = arith.subf %a, %s : f32
    sched.yield %f : f32
  } : (tensor<66x8xf32>) -> tensor<66x8xf32>
  %t = sched.cluster domain [66, 8] reduced [0] (%o) maps [#same] -> [#column] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<66x8xf32>) -> tensor<8xf32>
  return %y, %m, %p, %q, %r, %z, %t : tensor<64x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64xf32>, tensor<66x8xf32>, tensor<8xf32>
}
