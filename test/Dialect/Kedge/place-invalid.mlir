// RUN: kedge-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'onnx.Neg' op 'kedge.place' should be a #kedge.place}}
  %y = onnx.Neg %x {kedge.place = "h.0"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'sched.library' op 'kedge.result_places' should be a list of #kedge.place}}
  %y = sched.library "y"(%x) {} {kedge.result_places = [1]} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

#p = #kedge.place<forward "h.0", "a">
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'sched.library' op 'kedge.result_places' has 2 places for 1 results}}
  %y = sched.library "y"(%x) {} {kedge.result_places = [#p, #p]} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'onnx.Neg' op 'kedge.values' should be a list of dictionaries}}
  %y = onnx.Neg %x {kedge.values = [1]} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'onnx.Neg' op 'kedge.values' has 2 values for 1 results}}
  %y = onnx.Neg %x {kedge.values = [{}, {}]} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
