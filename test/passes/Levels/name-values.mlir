// RUN: kedge-opt %s --split-input-file --kedge-name-values --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 4 kedge-name-values values named

// Ops of one kind of a node are counted, and so are results; what is not of the step has no name.
// CHECK-LABEL: func.func @step
// CHECK: onnx.Tanh {{.*}}kedge.values = [{value = "forward h.0/act Tanh.0"}]
// CHECK: onnx.Tanh {{.*}}kedge.values = [{value = "forward h.0/act Tanh.1"}]
// CHECK: onnx.Split {{.*}}kedge.values = [{value = "backward h.0/act Split.0"}, {value = "backward h.0/act Split.0:1"}]
// CHECK-LABEL: func.func @eval
// CHECK-NOT: kedge.values
#f = #kedge.place<forward "h.0", "act">
#b = #kedge.place<backward "h.0", "act">
func.func @step(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {train.kind = #train.kind<step>} {
  %a = onnx.Tanh %x {kedge.place = #f} : (tensor<4xf32>) -> tensor<4xf32>
  %c = onnx.Tanh %a {kedge.place = #f} : (tensor<4xf32>) -> tensor<4xf32>
  %d:2 = onnx.Split %c {axis = 0 : i64, split = array<i64: 2, 2>, kedge.place = #b} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %d#0, %d#1 : tensor<2xf32>, tensor<2xf32>
}
func.func @eval(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.kind = #train.kind<eval>} {
  %a = onnx.Tanh %x {kedge.place = #f} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
