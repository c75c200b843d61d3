// RUN: kedge-opt %s --kedge-bucket-gathers=bucket-bytes=28 | FileCheck %s
// RUN: kedge-opt %s --kedge-bucket-gathers | FileCheck %s --check-prefix=ONE

// Of states: up to 28 bytes of wholes together, where the first of them is read. New states: the last first.
// CHECK-LABEL: func.func @f
// CHECK-SAME: (%[[A:[a-z0-9]+]]: tensor<1xf32>, %[[B:[a-z0-9]+]]: tensor<2xf32>, %[[C:[a-z0-9]+]]: tensor<2xf32>)
// CHECK-NEXT: %[[AB:.*]]:2 = dist.all_gather %[[A]], %[[B]] {ranks = 2 : i64} : (tensor<1xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<3xf32>)
// CHECK-NEXT: %[[NA:.*]] = onnx.Neg %[[AB]]#0
// CHECK-NEXT: %[[NB:.*]] = onnx.Neg %[[AB]]#1
// CHECK-NEXT: %[[WC:.*]] = dist.all_gather %[[C]]
// CHECK-NEXT: %[[NC:.*]] = onnx.Neg %[[WC]]
// CHECK: %[[G:.*]]:2 = dist.all_gather %[[Y:.*]], %[[X:.*]] {ranks
// CHECK-NEXT: return %[[NA]], %[[NB]], %[[NC]], %[[G]]#1, %[[G]]#0

// ONE: dist.all_gather %{{.*}}, %{{.*}}, %{{.*}} {ranks = 2 : i64}
func.func @f(%a: tensor<1xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>) {
  %wa = dist.all_gather %a {ranks = 2 : i64} : (tensor<1xf32>) -> tensor<2xf32>
  %na = onnx.Neg %wa : (tensor<2xf32>) -> tensor<2xf32>
  %wb = dist.all_gather %b {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
  %nb = onnx.Neg %wb : (tensor<3xf32>) -> tensor<3xf32>
  %wc = dist.all_gather %c {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<4xf32>
  %nc = onnx.Neg %wc : (tensor<4xf32>) -> tensor<4xf32>
  %x = onnx.Neg %b : (tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Neg %c : (tensor<2xf32>) -> tensor<2xf32>
  %gx = dist.all_gather %x {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
  %gy = dist.all_gather %y {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<4xf32>
  return %na, %nb, %nc, %gx, %gy : tensor<2xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>
}

// A bucket is along one axis of the mesh.
// CHECK-LABEL: func.func @axes
// CHECK: dist.all_gather %{{[^,]*}} {
// CHECK: dist.all_gather %{{[^,]*}} {
func.func @axes(%a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %wa = dist.all_gather %a {ranks = 2 : i64} : (tensor<1xf32>) -> tensor<2xf32>
  %wb = dist.all_gather %b {axis = "replica", ranks = 2 : i64} : (tensor<1xf32>) -> tensor<2xf32>
  return %wa, %wb : tensor<2xf32>, tensor<2xf32>
}
