// RUN: kedge-opt %s -split-input-file -verify-diagnostics

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{axis 2 is out of range}}
  %0 = onnx.ReduceSum %x {axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @sorted(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{must be sorted and not negative}}
  %0 = onnx.ReduceMax %x {axes = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{axis -1 is out of range: expected one of [0, 1]}}
  %0 = onnx.Softmax %x {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @topk(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{k is 4, expected at most 3}}
  %0:2 = onnx.TopK %x {axis = 1 : i64, k = 4 : i64} : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}

// -----

func.func @spread(%x: tensor<2xf32>) {
  // expected-error @+1 {{of 'Prod' has 0 saved values, expected 1}}
  %0 = train.reduce_grad %x {function = "Prod", shape = array<i64: 2, 3>, axes = array<i64: 1>} : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axes [1, 1] name a dimension twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.ReduceSum %x {axes = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @unknown_gradient(%x: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'function' failed to satisfy constraint: one of Sum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare}}
  %0 = train.reduce_grad %x {function = "Median", shape = array<i64: 2, 3>, axes = array<i64: 1>}
      : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax_gradient(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{gradient has shape [2, 3], expected [3] as the result}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.softmax_grad %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
