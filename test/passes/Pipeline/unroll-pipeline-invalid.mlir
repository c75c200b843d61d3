// RUN: kedge-opt %s --split-input-file --verify-diagnostics --kedge-unroll-pipeline

// expected-error@+1 {{has no @micro with @update to unroll into the step of a stage}}
module {
}

// -----

module {
  // expected-error@+1 {{input 'y' of type 'tensor<3xf32>' has not the rows of the first input: such inputs are not available yet in a pipeline}}
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %y: tensor<3xf32> {train.binding = #train.binding<input "y">}) attributes {train.kind = #train.kind<micro>} {
    return
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}

// -----

module {
  // expected-error@+1 {{result 'y' is not available yet in a pipeline}}
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
    return %x : tensor<4xf32>
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}
