// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-fuse-clusters{stores=true}))' --split-input-file | FileCheck %s
// RUN: kedge-opt %s --kedge-fuse-clusters --split-input-file | FileCheck %s --check-prefix=APART

// A gradient with an expensive derivative and the sum of its columns: one walk, in front of the product that reads the gradient
// as well, though the sum comes behind it.
// CHECK-LABEL: func.func @bias
// CHECK: %[[R:.*]]:2 = sched.cluster domain [64, 8] reduced [0](%{{.*}}) maps
// CHECK: math.tanh
// CHECK: sched.reduce add
// CHECK: sched.library "onnx.MatMul"(%[[R]]#1
// CHECK-NOT: sched.cluster
// CHECK: return %{{.*}}, %[[R]]#0
// APART-LABEL: func.func @bias
// APART: sched.cluster domain [64, 8] reduced []
// APART: sched.cluster domain [64, 8] reduced [0]
#same = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
func.func @bias(%x: tensor<64x8xf32>, %w: tensor<8x8xf32>) -> (tensor<64x8xf32>, tensor<8xf32>) {
  %g = sched.cluster domain [64, 8] reduced [] (%x) maps [#same] -> [#same] {
  ^bb0(%a: f32):
    %t = math.tanh %a : f32
    sched.yield %t : f32
  } : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %dx = sched.library "onnx.MatMul"(%g, %w) {} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %b = sched.cluster domain [64, 8] reduced [0] (%g) maps [#same] -> [#column] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<8xf32>
  return %dx, %b : tensor<64x8xf32>, tensor<8xf32>
}

// -----

// Points that wait for the fold would be computed twice; a sum that needs the product cannot come before it.
// CHECK-LABEL: func.func @apart
// CHECK: sched.cluster domain [64, 8] reduced []
// CHECK: sched.cluster domain [64, 8] reduced [0]
// CHECK: sched.library "onnx.MatMul"
// CHECK: sched.cluster domain [64, 8] reduced [0]
// APART-LABEL: func.func @apart
#same = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
func.func @apart(%x: tensor<64x8xf32>, %w: tensor<8x8xf32>) -> (tensor<64x8xf32>, tensor<8xf32>) {
  %g = sched.cluster domain [64, 8] reduced [] (%x) maps [#same] -> [#same] {
  ^bb0(%a: f32):
    %t = math.tanh %a : f32
    sched.yield %t : f32
  } : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %n = sched.cluster domain [64, 8] reduced [0] (%g) maps [#same] -> [#same] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    %d = arith.subf %a, %s : f32
    sched.yield %d : f32
  } : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %p = sched.library "onnx.MatMul"(%g, %w) {} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %b = sched.cluster domain [64, 8] reduced [0] (%g, %p) maps [#same, #same] -> [#column] {
  ^bb0(%a: f32, %c: f32):
    %m = arith.mulf %a, %c : f32
    %s = sched.reduce add %m : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8xf32>
  return %n, %b : tensor<64x8xf32>, tensor<8xf32>
}

// -----

// Two folds of the same points, as of a gradient whose norm and infinities are wanted: one walk. Those of other points stay.
// CHECK-LABEL: func.func @twins
// CHECK: %[[T:.*]]:2 = sched.cluster domain [64, 8] reduced [1](%arg0) maps
// CHECK: sched.reduce add
// CHECK: sched.reduce max
// CHECK: %[[O:.*]] = sched.cluster domain [64, 8] reduced [0](%arg0) maps
// CHECK: return %[[T]]#{{[01]}}, %[[T]]#{{[01]}}, %[[O]]
// APART-LABEL: func.func @twins
// APART-COUNT-3: sched.cluster domain [64, 8]
#both = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#sum = affine_map<(r, c) -> (c)>
func.func @twins(%g: tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<8xf32>) {
  %n = sched.cluster domain [64, 8] reduced [1] (%g) maps [#both] -> [#row] {
  ^bb0(%a: f32):
    %q = arith.mulf %a, %a : f32
    %s = sched.reduce add %q : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<64xf32>
  %m = sched.cluster domain [64, 8] reduced [1] (%g) maps [#both] -> [#row] {
  ^bb0(%a: f32):
    %s = sched.reduce max %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<64xf32>
  %o = sched.cluster domain [64, 8] reduced [0] (%g) maps [#both] -> [#sum] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<64x8xf32>) -> tensor<8xf32>
  return %n, %m, %o : tensor<64xf32>, tensor<64xf32>, tensor<8xf32>
}
