// RUN: kedge-opt %s --kedge-assign-precision=type=bf16 | FileCheck %s

// A loss of each row, and what is made of them, are f32.
// CHECK: onnx.MatMul {{.*}}train.precision = bf16
// CHECK: onnx.SoftmaxCrossEntropyLoss {{.*}}train.precision = f32
// CHECK: onnx.Mul {{.*}}train.precision = f32
module {
  train.state parameter @w tensor<4x4xf32>
  func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %labels: tensor<2xi64> {train.binding = #train.binding<input "labels">},
                   %weights: tensor<2xf32> {train.binding = #train.binding<input "weights">}, %w: tensor<4x4xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<2xf32> {train.binding = #train.binding<output "loss">}) attributes {train.kind = #train.kind<model>} {
    %0 = onnx.MatMul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = onnx.SoftmaxCrossEntropyLoss %0, %labels {reduction = "none"} : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<2xf32>
    %2 = onnx.Mul %1, %weights : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
}
