// RUN: kedge-opt %s --kedge-merge-equal --kedge-statistics 2>&1 | FileCheck %s

// Equal ops are one, wherever they are; what computes something else stays.
// CHECK: func.func @model
// CHECK: %[[A:.*]] = onnx.Tanh %arg0 {kedge.place = #[[PLACE:.*]]}
// CHECK: %[[L:.*]] = onnx.LeakyRelu %[[A]] {alpha = 5.000000e-01 : f32, kedge.place = #[[PLACE]]
// CHECK: %[[M:.*]] = onnx.LeakyRelu %[[A]] {alpha = 2.500000e-01
// CHECK: return %[[A]], %[[L]], %[[M]]
func.func @model(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {train.kind = #train.kind<model>} {
  %a = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  %b = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.1", "b">} : (tensor<4xf32>) -> tensor<4xf32>
  %l = onnx.LeakyRelu %b {alpha = 0.5 : f32, kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  %m = onnx.LeakyRelu %b {alpha = 0.25 : f32, kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %l, %m : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What the forward needs, too, is the forward's, though the backward's equal comes first.
// CHECK-LABEL: func.func @step
// CHECK: onnx.Tanh %arg0 {kedge.place = #[[PLACE]]}
// CHECK-NOT: onnx.Tanh
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {train.kind = #train.kind<step>} {
  %a = onnx.Tanh %x {kedge.place = #kedge.place<backward "h.1", "b">} : (tensor<4xf32>) -> tensor<4xf32>
  %b = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
// CHECK: 2 kedge-merge-equal ops merged
