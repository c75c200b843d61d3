// RUN: kedge-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @own_part_of_what_was_gathered
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>)
// CHECK-NEXT: return %[[A]]
func.func @own_part_of_what_was_gathered(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = dist.all_gather %a {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
  %1 = dist.local_shard %0 {ranks = 2 : i64} : (tensor<3xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @unread
// CHECK-NEXT: dist.reduce_scatter %{{[a-z0-9]+}} {{.*}} : (tensor<4xf32>) -> tensor<2xf32>
func.func @unread(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %0, %1 = dist.reduce_scatter %a, %b {ranks = 2 : i64} : (tensor<3xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %1 : tensor<2xf32>
}

// Parts along another number of ranks are others.
// CHECK-LABEL: func.func @other_ranks
// CHECK: dist.all_gather
// CHECK: dist.local_shard
func.func @other_ranks(%a: tensor<2xf32>) -> tensor<1xf32> {
  %0 = dist.all_gather %a {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
  %1 = dist.local_shard %0 {ranks = 3 : i64} : (tensor<3xf32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// Nor are parts along another axis.
// CHECK-LABEL: func.func @other_axis
// CHECK: dist.all_gather
// CHECK: dist.local_shard
func.func @other_axis(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = dist.all_gather %a {axis = "replica", ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
  %1 = dist.local_shard %0 {ranks = 2 : i64} : (tensor<3xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
