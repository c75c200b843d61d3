// RUN: kedge-opt %s --kedge-form-clusters --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @effects(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has no place in a schedule: it is no cluster, view or library call; expected ops of level 2}}
  %y = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @scalars(%x: tensor<4xf32>) {
  // expected-error @+1 {{has no place in a schedule: it is no cluster, view or library call; expected ops of level 2}}
  %c = arith.constant 1.0 : f32
  return
}

// -----

// A declaration has nothing to schedule.
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
