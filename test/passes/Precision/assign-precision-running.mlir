// RUN: kedge-opt %s --kedge-assign-precision=type=bf16 | FileCheck %s

// What moves a running value is f32: in 16 bits a small change would be rounded away. The value that it moves by is not.
// CHECK: %[[MEAN:.*]] = onnx.ReduceMean {{.*}}train.precision = bf16
// CHECK: onnx.Sub %[[MEAN]], {{.*}}train.precision = f32
// CHECK: onnx.Mul {{.*}}train.precision = f32
// CHECK: onnx.Add {{.*}}train.precision = f32
module {
  train.state buffer @mean tensor<4xf32>
  func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %mean: tensor<4xf32> {train.binding = #train.binding<state @mean>})
      -> (tensor<2x4xf32> {train.binding = #train.binding<output "y">}, tensor<4xf32> {train.binding = #train.binding<state @mean>})
      attributes {train.kind = #train.kind<model>} {
    %rate = onnx.Constant dense<1.000000e-03> : tensor<f32>
    %0 = onnx.ReduceMean %x {axes = array<i64: 0>, keepdims = false} : (tensor<2x4xf32>) -> tensor<4xf32>
    %1 = onnx.Sub %0, %mean : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = onnx.Mul %1, %rate : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = onnx.Add %mean, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = onnx.Relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %4, %3 : tensor<2x4xf32>, tensor<4xf32>
  }
}
