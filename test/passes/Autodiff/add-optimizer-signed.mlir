// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=sgd clip-norm=1 signed-items" | FileCheck %s
// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=sgd clip-norm=1" | FileCheck %s --check-prefix=PLAIN

// The weights of the rows may sum to less than zero: the norm that clips is not negative, the scale of the gradient keeps its sign.
// CHECK: %[[SCALE:.*]] = train.item_scale
// CHECK: %[[SIZE:.*]] = onnx.Abs %[[SCALE]]
// CHECK: %[[NORM:.*]] = onnx.Mul %{{.*}}, %[[SIZE]]
// CHECK: train.clip_scale %[[NORM]], %[[SCALE]]
// PLAIN-NOT: onnx.Abs
train.state parameter @w tensor<3xf32>
func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<3xf32> {train.binding = #train.binding<gradient @w>}, tensor<f32> {train.binding = #train.binding<result "items">})
    attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = onnx.ReduceSum %x {axes = array<i64: 0>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
  return %0, %1 : tensor<3xf32>, tensor<f32>
}
