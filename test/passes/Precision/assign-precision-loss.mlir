// RUN: kedge-opt %s --kedge-assign-precision="type=bf16 loss-output=loss" | FileCheck %s
// RUN: kedge-opt %s --kedge-assign-precision="type=bf16" | FileCheck %s --check-prefix=OTHER
// A loss that the graph makes is f32 from the last product on, and so is an input that it alone reads; the output of the product is not,
// nor what another output reads, too.

// CHECK: func.func @model(%{{[a-z0-9]+}}: tensor<2x4xf32> {{[{][^}]*}}train.precision = bf16
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<2x4xf32> {train.binding = #train.binding<input "t">},
// CHECK: onnx.MatMul {{.*}}train.precision = bf16
// CHECK: onnx.Tanh {{.*}}train.precision = bf16
// CHECK: onnx.Sub {{.*}}train.precision = f32
// CHECK: onnx.Mul {{.*}}train.precision = f32
// CHECK: onnx.ReduceMean {{.*}}train.precision = f32

// OTHER: onnx.Sub {{.*}}train.precision = bf16
// OTHER: onnx.ReduceMean {{.*}}train.precision = bf16
module {
  train.state parameter @w tensor<4x4xf32>
  func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %t: tensor<2x4xf32> {train.binding = #train.binding<input "t">},
                   %w: tensor<4x4xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<1x1xf32> {train.binding = #train.binding<output "loss">}, tensor<2x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
    %0 = onnx.MatMul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = onnx.Tanh %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = onnx.Sub %1, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = onnx.Mul %2, %2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = onnx.ReduceMean %3 {axes = array<i64: 0, 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x1xf32>
    return %4, %1 : tensor<1x1xf32>, tensor<2x4xf32>
  }
}
