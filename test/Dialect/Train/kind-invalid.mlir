// RUN: kedge-opt %s --split-input-file --verify-diagnostics

func.func @step() attributes {train.kind = #train.kind<step>} {
  return
}

// -----

// expected-error @+1 {{has 'train.kind' = "step", expected a #train.kind}}
func.func @step() attributes {train.kind = "step"} {
  return
}

// -----

// expected-error @+1 {{has 'train.kind', but is no function}}
train.state parameter @step tensor<4xf32> {train.kind = #train.kind<step>}

// -----

// expected-error @+1 {{is of kind 'micro' and called 'step': programs know the kind by the name}}
func.func @step() attributes {train.kind = #train.kind<micro>} {
  return
}
