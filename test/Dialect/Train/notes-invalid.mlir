// RUN: kedge-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'train.bounds' should be ranges of indices by input, found 3 : i64}}
module attributes {train.bounds = 3 : i64} {}

// -----

// expected-error @+1 {{'train.nominal_items' should be a number of items, on a function, found "many"}}
func.func @step() attributes {train.nominal_items = "many"} { return }

// -----

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'train.training_info' should be a unit, on a function, found unit}}
  %0 = "onnx.Relu"(%x) {train.training_info} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{has 'train.nominal_item', which is no note of the dialect train}}
func.func @step() attributes {train.nominal_item = 3.0} { return }
