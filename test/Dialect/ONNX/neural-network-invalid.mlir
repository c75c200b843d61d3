// RUN: kedge-opt %s -split-input-file -verify-diagnostics

func.func @inner(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+2 {{cannot multiply 'tensor<2x3xf32>' by 'tensor<4x5xf32>': 3 columns meet 4 rows}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.MatMul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @bias(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>, %c: tensor<4xf32>) {
  // expected-error @+3 {{do not broadcast}}
  // expected-error @+2 {{does not broadcast to}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Gemm %a, %b, %c : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x4x5xf32>, %w: tensor<6x3x3xf32>) {
  // expected-error @+2 {{W 'tensor<6x3x3xf32>' does not fit X 'tensor<1x4x5xf32>' in 2 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2}
    : (tensor<1x4x5xf32>, tensor<6x3x3xf32>) -> tensor<1x6x3xf32>
  return
}

// -----

func.func @window(%x: tensor<1x4x5xf32>) {
  // expected-error @+2 {{a window of 7 does not fit into spatial dim 0 of size 5 with pads 0 and 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.AveragePool %x {kernel_shape = array<i64: 7>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>}
    : (tensor<1x4x5xf32>) -> tensor<1x4x1xf32>
  return
}
