// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=sgd momentum=0.9 clip-norm=1" | FileCheck %s

// CHECK: train.state parameter @w tensor<3xf32>
// CHECK: train.state momentum @w.momentum tensor<3xf32> from unit {of = @w}
// CHECK-LABEL: func.func @step
// CHECK-SAME: {train.binding = #train.binding<result "grad_norm">}
// CHECK-SAME: {train.binding = #train.binding<state @w>}
// CHECK-SAME: {train.binding = #train.binding<state @w.momentum>}
// CHECK: train.final_gradient @w %[[G:.*]] :
// CHECK: onnx.ReduceSumSquare %[[G]]
// CHECK: train.clip_scale
// CHECK: train.momentum
train.state parameter @w tensor<3xf32>
func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<3xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
