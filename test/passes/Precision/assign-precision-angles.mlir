// RUN: kedge-opt %s --kedge-assign-precision=type=bf16 | FileCheck %s --check-prefix=MASTER

// Frequencies that nothing but angles reads stay f32, though they are parameters: %f is one, %d scales an activation, too,
// and %a makes angles of an input.
// MASTER: func.func @model(%arg0: tensor<2xi64> {{{[^}]*}}}, %arg1: tensor<2x4xf32> {{{[^}]*}}train.precision = bf16}, %arg2: tensor<4xf32> {{{[^}]*}}>}, %arg3: tensor<4xf32> {{{[^}]*}}train.precision = bf16}, %arg4: tensor<4xf32> {{{[^}]*}}train.precision = bf16})
// MASTER: onnx.Cos %{{[0-9]+}} : (
// MASTER: onnx.Cos %{{[0-9]+}} {train.precision = bf16}
// MASTER: onnx.Sin %{{[0-9]+}} {train.precision = bf16}
module {
  train.state parameter @f tensor<4xf32>
  train.state parameter @d tensor<4xf32>
  train.state parameter @a tensor<4xf32>
  func.func @model(%ids: tensor<2xi64> {train.binding = #train.binding<input "ids">}, %x: tensor<2x4xf32> {train.binding = #train.binding<input "x">},
                   %f: tensor<4xf32> {train.binding = #train.binding<state @f>}, %d: tensor<4xf32> {train.binding = #train.binding<state @d>},
                   %a: tensor<4xf32> {train.binding = #train.binding<state @a>})
      -> (tensor<2x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
    %p = onnx.Cast %ids {to = f32} : (tensor<2xi64>) -> tensor<2xf32>
    %column = onnx.Reshape %p {shape = array<i64: 2, 1>} : (tensor<2xf32>) -> tensor<2x1xf32>
    %0 = onnx.Mul %column, %f : (tensor<2x1xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %1 = onnx.Cos %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = onnx.Mul %column, %d : (tensor<2x1xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %3 = onnx.Cos %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = onnx.Mul %x, %a : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %5 = onnx.Sin %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %6 = onnx.Mul %x, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %7 = onnx.Mul %6, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %8 = onnx.Add %7, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %9 = onnx.Mul %8, %d : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    return %9 : tensor<2x4xf32>
  }
}
