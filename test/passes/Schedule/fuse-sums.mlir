// RUN: kedge-opt %s --split-input-file --kedge-fuse-sums --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-fuse-sums sums joined

// The sum of a tensor's rows joins the product that sums over the same rows, seen as a matrix: with the weight's gradient as it is stored
// on either side.
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#last = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: tensor<6x8xbf16>, %[[D:.*]]: tensor<2x3x16xbf16>
// CHECK: %[[M:.*]] = sched.view %[[D]]
// CHECK: %[[DX:.*]] = sched.library "onnx.Gemm"(%[[M]]
// CHECK: %[[R:.*]]:2 = sched.library "train.fused_product"(%[[M]], %[[X]]) {epilogue = "sums_a", transA = true, transB = false} {kedge.place = {{.*}}} : (tensor<6x16xbf16>, tensor<6x8xbf16>) -> (tensor<16x8xbf16>, tensor<16xbf16>)
// CHECK-NOT: sched.cluster
// CHECK: return %[[DX]], %[[R]]#0, %[[R]]#1
func.func @rows(%x: tensor<6x8xbf16>, %d: tensor<2x3x16xbf16>, %w: tensor<16x8xbf16>) -> (tensor<6x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16>) {
  %m = sched.view %d : tensor<2x3x16xbf16> to tensor<6x16xbf16>
  %dx = sched.library "onnx.Gemm"(%m, %w) {transA = false, transB = false} : (tensor<6x16xbf16>, tensor<16x8xbf16>) -> tensor<6x8xbf16>
  %dw = sched.library "onnx.Gemm"(%m, %x) {alpha = 1.0 : f32, transA = true, transB = false} {kedge.place = #kedge.place<backward "m", "fc">} : (tensor<6x16xbf16>, tensor<6x8xbf16>) -> tensor<16x8xbf16>
  %b = sched.cluster domain [2, 3, 16] reduced [0, 1] (%d) maps [#all] -> [#last] {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = sched.reduce add %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    sched.yield %2 : bf16
  } : (tensor<2x3x16xbf16>) -> tensor<16xbf16>
  return %dx, %dw, %b : tensor<6x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16>
}

// -----

// Sums of something else, of f32, to another type, and one that is read before the product: they stay.
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @stay
// CHECK-NOT: train.fused_product
// CHECK: return
func.func @stay(%x: tensor<4x8xbf16>, %d: tensor<4x16xbf16>, %x32: tensor<4x8xf32>, %d32: tensor<4x16xf32>)
    -> (tensor<8x16xbf16>, tensor<16xbf16>, tensor<16xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16xbf16>) {
  %w = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  %squares = sched.cluster domain [4, 16] reduced [0] (%d) maps [#all] -> [#last] {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = sched.reduce add %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    sched.yield %3 : bf16
  } : (tensor<4x16xbf16>) -> tensor<16xbf16>
  %wide = sched.cluster domain [4, 16] reduced [0] (%d) maps [#all] -> [#last] {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = sched.reduce add %0 : f32
    sched.yield %1 : f32
  } : (tensor<4x16xbf16>) -> tensor<16xf32>
  %w32 = sched.library "onnx.MatMul"(%x32, %d32) {transA = true, transB = false} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %plain = sched.cluster domain [4, 16] reduced [0] (%d32) maps [#all] -> [#last] {
  ^bb0(%a: f32):
    %0 = sched.reduce add %a : f32
    sched.yield %0 : f32
  } : (tensor<4x16xf32>) -> tensor<16xf32>
  %most = sched.cluster domain [4, 16] reduced [0] (%d) maps [#all] -> [#last] {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = sched.reduce max %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    sched.yield %2 : bf16
  } : (tensor<4x16xbf16>) -> tensor<16xbf16>
  return %w, %squares, %wide, %w32, %plain, %most : tensor<8x16xbf16>, tensor<16xbf16>, tensor<16xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16xbf16>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @read_before
// CHECK: sched.cluster
// CHECK: sched.library "other"
// CHECK: sched.library "onnx.MatMul"
func.func @read_before(%x: tensor<4x8xbf16>, %d: tensor<4x16xbf16>) -> (tensor<16xbf16>, tensor<8x16xbf16>) {
  %b = sched.cluster domain [4, 16] reduced [0] (%d) maps [#all] -> [#last] {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = sched.reduce add %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    sched.yield %2 : bf16
  } : (tensor<4x16xbf16>) -> tensor<16xbf16>
  %read = sched.library "other"(%b) {} : (tensor<16xbf16>) -> tensor<16xbf16>
  %w = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  return %read, %w : tensor<16xbf16>, tensor<8x16xbf16>
}

// -----

// Products that do not sum over the rows, read them dense, or add something.
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @products
// CHECK-NOT: train.fused_product
// CHECK: return
func.func @products(%x: tensor<16x8xbf16>, %d: tensor<4x16xbf16>, %y: tensor<4x8xbf16>, %c: tensor<16xbf16>)
    -> (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) {
  %0 = sched.library "onnx.MatMul"(%d, %x) {} : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  %1 = sched.library "onnx.Gemm"(%y, %d, %c) {transA = true, transB = false} : (tensor<4x8xbf16>, tensor<4x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %2 = sched.library "onnx.Gemm"(%y, %d) {alpha = 0.5 : f32, transA = true, transB = false} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  %b = sched.cluster domain [4, 16] reduced [0] (%d) maps [#all] -> [#last] {
  ^bb0(%a: bf16):
    %3 = arith.extf %a : bf16 to f32
    %4 = sched.reduce add %3 : f32
    %5 = arith.truncf %4 : f32 to bf16
    sched.yield %5 : bf16
  } : (tensor<4x16xbf16>) -> tensor<16xbf16>
  return %0, %1, %2, %b : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>
}

// -----

// The matrix on the right.
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @right
// CHECK: %[[R:.*]]:2 = sched.library "train.fused_product"({{.*}}) {epilogue = "sums_b", transA = true, transB = false}
// CHECK: return %[[R]]#1, %[[R]]#0
func.func @right(%x: tensor<4x8xf16>, %d: tensor<4x16xf16>) -> (tensor<16xf16>, tensor<8x16xf16>) {
  %b = sched.cluster domain [4, 16] reduced [0] (%d) maps [#all] -> [#last] {
  ^bb0(%a: f16):
    %0 = arith.extf %a : f16 to f32
    %1 = sched.reduce add %0 : f32
    %2 = arith.truncf %1 : f32 to f16
    sched.yield %2 : f16
  } : (tensor<4x16xf16>) -> tensor<16xf16>
  %w = sched.library "onnx.MatMul"(%x, %d) {transA = true} : (tensor<4x8xf16>, tensor<4x16xf16>) -> tensor<8x16xf16>
  return %b, %w : tensor<16xf16>, tensor<8x16xf16>
}
