// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-order-collectives{device=h200}))' --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// STATISTICS: kedge-order-collectives ops moved
// RUN: not kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-order-collectives{device=none}))' 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: {{.*}}none

// Two gradients of weights: the first is enough work for the sum that is sent; the update that follows it and the second run under the
// gather after it. The gradient of a norm, small as it is, does not let the layer below wait for its sum.
// CHECK-LABEL: func.func @backward
// CHECK: %[[DX:.*]] = sched.library "onnx.MatMul"(%[[D:.*]], %[[W:.*]]) {{.*}}transA = false
// CHECK-NEXT: %[[PART:.*]] = sched.library "dist.reduce_scatter"(%[[DX]])
// CHECK-NEXT: %[[DW:.*]] = sched.library "onnx.MatMul"(%[[X:.*]], %[[D]])
// CHECK-NEXT: sched.library "norm"(%[[PART]])
// CHECK-NEXT: sched.library "dist.all_reduce"
// CHECK-NEXT: sched.library "dist.all_gather"
// CHECK-NEXT: sched.library "update"(%[[W]], %[[DW]])
// CHECK-NEXT: sched.library "onnx.MatMul"(%[[X]], %[[D]])
// CHECK-NEXT: sched.library "below"
// CHECK-NEXT: sched.library "scale"
func.func @backward(%x: tensor<4096x512xbf16>, %d: tensor<4096x4096xbf16>, %w: tensor<4096x512xbf16>, %v: tensor<512x4096xbf16>)
    -> (tensor<4096x512xbf16>, tensor<512x4096xbf16>, tensor<512xf32>, tensor<4096x512xbf16>) {
  %dw = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false} : (tensor<4096x512xbf16>, tensor<4096x4096xbf16>) -> tensor<512x4096xbf16>
  %new = sched.library "update"(%w, %dw) {} : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x512xbf16>
  %dv = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false, again = true} : (tensor<4096x512xbf16>, tensor<4096x4096xbf16>) -> tensor<512x4096xbf16>
  %dx = sched.library "onnx.MatMul"(%d, %w) {transA = false, transB = false} : (tensor<4096x4096xbf16>, tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
  %part = sched.library "dist.reduce_scatter"(%dx) {axis = "tensor", ranks = 8 : i64} {collective} : (tensor<4096x512xbf16>) -> tensor<262144xbf16>
  %n:2 = sched.library "norm"(%part) {} : (tensor<262144xbf16>) -> (tensor<262144xbf16>, tensor<512xf32>)
  %sum = sched.library "dist.all_reduce"(%n#1) {axis = "tensor", kind = "sum", ranks = 8 : i64} {collective} : (tensor<512xf32>) -> tensor<512xf32>
  %g = sched.library "scale"(%sum) {} : (tensor<512xf32>) -> tensor<512xf32>
  %all = sched.library "dist.all_gather"(%n#0) {axis = "tensor", ranks = 8 : i64} {collective} : (tensor<262144xbf16>) -> tensor<4096x512xbf16>
  %y = sched.library "below"(%all) {} : (tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
  return %new, %dv, %g, %y : tensor<4096x512xbf16>, tensor<512x4096xbf16>, tensor<512xf32>, tensor<4096x512xbf16>
}

// What a collective sends is never late for it, and what only a gather brings for a gradient does not hold up the rest.
// CHECK-LABEL: func.func @gathers_for_a_gradient
// CHECK: sched.library "dist.all_gather"
// CHECK-NEXT: sched.library "first"
// CHECK-NEXT: sched.library "dist.reduce_scatter"
// CHECK-NEXT: sched.library "onnx.MatMul"
// CHECK-NEXT: sched.library "next"
func.func @gathers_for_a_gradient(%p: tensor<262144xbf16>, %d: tensor<4096x4096xbf16>) -> (tensor<512x4096xbf16>, tensor<262144xbf16>) {
  %x = sched.library "dist.all_gather"(%p) {axis = "tensor", ranks = 8 : i64} {collective} : (tensor<262144xbf16>) -> tensor<4096x512xbf16>
  %dw = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false} : (tensor<4096x512xbf16>, tensor<4096x4096xbf16>) -> tensor<512x4096xbf16>
  %dx = sched.library "first"(%d) {} : (tensor<4096x4096xbf16>) -> tensor<4096x512xbf16>
  %part = sched.library "dist.reduce_scatter"(%dx) {axis = "tensor", ranks = 8 : i64} {collective} : (tensor<4096x512xbf16>) -> tensor<262144xbf16>
  %y = sched.library "next"(%part) {} : (tensor<262144xbf16>) -> tensor<262144xbf16>
  return %dw, %y : tensor<512x4096xbf16>, tensor<262144xbf16>
}
