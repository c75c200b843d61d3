// RUN: kedge-opt %s --kedge-form-clusters | FileCheck %s
// The gradient draws the mask again from the same counters: row = row_base + i / 2, element within the row.

// CHECK-LABEL: @step
func.func @step(%x: tensor<6x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %row: tensor<i64>)
    -> (tensor<6x8xf32>, tensor<6x8xi1>, tensor<6x8xf32>) {
  // CHECK: sched.cluster domain [6, 8]
  // CHECK: sched.random 5(
  %y:2 = train.dropout %x, %seed, %step, %row {op_id = 5 : i64, ratio = 0.25 : f32, row_size = 2 : i64, with_mask = true}
      : (tensor<6x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<6x8xf32>, tensor<6x8xi1>)
  %d = train.dropout_grad %x, %seed, %step, %row {op_id = 5 : i64, ratio = 0.25 : f32, row_size = 2 : i64}
      : (tensor<6x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x8xf32>
  return %y#0, %y#1, %d : tensor<6x8xf32>, tensor<6x8xi1>, tensor<6x8xf32>
}
