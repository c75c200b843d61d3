// RUN: kedge-opt %s --split-input-file --verify-diagnostics --kedge-cut-experts

// expected-error@+1 {{mesh expert=2: the model has no experts that ranks could share out (parameters that grouped products read, as kedge-raise-experts makes them)}}
module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
  train.state parameter @w tensor<3x4xf32>
  func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3x4xf32> {train.binding = #train.binding<state @w>})
      -> (tensor<6x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
    %y = onnx.MatMul %x, %w : (tensor<6x3xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    return %y : tensor<6x4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
  train.state parameter @up tensor<4x3x4xf32>
  func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x2xi64> {train.binding = #train.binding<input "e">},
                  %z: tensor<4x3x4x2xf32> {train.binding = #train.binding<input "z">}, %up: tensor<4x3x4xf32> {train.binding = #train.binding<state @up>})
      -> (tensor<6x2x4xf32> {train.binding = #train.binding<output "y">}, tensor<4x3x4xf32> {train.binding = #train.binding<gradient @up>})
      attributes {train.kind = #train.kind<step>} {
    %y = train.grouped_matmul %x, %e, %up : (tensor<6x3xf32>, tensor<6x2xi64>, tensor<4x3x4xf32>) -> tensor<6x2x4xf32>
    // expected-error@+1 {{the gradient of experts is made in a way that is not available yet along 'expert'; expected a grouped product or a gather}}
    %g = onnx.ReduceSum %z {axes = array<i64: 3>, keepdims = false} : (tensor<4x3x4x2xf32>) -> tensor<4x3x4xf32>
    return %y, %g : tensor<6x2x4xf32>, tensor<4x3x4xf32>
  }
}
