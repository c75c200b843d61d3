// RUN: kedge-opt %s --kedge-add-loss="kind=dpo logits=y" | FileCheck %s
// RUN: kedge-opt %s --kedge-add-loss="kind=dpo:stored=1 logits=y" | FileCheck %s --check-prefix=STORED
// RUN: kedge-opt %s --kedge-add-loss="kind=dapo logits=y" | FileCheck %s --check-prefix=POLICY
// RUN: not kedge-opt %s --kedge-add-loss="kind=simpo logits=odd labels=more" 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: not kedge-opt %s --kedge-add-loss="kind=ipo:stored=1 logits=y labels=more" 2>&1 | FileCheck %s --check-prefix=LABELS

// The reference is no result any more; what the log says of a step, and log-probabilities for --predict, are.
// CHECK: func.func @model
// CHECK-SAME: #train.binding<input "labels">
// CHECK-SAME: #train.binding<input "loss_mask">
// CHECK-SAME: #train.binding<scalar "dpo_beta">
// CHECK-SAME: ->
// CHECK-NOT: "reference"
// CHECK-SAME: #train.binding<output "logps">
// CHECK-SAME: #train.binding<output "token_logps">
// CHECK-SAME: #train.binding<result "loss_sum">
// CHECK-SAME: #train.binding<result "loss_rows">
// CHECK-SAME: #train.binding<result "item_rows">
// CHECK-SAME: #train.binding<result "metric.margin">
// CHECK-SAME: #train.binding<result "metric.accuracy">
// CHECK-SAME: train.nominal_items = 2.0
// CHECK: train.cross_entropy %arg0
// CHECK: train.cross_entropy %arg1
// CHECK: onnx.Identity {{.*}}stops_gradient
// CHECK: onnx.Softplus

// STORED: #train.binding<input "ref_logps">
// STORED: train.cross_entropy
// STORED-NOT: train.cross_entropy

// POLICY: tensor<4x3xf32> {train.binding = #train.binding<input "old_logps">}
// POLICY-SAME: tensor<4x3xf32> {train.binding = #train.binding<input "advantages">}
// POLICY-SAME: #train.binding<result "items">
// POLICY-SAME: #train.binding<result "metric.clipped">

// ODD: error: --loss simpo: a batch has 3 rows, expected a multiple of 2: pairs are a chosen row and a rejected one, one after the other
// LABELS: error: the labels input 'more' is 'tensor<3x3xi64>', expected 'tensor<4x3xi64>' for --loss ipo:stored=1
func.func @model(%y: tensor<4x3x5xf32> {train.binding = #train.binding<input "x">}, %r: tensor<4x3x5xf32> {train.binding = #train.binding<input "r">}, %o: tensor<3x3x5xf32> {train.binding = #train.binding<input "o">}, %more: tensor<3x3xi64> {train.binding = #train.binding<input "more">})
    -> (tensor<4x3x5xf32> {train.binding = #train.binding<output "y">}, tensor<4x3x5xf32> {train.binding = #train.binding<result "reference">}, tensor<3x3x5xf32> {train.binding = #train.binding<output "odd">}) attributes {train.kind = #train.kind<model>} {
  return %y, %r, %o : tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<3x3x5xf32>
}
