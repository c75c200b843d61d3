// RUN: kedge-opt %s --kedge-assign-precision=type=bf16 --kedge-insert-casts | FileCheck %s --check-prefix=MASTER
// RUN: kedge-opt %s --kedge-assign-precision="type=fp16 policy=autocast" --kedge-insert-casts | FileCheck %s --check-prefix=AUTOCAST

// Working copies are what the model reads; statistics stay f32; the output has its type; one cast a value.
// MASTER: #forward_h_0 = #kedge.place<forward "h.0", "mm">
// MASTER: train.state working_copy @w.working tensor<4x4xbf16> from unit {of = @w}
// MASTER: train.state working_copy @g.working tensor<4xbf16> from unit {of = @g}
// MASTER-NOT: @s.working
// MASTER: func.func @model(%arg0: tensor<2x4xf32> {{.*}}%arg2: tensor<4x4xbf16> {train.binding = #train.binding<state @w.working>}
// MASTER: onnx.MatMul %{{.*}}, %arg2 {{.*}}: (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
// MASTER: onnx.RMSNormalization {{.*}} -> (tensor<2x4xbf16>, tensor<2x1xf32>)
// MASTER: onnx.Mul %{{.*}}, %arg4 : (tensor<2x4xbf16>, tensor<f32>) -> tensor<2x4xbf16>
// MASTER: %[[Y:.*]] = onnx.Softmax {{.*}} -> tensor<2x4xbf16>
// MASTER: %[[OUT:.*]] = onnx.Cast %[[Y]] {to = f32}
// MASTER: return %[[OUT]]
// MASTER: func.func @restore(%arg0: tensor<4x4xf32> {train.binding = #train.binding<state @w>}, %arg1: tensor<4xf32> {train.binding = #train.binding<state @g>})
// MASTER-SAME: (tensor<4x4xbf16> {train.binding = #train.binding<state @w.working>}, tensor<4xbf16> {train.binding = #train.binding<state @g.working>}) attributes {train.kind = #train.kind<restore>}

// AUTOCAST-NOT: working_copy
// AUTOCAST-DAG: %[[W:.*]] = onnx.Cast %arg2 {{{.*}}to = f16} : (tensor<4x4xf32>) -> tensor<4x4xf16>
// AUTOCAST-DAG: %[[X:.*]] = onnx.Cast %arg0 {kedge.place = #forward_h_0, to = f16}
// AUTOCAST: %[[P:.*]] = onnx.MatMul %[[X]], %[[W]]
// AUTOCAST: %[[WIDE:.*]] = onnx.Cast %[[P]] {{.*}}to = f32
// AUTOCAST: onnx.RMSNormalization %[[WIDE]], %arg3 : (tensor<2x4xf32>, tensor<4xf32>)
// AUTOCAST-NOT: onnx.Cast
// AUTOCAST: return
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
