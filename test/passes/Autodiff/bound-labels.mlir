// RUN: kedge-opt %s --kedge-bound-labels | FileCheck %s

// In addition to what was known of other inputs: the labels of each cross-entropy.
// CHECK: module attributes {train.bounds = {ids = {hi = 6 : i64, lo = 0 : i64}, own = {allowed = array<i64: -100>, hi = 4 : i64, lo = 0 : i64}, target = {allowed = array<i64: 2>, hi = 4 : i64, lo = 0 : i64}}}
module attributes {train.bounds = {ids = {hi = 6 : i64, lo = 0 : i64}}} {
  func.func @model(%x: tensor<2x5xf32> {train.binding = #train.binding<input "x">}, %y: tensor<2xi64> {train.binding = #train.binding<input "target">},
                   %z: tensor<2xi64> {train.binding = #train.binding<input "own">}) -> (tensor<2xf32>, tensor<2xf32>) attributes {train.kind = #train.kind<model>} {
    %0:3 = train.cross_entropy %x, %y {axis = 1 : i64, ignore_index = 2 : i64} : (tensor<2x5xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %1:3 = train.cross_entropy %x, %z {axis = 1 : i64, ignore_index = -100 : i64} : (tensor<2x5xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    return %0#0, %1#0 : tensor<2xf32>, tensor<2xf32>
  }
}
