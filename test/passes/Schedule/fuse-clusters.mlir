// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-form-clusters,kedge-fuse-clusters))' --split-input-file | FileCheck %s

// A chain through a reshape is one kernel; the broadcast is read in place.
// CHECK-LABEL: @chain
// CHECK: sched.cluster domain [8, 16] reduced []
// CHECK-NOT: sched.cluster
func.func @chain(%x: tensor<2x4x16xf32>, %b: tensor<16xf32>) -> tensor<8x16xf32> {
  %0 = onnx.Tanh %x : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %1 = sched.view %0 : tensor<2x4x16xf32> to tensor<8x16xf32>
  %2 = onnx.Add %1, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// What is expensive is not computed twice: the tanh has two readers. They have equal domains: joined, with
// the tanh still written for the return.
// CHECK-LABEL: @readers
// CHECK: sched.cluster
// CHECK: math.tanh
// CHECK-NOT: math.tanh
func.func @readers(%x: tensor<4x16xf32>, %b: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = onnx.Tanh %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = onnx.Add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// A residual sum that is read twice joins the sums of its rows.
// CHECK-LABEL: @residual
// CHECK: %[[R:.*]]:2 = sched.cluster domain [4, 16] reduced [1](%arg0, %arg1)
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[F:.*]] = sched.reduce add %[[S]]
// CHECK-NEXT: sched.yield %[[F]], %[[S]]
// CHECK-NOT: sched.cluster
func.func @residual(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>) {
  %0 = sched.cluster domain [4, 16] reduced [] (%x, %y) maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    sched.yield %s : f32
  } : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = sched.cluster domain [4, 16] reduced [1] (%0) maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
  ^bb0(%a: f32):
    %s = sched.reduce add %a : f32
    sched.yield %s : f32
  } : (tensor<4x16xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4xf32>
}

// -----

// An exponential would be computed once a pass of the folds, or once a row: it stays.
// CHECK-LABEL: @expensive
// CHECK: sched.cluster
// CHECK: math.exp
// CHECK: sched.cluster
// CHECK-NOT: math.exp
func.func @expensive(%x: tensor<16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = onnx.Exp %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = onnx.Mul %0, %y : (tensor<16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// A reader that comes before the other cluster keeps the producer where it is.
// CHECK-LABEL: @order
// CHECK: sched.cluster
// CHECK: sched.library "onnx.MatMul"
// CHECK: sched.cluster
func.func @order(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = onnx.Tanh %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.MatMul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// What a joined cluster yields keeps the place where it was computed; the cluster is the reader's.
#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @places
// CHECK: sched.cluster
// CHECK: sched.yield %[[NEG:.*]], %[[TANH:.*]] :
// CHECK: {kedge.place = #[[READER:.*]], kedge.result_places = [#[[READER]], #[[PRODUCER:.*]]]}
func.func @places(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = sched.cluster domain [8] reduced [] (%x) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
    sched.yield %t : f32
  } {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<8xf32>) -> tensor<8xf32>
  %b = sched.cluster domain [8] reduced [] (%a) maps [#id] -> [#id] {
  ^bb0(%s: f32):
    %t = arith.negf %s : f32
    sched.yield %t : f32
  } {kedge.place = #kedge.place<forward "h.1", "b">} : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
