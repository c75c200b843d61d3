// RUN: kedge-opt %s --split-input-file --kedge-approximate-exponentials --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-approximate-exponentials exponentials

// The second result is f32, so the exponential that it reads is not approximated; tanh leaves in bf16 alone, through a sum.
// CHECK-LABEL: func.func @results
// CHECK: math.exp %{{[a-z0-9]+}} : f32
// CHECK: math.tanh %{{[a-z0-9]+}} fastmath<afn> : f32
#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @results(%x: tensor<4x8xf32>) -> (tensor<4x8xbf16>, tensor<4xf32>) {
  %0:2 = sched.cluster domain [4, 8] reduced [1] (%x) maps [#same] -> [#same, #row] {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    %s = sched.reduce add %e : f32
    %h = math.tanh %a : f32
    %t = sched.reduce add %h : f32
    %p = arith.mulf %e, %t : f32
    %r = arith.truncf %p : f32 to bf16
    sched.yield %r, %s : bf16, f32
  } : (tensor<4x8xf32>) -> (tensor<4x8xbf16>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4x8xbf16>, tensor<4xf32>
}

// -----

// Sums of a row's exponentials are f32, but logits are bf16: their own rounding is 2^15 times that of the approximation. What
// decides (a comparison) and what also depends on an f32 operand is left alone.
// CHECK-LABEL: func.func @operands
// CHECK: math.exp %{{[a-z0-9]+}} fastmath<afn> : f32
// CHECK: math.exp %{{[a-z0-9]+}} : f32
// CHECK: math.erf %{{[a-z0-9]+}} : f32
#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @operands(%x: tensor<4x8xbf16>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xbf16>) {
  %0:3 = sched.cluster domain [4, 8] reduced [1] (%x, %y) maps [#same, #row] -> [#row, #row, #same] {
  ^bb0(%a: bf16, %b: f32):
    %w = arith.extf %a : bf16 to f32
    %m = sched.reduce max %w : f32
    %d = arith.subf %w, %m : f32
    %e = math.exp %d : f32
    %s = sched.reduce add %e : f32
    %f = arith.subf %w, %b : f32
    %g = math.exp %f : f32
    %t = sched.reduce add %g : f32
    %h = math.erf %f : f32
    %one = arith.constant 1.0 : f32
    %c = arith.cmpf olt, %h, %one : f32
    %k = arith.select %c, %w, %one : f32
    %r = arith.truncf %k : f32 to bf16
    sched.yield %s, %t, %r : f32, f32, bf16
  } : (tensor<4x8xbf16>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xbf16>)
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4x8xbf16>
}
