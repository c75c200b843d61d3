// RUN: kedge-opt %s --split-input-file --kedge-fuse-gelu --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// RUN: kedge-opt %s --split-input-file --kedge-fuse-gelu=sums=false | FileCheck %s --check-prefix=APART
// STATISTICS-DAG: 3 kedge-fuse-gelu gelus joined
// STATISTICS-DAG: 3 kedge-fuse-gelu gradients joined
// STATISTICS-DAG: 2 kedge-fuse-gelu bias gradients joined

// Rows of any rank; the bias gradient joins, and what else reads GELU's input and the gradient reads results of the products.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:.*]]: tensor<2x3x8xf16>, %[[W:.*]]: tensor<8x16xf16>, %[[B:.*]]: tensor<16xf16>, %[[V:.*]]: tensor<16x8xf16>, %[[D:.*]]: tensor<2x3x8xf16>
// CHECK: %[[Y:.*]], %[[H:.*]] = train.fused_product "gelu" %[[X]], %[[W]], %[[B]] {kedge.place = #forward_m} :
// CHECK-NEXT: %[[DH:.*]], %[[DB:.*]] = train.fused_product "gelu_grad" %[[D]], %[[V]], %[[H]] {transB = true} : {{.*}} -> (tensor<2x3x16xf16>, tensor<16xf16>)
// CHECK-NEXT: %[[SUM:.*]] = onnx.Add %[[DH]], %[[H]]
// CHECK-NEXT: return %[[Y]], %[[SUM]], %[[DB]], %[[DB]]
// APART-LABEL: func.func @step
// APART: %[[DH:.*]] = train.fused_product "gelu_grad" {{.*}} -> tensor<2x3x16xf16>
// APART: onnx.ReduceSum %[[DH]]
func.func @step(%x: tensor<2x3x8xf16>, %w: tensor<8x16xf16>, %b: tensor<16xf16>, %v: tensor<16x8xf16>, %d: tensor<2x3x8xf16>)
    -> (tensor<2x3x16xf16>, tensor<2x3x16xf16>, tensor<16xf16>, tensor<16xf16>) {
  %h = onnx.Gemm %x, %w, %b {kedge.place = #kedge.place<forward "m", "fc">} : (tensor<2x3x8xf16>, tensor<8x16xf16>, tensor<16xf16>) -> tensor<2x3x16xf16>
  %y = onnx.Gelu %h {approximate = "tanh"} : (tensor<2x3x16xf16>) -> tensor<2x3x16xf16>
  %dy = onnx.Gemm %d, %v {transB = true} : (tensor<2x3x8xf16>, tensor<16x8xf16>) -> tensor<2x3x16xf16>
  %dh = train.gelu_grad %dy, %h {approximate = "tanh"} : (tensor<2x3x16xf16>, tensor<2x3x16xf16>) -> tensor<2x3x16xf16>
  %sum = onnx.Add %dh, %h : (tensor<2x3x16xf16>, tensor<2x3x16xf16>) -> tensor<2x3x16xf16>
  %db = onnx.ReduceSum %dh {axes = array<i64: 0, 1>} : (tensor<2x3x16xf16>) -> tensor<16xf16>
  %again = onnx.ReduceSum %dh {axes = array<i64: 0, 1>} : (tensor<2x3x16xf16>) -> tensor<16xf16>
  return %y, %sum, %db, %again : tensor<2x3x16xf16>, tensor<2x3x16xf16>, tensor<16xf16>, tensor<16xf16>
}

// -----

// Without backward nothing keeps GELU's input, without a bias there is none.
// CHECK-LABEL: func.func @forward
// CHECK: %[[Y:.*]] = train.fused_product "gelu" %{{.*}}, %{{.*}} {transA = true} : (tensor<8x4xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @forward(%x: tensor<8x4xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %h = onnx.MatMul %x, %w {transA = true} : (tensor<8x4xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %y = onnx.Gelu %h {approximate = "tanh"} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// -----

// Sums of anything but whole rows stay, and so does a bias that no other gradient is read with.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[Y:.*]] = train.fused_product "gelu_grad" %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
// CHECK: %[[S:.*]] = onnx.ReduceSum %[[Y]] {axes = array<i64: 1>}
// CHECK: %[[K:.*]] = onnx.ReduceSum %[[Y]] {axes = array<i64: 0>, keepdims = true}
// CHECK: %[[G:.*]], %[[Z:.*]] = train.fused_product "gelu_grad"
// CHECK-NOT: onnx.ReduceSum
// CHECK: return %[[S]], %[[K]], %[[Z]]
func.func @gradients(%d: tensor<4x8xbf16>, %v: tensor<8x16xbf16>, %h: tensor<4x16xbf16>) -> (tensor<4xbf16>, tensor<1x16xbf16>, tensor<16xbf16>) {
  %dy = onnx.MatMul %d, %v : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %dh = train.gelu_grad %dy, %h {approximate = "tanh"} : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %s = onnx.ReduceSum %dh {axes = array<i64: 1>} : (tensor<4x16xbf16>) -> tensor<4xbf16>
  %k = onnx.ReduceSum %dh {axes = array<i64: 0>, keepdims = true} : (tensor<4x16xbf16>) -> tensor<1x16xbf16>
  %dy2 = onnx.Gemm %d, %v : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %dh2 = train.gelu_grad %dy2, %h {approximate = "tanh"} : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %b = onnx.ReduceSum %dh2 {axes = array<i64: 0>} : (tensor<4x16xbf16>) -> tensor<16xbf16>
  return %s, %k, %b : tensor<4xbf16>, tensor<1x16xbf16>, tensor<16xbf16>
}

// -----

// What no epilogue takes: erf's form, f32, rows of 12 numbers, batches of matrices, an addend that is no bias, a factor.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: train.fused_product
// CHECK: return
func.func @stay(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %odd: tensor<8x12xbf16>, %x32: tensor<4x8xf32>, %w32: tensor<8x16xf32>,
                %b3: tensor<2x8x16xbf16>, %x3: tensor<2x4x8xbf16>, %c: tensor<4x16xbf16>)
    -> (tensor<4x16xbf16>, tensor<4x12xbf16>, tensor<4x16xf32>, tensor<2x4x16xbf16>, tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %0 = onnx.MatMul %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %y0 = onnx.Gelu %0 : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %1 = onnx.MatMul %x, %odd : (tensor<4x8xbf16>, tensor<8x12xbf16>) -> tensor<4x12xbf16>
  %y1 = onnx.Gelu %1 {approximate = "tanh"} : (tensor<4x12xbf16>) -> tensor<4x12xbf16>
  %2 = onnx.MatMul %x32, %w32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y2 = onnx.Gelu %2 {approximate = "tanh"} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = onnx.MatMul %x3, %b3 : (tensor<2x4x8xbf16>, tensor<2x8x16xbf16>) -> tensor<2x4x16xbf16>
  %y3 = onnx.Gelu %3 {approximate = "tanh"} : (tensor<2x4x16xbf16>) -> tensor<2x4x16xbf16>
  %4 = onnx.Gemm %x, %w, %c : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %y4 = onnx.Gelu %4 {approximate = "tanh"} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  %5 = onnx.Gemm %x, %w {alpha = 0.5 : f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %y5 = onnx.Gelu %5 {approximate = "tanh"} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %y0, %y1, %y2, %y3, %y4, %y5 : tensor<4x16xbf16>, tensor<4x12xbf16>, tensor<4x16xf32>, tensor<2x4x16xbf16>, tensor<4x16xbf16>, tensor<4x16xbf16>
}

// -----

// A gradient that something else reads before the derivative is a result of its own.
// CHECK-LABEL: func.func @read_twice
// CHECK: onnx.MatMul
// CHECK: train.gelu_grad
func.func @read_twice(%d: tensor<4x8xbf16>, %v: tensor<8x16xbf16>, %h: tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %dy = onnx.MatMul %d, %v : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %dh = train.gelu_grad %dy, %h {approximate = "tanh"} : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return %dy, %dh : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// -----

// Weights as PyTorch keeps them.
// CHECK-LABEL: func.func @bare
// CHECK: train.fused_product "gelu" %{{.*}}, %{{.*}}, %{{.*}} {transB = true} : {{.*}} -> tensor<3x8xbf16>
func.func @bare(%x: tensor<3x16xbf16>, %w: tensor<8x16xbf16>, %b: tensor<8xbf16>) -> tensor<3x8xbf16> {
  %h = onnx.Gemm %x, %w, %b {transB = true} : (tensor<3x16xbf16>, tensor<8x16xbf16>, tensor<8xbf16>) -> tensor<3x8xbf16>
  %y = onnx.Gelu %h {approximate = "tanh"} : (tensor<3x8xbf16>) -> tensor<3x8xbf16>
  return %y : tensor<3x8xbf16>
}
