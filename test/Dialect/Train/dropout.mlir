// RUN: kedge-opt %s --kedge-form-clusters --split-input-file | FileCheck %s
// Dropout and its gradient draw by the same counters: row = row_base + i / 2, element within the row = (i mod 2) * 8 + j.

// CHECK-LABEL: @dropout
// CHECK: ^bb0(%{{.*}}: f32, %[[SEED:.*]]: i64, %[[STEP:.*]]: i64, %[[BASE:.*]]: i64):
// CHECK: %[[ROW_SIZE:.*]] = arith.constant 2 : i64
// CHECK: %[[ROWS:.*]] = arith.divsi %{{.*}}, %[[ROW_SIZE]]
// CHECK: %[[ROW:.*]] = arith.addi %[[BASE]], %[[ROWS]]
// CHECK: %[[SAMPLE:.*]] = arith.remsi %{{.*}}, %[[ROW_SIZE]]
// CHECK: %[[STRIDE:.*]] = arith.constant 8 : i64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[SAMPLE]], %[[STRIDE]]
// CHECK: %[[ELEMENT:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
// CHECK: sched.random 5(%[[SEED]], %[[STEP]], %[[ROW]], %[[ELEMENT]])
func.func @dropout(%x: tensor<6x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %row: tensor<i64>)
    -> (tensor<6x8xf32>, tensor<6x8xi1>) {
  %y:2 = train.dropout %x, %seed, %step, %row {op_id = 5 : i64, ratio = 0.25 : f32, row_size = 2 : i64, with_mask = true}
      : (tensor<6x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<6x8xf32>, tensor<6x8xi1>)
  return %y#0, %y#1 : tensor<6x8xf32>, tensor<6x8xi1>
}

// -----

// CHECK-LABEL: @gradient
// CHECK: ^bb0(%{{.*}}: f32, %[[SEED:.*]]: i64, %[[STEP:.*]]: i64, %[[BASE:.*]]: i64):
// CHECK: %[[ROW_SIZE:.*]] = arith.constant 2 : i64
// CHECK: %[[ROWS:.*]] = arith.divsi %{{.*}}, %[[ROW_SIZE]]
// CHECK: %[[ROW:.*]] = arith.addi %[[BASE]], %[[ROWS]]
// CHECK: %[[SAMPLE:.*]] = arith.remsi %{{.*}}, %[[ROW_SIZE]]
// CHECK: %[[STRIDE:.*]] = arith.constant 8 : i64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[SAMPLE]], %[[STRIDE]]
// CHECK: %[[ELEMENT:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
// CHECK: sched.random 5(%[[SEED]], %[[STEP]], %[[ROW]], %[[ELEMENT]])
func.func @gradient(%d: tensor<6x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %row: tensor<i64>) -> tensor<6x8xf32> {
  %dx = train.dropout_grad %d, %seed, %step, %row {op_id = 5 : i64, ratio = 0.25 : f32, row_size = 2 : i64}
      : (tensor<6x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x8xf32>
  return %dx : tensor<6x8xf32>
}
