// RUN: kedge-opt %s --split-input-file --kedge-fuse-gather-gradients --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 2 kedge-fuse-gather-gradients gradients joined

// Rows that were looked up are added onto a product, on either side of the sum.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: %[[D:.*]]: tensor<4x16xf32>, %[[AT:.*]]: tensor<4xi64>, %[[A:.*]]: tensor<50x4xf32>, %[[B:.*]]: tensor<4x16xf32>
// CHECK: %[[P:.*]] = onnx.MatMul %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = train.add_gather_grad %[[D]], %[[AT]], %[[P]] {axis = 0 : i64, padding_idx = 3 : i64} : (tensor<4x16xf32>, tensor<4xi64>, tensor<50x16xf32>) -> tensor<50x16xf32>
// CHECK-NEXT: %[[Q:.*]] = onnx.MatMul %[[A]], %[[D]]
// CHECK-NEXT: %[[R:.*]] = train.add_gather_grad %[[B]], %[[AT]], %[[Q]] {axis = 0 : i64}
// CHECK-NEXT: return %[[S]], %[[R]]
module attributes {dist.parts = 2 : i64} {
  func.func @tied(%d: tensor<4x16xf32>, %at: tensor<4xi64>, %a: tensor<50x4xf32>, %b: tensor<4x16xf32>) -> (tensor<50x16xf32>, tensor<50x16xf32>) {
    %p = onnx.MatMul %a, %b : (tensor<50x4xf32>, tensor<4x16xf32>) -> tensor<50x16xf32>
    %g = train.gather_grad %d, %at {axis = 0 : i64, padding_idx = 3 : i64, shape = array<i64: 50, 16>} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<50x16xf32>
    %s = onnx.Add %p, %g : (tensor<50x16xf32>, tensor<50x16xf32>) -> tensor<50x16xf32>
    %q = onnx.MatMul %a, %d : (tensor<50x4xf32>, tensor<4x16xf32>) -> tensor<50x16xf32>
    %h = train.gather_grad %b, %at {axis = 0 : i64, shape = array<i64: 50, 16>} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<50x16xf32>
    %r = onnx.Add %h, %q : (tensor<50x16xf32>, tensor<50x16xf32>) -> tensor<50x16xf32>
    return %s, %r : tensor<50x16xf32>, tensor<50x16xf32>
  }
}

// -----

// What something else reads stays, and so do sums of what no product makes.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: add_gather_grad
// CHECK: return
module attributes {dist.parts = 2 : i64} {
  func.func @stay(%d: tensor<4x16xf32>, %at: tensor<4xi64>, %a: tensor<50x4xf32>, %b: tensor<4x16xf32>, %t: tensor<50x16xf32>)
      -> (tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>) {
    %p = onnx.MatMul %a, %b : (tensor<50x4xf32>, tensor<4x16xf32>) -> tensor<50x16xf32>
    %g = train.gather_grad %d, %at {axis = 0 : i64, shape = array<i64: 50, 16>} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<50x16xf32>
    %s = onnx.Add %p, %g : (tensor<50x16xf32>, tensor<50x16xf32>) -> tensor<50x16xf32>
    %h = train.gather_grad %b, %at {axis = 0 : i64, shape = array<i64: 50, 16>} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<50x16xf32>
    %r = onnx.Add %t, %h : (tensor<50x16xf32>, tensor<50x16xf32>) -> tensor<50x16xf32>
    return %s, %r, %p, %g : tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>
  }
}

// -----

// Without parts programs are as they were.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: add_gather_grad
// CHECK: return
func.func @whole(%d: tensor<4x16xf32>, %at: tensor<4xi64>, %a: tensor<50x4xf32>, %b: tensor<4x16xf32>) -> tensor<50x16xf32> {
  %p = onnx.MatMul %a, %b : (tensor<50x4xf32>, tensor<4x16xf32>) -> tensor<50x16xf32>
  %g = train.gather_grad %d, %at {axis = 0 : i64, shape = array<i64: 50, 16>} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<50x16xf32>
  %s = onnx.Add %p, %g : (tensor<50x16xf32>, tensor<50x16xf32>) -> tensor<50x16xf32>
  return %s : tensor<50x16xf32>
}
