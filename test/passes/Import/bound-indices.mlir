// RUN: kedge-opt %s --kedge-bound-indices | FileCheck %s

// The smaller of two tables, through a cast and a view; what indexes nothing, and floats, have no bounds.
// CHECK: module attributes {train.bounds = {ids = {hi = 4 : i64, lo = 0 : i64}}}
func.func @model(%ids: tensor<6xi32> {train.binding = #train.binding<input "ids">}, %other: tensor<6xi64> {train.binding = #train.binding<input "other">},
                 %x: tensor<6xf32> {train.binding = #train.binding<input "x">}, %large: tensor<9x4xf32>, %small: tensor<5x4xf32>)
    -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<6xi64>, tensor<6xf32>) attributes {train.kind = #train.kind<model>} {
  %0 = onnx.Cast %ids {to = i64} : (tensor<6xi32>) -> tensor<6xi64>
  %1 = onnx.Reshape %0 {shape = array<i64: 2, 3>} : (tensor<6xi64>) -> tensor<2x3xi64>
  %2 = onnx.Gather %large, %1 {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %3 = onnx.Gather %small, %1 {axis = 0 : i64} : (tensor<5x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return %2, %3, %other, %x : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<6xi64>, tensor<6xf32>
}
