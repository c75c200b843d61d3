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

// -----

func.func @conv_bias(%x: tensor<1x4x5xf32>, %w: tensor<6x4x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+2 {{bias needs 6 elements, one an output channel, found 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1}
      : (tensor<1x4x5xf32>, tensor<6x4x3xf32>, tensor<4xf32>) -> tensor<1x6x3xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<1x4xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{convolution needs X [N, C, spatial] and W of the same rank, found 'tensor<1x4xf32>' and 'tensor<6x4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1}
      : (tensor<1x4xf32>, tensor<6x4x3xf32>) -> tensor<1x6xf32>
  return
}

// -----

func.func @conv_strides(%x: tensor<1x4x5xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{kernel, strides and dilations need one entry for each of 1 spatial dims and pads two}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1}
      : (tensor<1x4x5xf32>, tensor<6x4x3xf32>) -> tensor<1x6x3xf32>
  return
}

// -----

func.func @conv_stride(%x: tensor<1x4x5xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{kernel, strides and dilations must be positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Conv %x, %w {strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1}
      : (tensor<1x4x5xf32>, tensor<6x4x3xf32>) -> tensor<1x6x3xf32>
  return
}

// -----

func.func @transposed_padding(%x: tensor<1x4x5xf32>, %w: tensor<4x6x3xf32>) {
  // expected-error @+2 {{output_padding needs one entry for each of 1 spatial dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.ConvTranspose %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, output_padding = array<i64: 0, 0>}
      : (tensor<1x4x5xf32>, tensor<4x6x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @transposed_pads(%x: tensor<1x4x5xf32>, %w: tensor<4x6x3xf32>) {
  // expected-error @+2 {{pads leave nothing of spatial dim 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.ConvTranspose %x, %w {strides = array<i64: 1>, pads = array<i64: 4, 4>, dilations = array<i64: 1>, group = 1, output_padding = array<i64: 0>}
      : (tensor<1x4x5xf32>, tensor<4x6x3xf32>) -> tensor<1x6x1xf32>
  return
}

// -----

func.func @lrn(%x: tensor<4xf32>) {
  // expected-error @+2 {{LRN needs X [N, C, ...] and a positive size, found 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.LRN %x {size = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pool_rank(%x: tensor<1x4xf32>) {
  // expected-error @+2 {{pooling needs X [N, C, spatial], found 'tensor<1x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.AveragePool %x {kernel_shape = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>}
      : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @global_pool_rank(%x: tensor<1x4xf32>) {
  // expected-error @+2 {{pooling needs X [N, C, spatial], found 'tensor<1x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.GlobalAveragePool %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @gemm_rank(%x: tensor<4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+2 {{Gemm multiplies matrices, found 'tensor<4xf32>' and 'tensor<4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Gemm %x, %w : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @recurrent_rank(%x: tensor<7x2xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @+2 {{a recurrent layer needs X of rank 3, found 'tensor<7x2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = onnx.RNN %x, %w, %r {hidden_size = 4, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<7x2xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<7x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @recurrent_weights(%x: tensor<7x2x3xf32>, %w: tensor<1x5x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @+2 {{W 'tensor<1x5x3xf32>' and R 'tensor<1x4x4xf32>' do not fit X 'tensor<7x2x3xf32>' with 1 directions, 1 gates of size 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = onnx.RNN %x, %w, %r {hidden_size = 4, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<7x2x3xf32>, tensor<1x5x3xf32>, tensor<1x4x4xf32>) -> (tensor<7x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @wide_of_f32(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+2 {{wide sums are of 16-bit matrices, found 'tensor<2x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Gemm %a, %b {wide = true} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @wide_to_narrow(%a: tensor<2x3xbf16>, %b: tensor<3x5xbf16>, %c: tensor<2x5xbf16>) {
  // expected-error @+2 {{wide sums add to a C of 'tensor<2x5xf32>', found 'tensor<2x5xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Gemm %a, %b, %c {wide = true} : (tensor<2x3xbf16>, tensor<3x5xbf16>, tensor<2x5xbf16>) -> tensor<2x5xf32>
  return
}
