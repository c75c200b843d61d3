// RUN: kedge-opt %s | FileCheck %s
// Types follow from operands and attributes: what prints is what was inferred and verified.

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x3x4xf32>) {
  // CHECK: onnx.Reshape %{{.*}} {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %0 = onnx.Reshape %x {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: onnx.Transpose %{{.*}} {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = onnx.Transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: onnx.Expand %{{.*}} -> tensor<5x2x3x4xf32>
  %2 = onnx.Expand %x {shape = array<i64: 5, 2, 3, 4>} : (tensor<2x3x4xf32>) -> tensor<5x2x3x4xf32>
  // CHECK: onnx.Tile %{{.*}} -> tensor<2x6x4xf32>
  %3 = onnx.Tile %x {repeats = array<i64: 1, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  // CHECK: onnx.Concat %{{.*}} {axis = 1 : i64} : {{.*}} -> tensor<2x9x4xf32>
  %4 = onnx.Concat %x, %3 {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x6x4xf32>) -> tensor<2x9x4xf32>
  // CHECK: onnx.Split %{{.*}} -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
  %5:2 = onnx.Split %x {axis = 2 : i64, split = array<i64: 1, 3>} : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
  // A negative step runs from the last element to the first.
  // CHECK: onnx.Slice %{{.*}} -> tensor<2x2x4xf32>
  %6 = onnx.Slice %x {starts = array<i64: 0, 0, 3>, ends = array<i64: 2, 3, -5>, steps = array<i64: 1, 2, -1>} : (tensor<2x3x4xf32>) -> tensor<2x2x4xf32>
  // CHECK: onnx.Pad %{{.*}} {mode = "edge", pads = array<i64: 0, 1, -1, 0, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<2x6x3xf32>
  %7 = onnx.Pad %x {mode = "edge", pads = array<i64: 0, 1, -1, 0, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<2x6x3xf32>
  // CHECK: onnx.Trilu
  %8 = onnx.Trilu %x {upper = true, k = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @gathers
func.func @gathers(%x: tensor<5x4xf32>, %i: tensor<2x3xi64>, %j: tensor<3x1xi64>, %u: tensor<3x4xf32>) {
  // CHECK: onnx.Gather %{{.*}} {axis = 0 : i64, padding_idx = 0 : i64} : {{.*}} -> tensor<2x3x4xf32>
  %0 = onnx.Gather %x, %i {axis = 0 : i64, padding_idx = 0 : i64} : (tensor<5x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  // CHECK: onnx.GatherElements %{{.*}} -> tensor<2x3xf32>
  %1 = onnx.GatherElements %x, %i {axis = 0 : i64} : (tensor<5x4xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  // CHECK: onnx.GatherND %{{.*}} -> tensor<3x4xf32>
  %2 = onnx.GatherND %x, %j {batch_dims = 0 : i64} : (tensor<5x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
  // CHECK: onnx.ScatterND %{{.*}} -> tensor<5x4xf32>
  %3 = onnx.ScatterND %x, %j, %u {reduction = "add"} : (tensor<5x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<5x4xf32>
  // CHECK: train.gather_grad %{{.*}} -> tensor<5x4xf32>
  %4 = train.gather_grad %0, %i {axis = 0 : i64, shape = array<i64: 5, 4>} : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<5x4xf32>
  return
}

// CHECK-LABEL: func.func @made
func.func @made(%i: tensor<2xi64>, %off: tensor<f32>, %on: tensor<f32>) {
  // CHECK: onnx.OneHot %{{.*}} -> tensor<2x7xf32>
  %0 = onnx.OneHot %i, %off, %on {depth = 7 : i64, axis = 1 : i64} : (tensor<2xi64>, tensor<f32>, tensor<f32>) -> tensor<2x7xf32>
  // CHECK: onnx.Range %{{.*}} -> tensor<9xf32>
  %1 = onnx.Range %off, %on {size = 9 : i64} : (tensor<f32>, tensor<f32>) -> tensor<9xf32>
  // CHECK: onnx.EyeLike {{.*}} -> tensor<3x4xi32>
  %2 = onnx.EyeLike {shape = array<i64: 3, 4>, dtype = i32, k = 0 : i64} : () -> tensor<3x4xi32>
  return
}
