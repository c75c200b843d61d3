// RUN: kedge-opt %s --split-input-file --kedge-note-updates | FileCheck %s

// What the model returns for a state, and statistics of a norm in training, here behind a cast; no state that stays.
// CHECK: module attributes {train.updates = [@b, @mean, @var]}
module {
  train.state buffer @b tensor<2xf32>
  train.state buffer @kept tensor<2xf32>
  train.state buffer @mean tensor<2xbf16>
  train.state buffer @var tensor<2xf32>
  train.state parameter @w tensor<2xf32>
  func.func @model(%x: tensor<4x2xf32> {train.binding = #train.binding<input "x">}, %b: tensor<2xf32> {train.binding = #train.binding<state @b>},
                   %kept: tensor<2xf32> {train.binding = #train.binding<state @kept>}, %mean: tensor<2xbf16> {train.binding = #train.binding<state @mean>},
                   %var: tensor<2xf32> {train.binding = #train.binding<state @var>}, %w: tensor<2xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<4x2xf32> {train.binding = #train.binding<output "y">}, tensor<2xf32> {train.binding = #train.binding<state @b>},
          tensor<2xf32> {train.binding = #train.binding<state @kept>}) attributes {train.kind = #train.kind<model>} {
    %wide = onnx.Cast %mean {to = f32} : (tensor<2xbf16>) -> tensor<2xf32>
    %y:5 = train.batch_norm %x, %w, %w, %wide, %var : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %next = onnx.Neg %b : (tensor<2xf32>) -> tensor<2xf32>
    return %y#0, %next, %kept : tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// CHECK: module
// CHECK-NOT: train.updates
module {
}
