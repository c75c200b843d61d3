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

// -----

func.func @slice_ranks(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{starts has 1 entries, expected 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Slice %x {starts = array<i64: 0>, ends = array<i64: 4>, steps = array<i64: 1>}
      : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @expand(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{expands [4, 3] to [1, 3], which is smaller}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Expand %x {shape = array<i64: 1, 3>} : (tensor<4x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @tile(%x: tensor<4xf32>) {
  // expected-error @+2 {{repeats -1 times, expected 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Tile %x {repeats = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<4xf32>) {
  // expected-error @+2 {{axis 1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Concat %x, %x {axis = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @+2 {{joins no tensors, expected at least one}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Concat  {axis = 0 : i64} : () -> tensor<8xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @+2 {{cannot join element types 'i64' and 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Concat %x, %y {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @split_axis(%x: tensor<4xf32>) {
  // expected-error @+2 {{axis 1 is out of range for rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Split %x {axis = 1 : i64, split = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_nothing(%x: tensor<0xf32>) {
  // expected-error @+2 {{pads dimension 0 of size 0 by mode edge}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Pad %x {mode = "edge", pads = array<i64: 1, 1>} : (tensor<0xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_elements(%x: tensor<4x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{indices have rank 1, expected 2 as data}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.GatherElements %x, %i {axis = 0 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @batch_dims(%x: tensor<4x3xf32>, %i: tensor<1xi64>) {
  // expected-error @+2 {{batch_dims 1 does not fit indices [1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.GatherND %x, %i {batch_dims = 1 : i64} : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @index_tuples(%x: tensor<4x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+2 {{index tuples of 3 do not fit data of rank 2 with 0 batch dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.GatherND %x, %i {batch_dims = 0 : i64} : (tensor<4x3xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @batch_sizes(%x: tensor<4x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+2 {{batch dims of data [4, 3] and indices [2, 1] differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.GatherND %x, %i {batch_dims = 1 : i64} : (tensor<4x3xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @scatter_elements(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  // expected-error @+2 {{indices [2] and updates [3] should have one shape, of the rank of data [4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.ScatterElements %x, %i, %u {axis = 0 : i64, reduction = "none"}
      : (tensor<4xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @trilu(%x: tensor<4xf32>) {
  // expected-error @+2 {{operand has rank 1, expected at least 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.Trilu %x {upper = true, k = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @one_hot(%i: tensor<4xi64>, %v: tensor<f32>) {
  // expected-error @+2 {{axis 2 is out of range for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.OneHot %i, %v, %v {depth = 7 : i64, axis = 2 : i64}
      : (tensor<4xi64>, tensor<f32>, tensor<f32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @grid(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x3xf32>) {
  // expected-error @+2 {{grid [1, 3, 3, 3] does not fit X [1, 2, 4, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.GridSample %x, %g {align_corners = false, mode = "linear", padding_mode = "zeros"}
      : (tensor<1x2x4x4xf32>, tensor<1x3x3x3xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @bits(%x: tensor<2xf32>) {
  // expected-error @+2 {{reads elements of type 'f32' as 'i64', expected a type of the same width}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = onnx.BitCast %x {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
  return
}
