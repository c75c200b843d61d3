// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-add-loss{kind=cross-entropy accumulate=2}))' | FileCheck %s
// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-add-loss{kind=cross-entropy accumulate=2 nominal-items=24}))' | FileCheck %s --check-prefix=LONGER

// Divided as steps of longer rows, 24 items a micro-batch: 1 / 48.
// LONGER: train.loss_gradient = 0.020833333333333332
// LONGER-SAME: train.nominal_items = 4.800000e+01

// 2 x 3 items, two micro-batches: backward starts from 1 / 12.
// CHECK-LABEL: func.func @model
// CHECK-SAME: %{{.*}}: tensor<2x3xi64> {train.binding = #train.binding<input "labels">}
// CHECK-SAME: {train.binding = #train.binding<result "loss_sum">}
// CHECK-SAME: {train.binding = #train.binding<result "items">}
// CHECK-SAME: {train.binding = #train.binding<result "loss_rows">}
// CHECK-SAME: train.loss_gradient = 0.083333333333333329
// CHECK-SAME: train.nominal_items = 1.200000e+01
// CHECK: train.cross_entropy
func.func @model(%x: tensor<2x3x5xf32> {train.binding = #train.binding<input "x">}) -> (tensor<2x3x5xf32> {train.binding = #train.binding<output "logits">}) attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Neg %x : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
