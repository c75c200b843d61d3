// RUN: kedge-opt %s --split-input-file --kedge-pad-rows --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 272 kedge-pad-rows bytes of padding
// STATISTICS: 2 kedge-pad-rows values padded

// Logits, their gradient and the products behind it, one of which adds to the sum so far; the cluster's domain stays.
// CHECK-LABEL: func.func @head
// CHECK: sched.library "onnx.Gemm"(%{{.*}}) {transB = true, widths = array<i64: 8, 8, 1007>}{{.*}} -> tensor<2x2x1024xbf16>
// CHECK: sched.view %{{.*}} : tensor<2x2x1024xbf16> to tensor<4x1024xbf16>
// CHECK: sched.cluster domain [4, 1007]
// CHECK: (tensor<4x1024xbf16>) -> (tensor<4x1024xbf16>, tensor<4xf32>)
// CHECK: {widths = array<i64: 1007, 8, 8>} : (tensor<4x1024xbf16>, tensor<1007x8xbf16>) -> tensor<4x8xbf16>
// CHECK: {transA = true, widths = array<i64: 1007, 8, 8>} : (tensor<4x1024xbf16>, tensor<4x8xbf16>, tensor<1007x8xbf16>) -> tensor<1007x8xbf16>
#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @head(%x: tensor<2x2x8xbf16>, %y: tensor<4x8xbf16>, %w: tensor<1007x8xbf16>, %b: tensor<1007xbf16>) -> (tensor<4x8xbf16>, tensor<1007x8xbf16>, tensor<4xf32>) {
  %l = sched.library "onnx.Gemm"(%x, %w, %b) {transB = true} : (tensor<2x2x8xbf16>, tensor<1007x8xbf16>, tensor<1007xbf16>) -> tensor<2x2x1007xbf16>
  %v = sched.view %l : tensor<2x2x1007xbf16> to tensor<4x1007xbf16>
  %g:2 = sched.cluster domain [4, 1007] reduced [1] (%v) maps [#same] -> [#same, #row] {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    %s = sched.reduce add %f : f32
    sched.yield %a, %s : bf16, f32
  } : (tensor<4x1007xbf16>) -> (tensor<4x1007xbf16>, tensor<4xf32>)
  %dx = sched.library "onnx.MatMul"(%g#0, %w) {} : (tensor<4x1007xbf16>, tensor<1007x8xbf16>) -> tensor<4x8xbf16>
  %dw = sched.library "onnx.Gemm"(%g#0, %y, %w) {transA = true} : (tensor<4x1007xbf16>, tensor<4x8xbf16>, tensor<1007x8xbf16>) -> tensor<1007x8xbf16>
  return %dx, %dw, %g#1 : tensor<4x8xbf16>, tensor<1007x8xbf16>, tensor<4xf32>
}

// -----

// Dense stay: what leaves, what a view cuts otherwise, what something else reads, a batch's matrices, a sum that a product adds
// to, rows that are aligned or short.
// CHECK-LABEL: func.func @dense
// CHECK-NOT: 1024
// CHECK-NOT: widths
// CHECK: return
func.func @dense(%x: tensor<4x8xbf16>, %w: tensor<8x1001xbf16>, %xs: tensor<3x4x8xbf16>, %ws: tensor<3x8x1001xbf16>, %c: tensor<4x1001xbf16>, %e: tensor<8x1008xbf16>, %n: tensor<8x99xbf16>) -> tensor<4x1001xbf16> {
  %0 = sched.library "onnx.MatMul"(%x, %w) {} : (tensor<4x8xbf16>, tensor<8x1001xbf16>) -> tensor<4x1001xbf16>
  %1 = sched.library "onnx.MatMul"(%x, %w) {} : (tensor<4x8xbf16>, tensor<8x1001xbf16>) -> tensor<4x1001xbf16>
  %2 = sched.view %1 : tensor<4x1001xbf16> to tensor<4004xbf16>
  %3 = sched.library "onnx.MatMul"(%x, %w) {} : (tensor<4x8xbf16>, tensor<8x1001xbf16>) -> tensor<4x1001xbf16>
  %4 = sched.library "other"(%3) {} : (tensor<4x1001xbf16>) -> tensor<4xbf16>
  %5 = sched.library "onnx.MatMul"(%xs, %ws) {} : (tensor<3x4x8xbf16>, tensor<3x8x1001xbf16>) -> tensor<3x4x1001xbf16>
  %6 = sched.library "onnx.Gemm"(%x, %w, %c) {} : (tensor<4x8xbf16>, tensor<8x1001xbf16>, tensor<4x1001xbf16>) -> tensor<4x1001xbf16>
  %7 = sched.library "onnx.MatMul"(%x, %e) {} : (tensor<4x8xbf16>, tensor<8x1008xbf16>) -> tensor<4x1008xbf16>
  %8 = sched.library "onnx.MatMul"(%x, %n) {} : (tensor<4x8xbf16>, tensor<8x99xbf16>) -> tensor<4x99xbf16>
  return %0 : tensor<4x1001xbf16>
}
