// RUN: kedge-opt %s --split-input-file --kedge-scale-loss --verify-diagnostics

// expected-error @+1 {{has neither @step nor @micro whose loss could be scaled}}
module {
}

// -----

// expected-error @+1 {{has no result loss_sum to scale}}
func.func @step() attributes {train.kind = #train.kind<step>} {
  return
}
