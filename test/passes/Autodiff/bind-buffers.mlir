// RUN: kedge-opt %s --kedge-bind-buffers | FileCheck %s

train.state buffer @mean tensor<3xf32>
train.state buffer @var tensor<3xf32>

// CHECK-LABEL: func.func @step
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<3xf32> {train.binding = #train.binding<state @mean>}, tensor<3xf32> {train.binding = #train.binding<state @var>})
func.func @step(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32> {train.binding = #train.binding<state @mean>},
                %v: tensor<3xf32> {train.binding = #train.binding<state @var>}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
  %y:5 = train.batch_norm %x, %s, %s, %m, %v : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y#0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @eval
// CHECK: onnx.BatchNormalization
// CHECK-NOT: train.batch_norm
func.func @eval(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<3xf32> {train.binding = #train.binding<state @mean>},
                %v: tensor<3xf32> {train.binding = #train.binding<state @var>}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<eval>} {
  %y:5 = train.batch_norm %x, %s, %s, %m, %v : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y#0 : tensor<2x3xf32>
}
