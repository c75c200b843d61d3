// RUN: kedge-opt %s --split-input-file --verify-diagnostics

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{cannot reshape [2, 3] (6 elements) to [4, 2] (8 elements)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Reshape %x {shape = array<i64: 4, 2>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{perm [0, 0] is no permutation of 2 dimensions}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Transpose %x {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @split(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{splits dimension 1 of size 3 into parts [1, 1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = onnx.Split %x {axis = 1 : i64, split = array<i64: 1, 1>} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+2 {{along axis 0: the other dimensions differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<6x3xf32>
  return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error @+2 {{step of dimension 0 is 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Slice %x {starts = array<i64: 0>, ends = array<i64: 4>, steps = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad(%x: tensor<4xf32>) {
  // expected-error @+2 {{crop dimension 0 of size 4 to less than nothing}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Pad %x {mode = "constant", pads = array<i64: -3, -2>} : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @scatter(%x: tensor<4xf32>, %i: tensor<2x1xi64>, %u: tensor<3xf32>) {
  // expected-error @+2 {{updates have shape [3], expected [2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.ScatterND %x, %i, %u {reduction = "none"} : (tensor<4xf32>, tensor<2x1xi64>, tensor<3xf32>) -> tensor<4xf32>
  return
}
