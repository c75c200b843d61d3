// RUN: kedge-opt %s --kedge-assign-precision=type=bf16 | FileCheck %s --check-prefix=MASTER
// RUN: kedge-opt %s --kedge-assign-precision="type=fp16 policy=autocast" | FileCheck %s --check-prefix=AUTOCAST
// RUN: echo 'fp32 op:softmax   # stays wide' > %t.txt && echo 'fp32 node:^h\.0' >> %t.txt
// RUN: kedge-opt %s --kedge-assign-precision="type=bf16 file=%t.txt" | FileCheck %s --check-prefix=FILE

// What depends on parameters is 16-bit; angles of positions and the scalar are not.
// MASTER: %arg0: tensor<2x4xf32> {{{.*}}train.precision = bf16}, %arg1: tensor<2xi64> {{{[^}]*}}}, %arg2: tensor<4x4xf32> {{{.*}}train.precision = bf16}
// MASTER-SAME: %arg4: tensor<f32> {train.binding = #train.binding<state @s>})
// MASTER: onnx.Cos %{{.*}} : (
// MASTER: onnx.MatMul {{.*}}train.precision = bf16
// MASTER: onnx.RMSNormalization {{.*}}train.precision = bf16
// MASTER: onnx.Softmax {{.*}}train.precision = bf16

// AUTOCAST-NOT: %arg{{[0-9]}}: {{[^,]*}}train.precision
// AUTOCAST: onnx.MatMul {{.*}}train.precision = f16
// AUTOCAST: onnx.RMSNormalization {{.*}}train.precision = f32
// AUTOCAST: onnx.Mul {{.*}}train.precision = f32
// AUTOCAST: onnx.Softmax {{.*}}train.precision = f32

// FILE: onnx.MatMul {{.*}}train.precision = f32
// FILE: onnx.RMSNormalization {{.*}}train.precision = bf16
// FILE: onnx.Softmax {{.*}}train.precision = f32
module {
  train.state parameter @w tensor<4x4xf32>
  train.state parameter @g tensor<4xf32>
  train.state parameter @s tensor<f32>
  func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %ids: tensor<2xi64> {train.binding = #train.binding<input "ids">},
                   %w: tensor<4x4xf32> {train.binding = #train.binding<state @w>}, %g: tensor<4xf32> {train.binding = #train.binding<state @g>},
                   %s: tensor<f32> {train.binding = #train.binding<state @s>})
      -> (tensor<2x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
    %p = onnx.Cast %ids {to = f32} : (tensor<2xi64>) -> tensor<2xf32>
    %angle = onnx.Cos %p : (tensor<2xf32>) -> tensor<2xf32>
    %column = onnx.Reshape %angle {shape = array<i64: 2, 1>} : (tensor<2xf32>) -> tensor<2x1xf32>
    %0 = onnx.MatMul %x, %w {kedge.place = #kedge.place<forward "h.0", "mm">} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1:2 = onnx.RMSNormalization %0, %g : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
    %2 = onnx.Mul %1#0, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = onnx.Mul %2, %column : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %4 = onnx.Softmax %3 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %4 : tensor<2x4xf32>
  }
}
