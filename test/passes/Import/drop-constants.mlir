// RUN: kedge-opt %s --kedge-drop-constants --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// STATISTICS: 256 kedge-drop-constants bytes dropped
// STATISTICS: 1 kedge-drop-constants constants dropped

// A parameter that nothing reads stays, as a frozen tensor does and a constant that is read.
// CHECK-NOT: @mask
// CHECK: train.state parameter @w
// CHECK: train.state constant @read
// CHECK: func.func @model(%arg0: tensor<2xf32> {{{.*}}@w>}, %arg1: tensor<2xf32> {{{.*}}@read>})
train.state constant @mask tensor<8x8xf32>
train.state parameter @w tensor<2xf32>
train.state constant @read tensor<2xf32>
func.func @model(%w: tensor<2xf32> {train.binding = #train.binding<state @w>}, %m: tensor<8x8xf32> {train.binding = #train.binding<state @mask>}, %r: tensor<2xf32> {train.binding = #train.binding<state @read>}) -> tensor<2xf32> attributes {train.kind = #train.kind<model>} {
  return %r : tensor<2xf32>
}
