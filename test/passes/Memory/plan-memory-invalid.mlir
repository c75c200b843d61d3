// RUN: kedge-opt %s --kedge-plan-memory --split-input-file --verify-diagnostics

func.func @level2(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) {
  // expected-error @+1 {{is not scheduled: run kedge-form-clusters first}}
  %y = onnx.Tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) {
  // expected-error @+1 {{'onnx.Fold' has no kernel on this target: no library kernel 'onnx.Fold' in this runtime}}
  %y = sched.library "onnx.Fold"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0 is bound to nothing: no place in memory follows}}
func.func @argument(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error @+1 {{result 0 is no state, result or output: no place in memory follows}}
func.func @result(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
