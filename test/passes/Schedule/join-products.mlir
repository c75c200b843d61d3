// RUN: kedge-opt %s --split-input-file --kedge-join-products --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 8 kedge-join-products products joined

// Four products become one over the rows of all, in the order in which they were added.
// CHECK-LABEL: func.func @joined
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2x4xf32>, %[[C:.*]]: tensor<2x3xf32>, %[[D:.*]]: tensor<2x4xf32>
// CHECK: %[[X:.*]] = onnx.Concat %[[A]], %[[C]], %[[A]], %[[C]] {axis = 0 : i64}
// CHECK: %[[Y:.*]] = onnx.Concat %[[B]], %[[D]], %[[D]], %[[B]] {axis = 0 : i64}
// CHECK-NEXT: %[[V:.*]] = train.sum_products %[[X]], %[[Y]] {chain = true, parts = 4 : i64, transA = true} : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: return %[[V]]
func.func @joined(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<2x3xf32>, %d: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %p = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %q = onnx.Gemm %c, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %s = onnx.Add %p, %q : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r = onnx.Gemm %a, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %t = onnx.Add %r, %s : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %u = onnx.Gemm %c, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %v = onnx.Add %t, %u : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %v : tensor<3x4xf32>
}

// -----

// Rows that are there in the other order are read backwards, and moved to where they are read first.
// CHECK-LABEL: func.func @backwards
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2x4xf32>, %[[C:.*]]: tensor<2x3xf32>, %[[D:.*]]: tensor<2x4xf32>
// CHECK: %[[X:.*]] = onnx.Concat %[[C]], %[[C]], %[[C]], %[[A]] {axis = 0 : i64}
// CHECK: %[[Y:.*]] = onnx.Concat %[[D]], %[[D]], %[[D]], %[[B]] {axis = 0 : i64}
// CHECK: %[[V:.*]] = train.sum_products %[[X]], %[[Y]] {backwards = true, chain = true, parts = 4 : i64, transA = true}
// CHECK-NEXT: return %[[V]], %[[X]]
func.func @backwards(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<2x3xf32>, %d: tensor<2x4xf32>)
    -> (tensor<3x4xf32>, tensor<8x3xf32>) {
  %p = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %q = onnx.Gemm %c, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %s = onnx.Add %p, %q : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %r = onnx.Gemm %c, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %t = onnx.Add %s, %r : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %u = onnx.Gemm %c, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %v = onnx.Add %t, %u : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %x = onnx.Concat %c, %c, %c, %a {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<8x3xf32>
  return %v, %x : tensor<3x4xf32>, tensor<8x3xf32>
}

// -----

// Another term comes first; what is read twice; three products; rows of different numbers.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: train.sum_products
// CHECK: return
func.func @stay(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<5x3xf32>, %d: tensor<5x4xf32>, %o: tensor<3x4xf32>)
    -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %p0 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %p1 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %p2 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %p3 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %s0 = onnx.Add %o, %p0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %s1 = onnx.Add %s0, %p1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %s2 = onnx.Add %s1, %p2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %s3 = onnx.Add %s2, %p3 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %q0 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %q1 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %q2 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %q3 = onnx.Gemm %c, %d {transA = true} : (tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  %t1 = onnx.Add %q0, %q1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %t2 = onnx.Add %t1, %q2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %t3 = onnx.Add %t2, %q3 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %u0 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %u1 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %u2 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %v1 = onnx.Add %u0, %u1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %v2 = onnx.Add %v1, %u2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %w0 = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %w1 = onnx.Add %v2, %w0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %s3, %t3, %v2, %w1 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
