// RUN: kedge-opt %s --kedge-show-sharding-rules --kedge-statistics -o /dev/null 2>&1 | FileCheck %s

// A letter is a loop: what is summed, sections of several tensors in a row, dimensions that stay whole, and an op without a rule.
// CHECK: onnx.MatMul: (a c) (c b) -> (a b), sums c
// CHECK-NEXT: onnx.Split: (a b) -> (a b) (a b), sections b
// CHECK-NEXT: onnx.Softmax: (a .) -> (a .)
// CHECK-NEXT: onnx.CumSum: whole
// CHECK: 4  kedge-show-sharding-rules  ops shown
func.func @step(%x: tensor<8x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x6xf32> {train.binding = #train.binding<input "w">})
    -> (tensor<8x2xf32> {train.binding = #train.binding<output "y">}, tensor<8x4xf32> {train.binding = #train.binding<output "z">}) attributes {train.kind = #train.kind<step>} {
  %y = onnx.MatMul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %p:2 = onnx.Split %y {axis = 1 : i64, split = array<i64: 2, 4>} : (tensor<8x6xf32>) -> (tensor<8x2xf32>, tensor<8x4xf32>)
  %s = onnx.Softmax %p#0 {axis = 1 : i64} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %c = onnx.CumSum %p#1 {axis = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %s, %c : tensor<8x2xf32>, tensor<8x4xf32>
}
