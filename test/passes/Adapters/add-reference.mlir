// RUN: kedge-opt %s --kedge-insert-adapters="weights=proj rank=2 dropout=0.5" --kedge-add-reference --kedge-statistics -o %t 2>&1 | FileCheck %s --check-prefix=STATS
// RUN: FileCheck %s < %t
// STATS: {{^ *}}3 {{ *}}kedge-add-reference {{ *}}ops

// The base is shared, what follows it is computed once more, and Dropout is off there; the adapter's own input is not.
// CHECK: func.func @model
// CHECK: %[[BASE:.*]] = onnx.MatMul %[[X:.*]], %[[W:[a-z0-9]*]] {
// CHECK: onnx.Dropout %[[X]]
// CHECK: %[[WHOLE:.*]] = onnx.Gemm
// CHECK: onnx.Dropout %[[WHOLE]]
// CHECK: %[[Y:.*]] = onnx.Tanh
// CHECK: %[[HELD:.*]] = onnx.Identity %[[BASE]] {stops_gradient}
// CHECK: %[[OFF:.*]] = onnx.Dropout %[[HELD]] {op_id = 3 : i64, ratio = 5.000000e-01 : f32} :
// CHECK: %[[REFERENCE:.*]] = onnx.Tanh %[[OFF]]
// CHECK-NOT: onnx.
// CHECK: return %[[Y]], %[[REFERENCE]]
train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
func.func @model(%x: tensor<3x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}) -> (tensor<3x6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
  %h = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
  %d = onnx.Dropout %h {ratio = 5.000000e-01 : f32, training_mode = true, op_id = 3 : i64, with_mask = false} : (tensor<3x6xf32>) -> tensor<3x6xf32>
  %y = onnx.Tanh %d : (tensor<3x6xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}
