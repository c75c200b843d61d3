// RUN: kedge-opt %s --split-input-file --verify-diagnostics --kedge-unroll-micro-batches=micro-batches=2

// expected-error@+1 {{has no @micro with @update to unroll into one step}}
module {
}

// -----

module {
  // expected-error@+1 {{has no BatchNormalization in training, whose statistics are what joins micro-batches; leave --batchnorm exact out}}
  func.func @micro() attributes {train.kind = #train.kind<micro>} {
    return
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}

// -----

module {
  // expected-error@+1 {{state 'count' changes with each micro-batch: not available yet where micro-batches are joined}}
  train.state state @count tensor<4xf32>
  func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<state @count>}) attributes {train.kind = #train.kind<micro>} {
    %0 = train.sum_micros %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = onnx.Add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @update() attributes {train.kind = #train.kind<update>} {
    return
  }
}
