// RUN: kedge-opt %s --split-input-file --kedge-insert-adapters="weights=proj rank=2" --kedge-add-reference="logits=y" --verify-diagnostics
// RUN: echo 'module {}' | not kedge-opt --kedge-add-reference 2>&1 | FileCheck %s
// CHECK: error: has no function @model to make a reference of

// expected-error@below {{'bias' trains in addition to the adapters, so the model with adapters off is no reference: give its log-probabilities as an input (--loss dpo:stored=1), or leave --train out}}
module {
  train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
  train.state parameter @bias tensor<6xf32> {onnx_name = "bias"}
  func.func @model(%x: tensor<3x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}, %b: tensor<6xf32> {train.binding = #train.binding<state @bias>}) -> (tensor<3x6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
    %h = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
    %y = onnx.Add %h, %b : (tensor<3x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>
    return %y : tensor<3x6xf32>
  }
}

// -----

module {
  train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
  // expected-error@below {{a reference is of one output, and 0 fit: name the one that the loss reads (--logits NAME)}}
  func.func @model(%x: tensor<3x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}) -> (tensor<3x6xf32> {train.binding = #train.binding<output "z">}) attributes {train.kind = #train.kind<model>} {
    %h = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
    return %h : tensor<3x6xf32>
  }
}
